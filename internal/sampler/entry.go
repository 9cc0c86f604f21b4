package sampler

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"speceval/internal/journal"
	"speceval/internal/rollout"
)

// entry is a line of the journal: what a tick has to write.
type entry struct {
	Pieces []piece            `json:"pieces,omitempty"`
	Whole  []*rollout.Rollout `json:"whole,omitempty"`
	Again  []rollout.ID       `json:"again,omitempty"` // asked for again though torn
}

// piece is what an answer has got since the last line that has one of it.
type piece struct {
	Task    int32 `json:"t"`
	Rollout int32 `json:"r"`
	// From is how many tokens there were before. Where it is 0 the answer begins, or
	// begins anew; where there are fewer it is torn.
	From      int     `json:"n"`
	Prompt    []int32 `json:"p,omitempty"` // where it is not that of the last piece of the task that has one
	IDs       []int32 `json:"i,omitempty"`
	Text      string  `json:"x,omitempty"`
	Reasoning string  `json:"g,omitempty"`
	Finish    string  `json:"f,omitempty"`
	Took      int64   `json:"ms"`
}

// answer is one that is not whole. Its slices only grow, until they are replaced.
type answer struct {
	prompt, ids     []int32
	text, reasoning []byte
	finish          string
	asked           time.Time
	before, took    time.Duration // without the request under way, and with it
	torn            bool

	touched bool // there is something to write
	written extent
}

// add adds what is new.
func (a *answer) add(ids []int32, text, reasoning, finish string) {
	a.ids, a.text, a.reasoning = append(a.ids, ids...), append(a.text, text...), append(a.reasoning, reasoning...)
	a.finish = cmp.Or(finish, a.finish)
}

// extent is how much of an answer is written.
type extent struct {
	ids, text, reasoning int
	finish               string
}

func (a *answer) extent() extent {
	return extent{len(a.ids), len(a.text), len(a.reasoning), a.finish}
}

// of is the answer of an id. mu is held.
func (l *Partials) of(id rollout.ID) *answer {
	a := l.answers[id]
	if a == nil {
		a = new(answer)
		l.answers[id] = a
	}
	return a
}

// touch notes that an answer has something to write. mu is held.
func (l *Partials) touch(id rollout.ID, a *answer) {
	if !a.touched {
		a.touched = true
		l.touched = append(l.touched, id)
	}
}

// tear makes an answer torn, or whole as far as it is: then what is left is written
// again, to stand alone. mu is held.
func (l *Partials) tear(id rollout.ID, a *answer, torn bool) {
	a.torn = torn
	if !torn {
		a.written = extent{}
	}
	l.touch(id, a)
}

// asksAgain counts an answer. mu is held.
func (l *Partials) asksAgain(id rollout.ID) {
	if !l.again[id] {
		l.again[id] = true
		l.newly = append(l.newly, id)
	}
}

// batch is what a tick has to write.
type batch struct {
	parts []fresh
	whole []*rollout.Rollout
	again []rollout.ID
}

func (b *batch) empty() bool { return len(b.parts)+len(b.whole)+len(b.again) == 0 }

// fresh is a part of an answer, whose text is not copied yet.
type fresh struct {
	piece
	prompt          []int32
	text, reasoning []byte
}

// between is the part of an answer from one extent to another.
func (a *answer) between(id rollout.ID, from, to extent) fresh {
	return fresh{
		piece:     piece{Task: id.Task, Rollout: id.Rollout, From: from.ids, IDs: a.ids[from.ids:to.ids:to.ids], Finish: to.finish, Took: a.took.Milliseconds()},
		prompt:    a.prompt,
		text:      a.text[from.text:to.text:to.text],
		reasoning: a.reasoning[from.reasoning:to.reasoning:to.reasoning],
	}
}

// gap is what tears an answer of which there is so much.
func gap(id rollout.ID, at extent) fresh {
	return fresh{piece: piece{Task: id.Task, Rollout: id.Rollout, From: at.ids + 1}}
}

// take takes what there is to write.
func (l *Partials) take() (b batch, v *verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.touched {
		a := l.answers[id]
		if a == nil || !a.touched {
			continue // whole by now
		}
		b.parts = append(b.parts, a.between(id, a.written, a.extent()))
		a.touched, a.written = false, a.extent()
		if a.torn {
			b.parts = append(b.parts, gap(id, a.written))
		}
	}
	b.whole, b.again, v = l.whole, l.newly, l.next
	l.touched, l.whole, l.newly, l.next = l.touched[:0], nil, nil, &verdict{done: make(chan struct{})}
	return b, v
}

// write writes what has come in since the last tick, and stores answers that are
// whole.
func (l *Partials) write() {
	l.writing.Lock()
	defer l.writing.Unlock()
	b, v := l.take()
	if !b.empty() {
		v.err = l.put(b)
	}
	close(v.done)
}

// put writes a line and then stores whole answers. After a failure nothing is
// written any more. writing is held.
func (l *Partials) put(b batch) error {
	if l.failed == nil {
		l.failed = l.journal.Append(&entry{l.pieces(b.parts), b.whole, b.again})
	}
	for _, r := range b.whole {
		if l.failed == nil {
			l.failed = l.Keep(r)
		}
	}
	if l.failed == nil && l.journal.Size() > l.Compact+2*l.base {
		l.failed = l.compact()
	}
	return l.failed
}

// pieces are parts as the journal has them. writing is held.
func (l *Partials) pieces(parts []fresh) []piece {
	pieces := make([]piece, len(parts))
	for i, f := range parts {
		f.Text, f.Reasoning = string(f.text), string(f.reasoning)
		if f.From == 0 && !slices.Equal(f.prompt, l.prompts[f.Task]) {
			f.Prompt, l.prompts[f.Task] = f.prompt, f.prompt
		}
		pieces[i] = f.piece
	}
	return pieces
}

// replay takes up what the journal holds, and stores what is whole.
func (l *Partials) replay() error {
	for e, err := range journal.Records[entry](l.path) {
		if err != nil {
			return err
		}
		for i := range e.Pieces {
			l.add(&e.Pieces[i])
		}
		for _, id := range e.Again {
			l.again[id] = true
		}
		for _, r := range e.Whole {
			delete(l.answers, r.ID())
			if !l.Has(r.ID()) {
				if err := l.Keep(r); err != nil {
					return err
				}
			}
		}
	}
	for id, a := range l.answers {
		if l.Has(id) {
			delete(l.answers, id)
		}
		a.written = a.extent()
	}
	l.base = l.journal.Size()
	return nil
}

// add takes up a piece of the journal.
func (l *Partials) add(p *piece) {
	id := rollout.ID{Task: p.Task, Rollout: p.Rollout}
	if p.Prompt != nil {
		l.prompts[p.Task] = p.Prompt
	}
	a := l.of(id)
	switch {
	case p.From == 0:
		*a = answer{prompt: l.prompts[p.Task]}
	case a.torn || p.From != len(a.ids):
		a.torn = true // or a line between is damaged
		return
	}
	a.add(p.IDs, p.Text, p.Reasoning, p.Finish)
	a.took = time.Duration(p.Took) * time.Millisecond
}

// compact writes the journal anew without what it need not hold. writing is held.
func (l *Partials) compact() error {
	if err := l.PartialsSettings.Sync(); err != nil { // whole answers are not here any more then
		return err
	}
	b := l.snapshot()
	clear(l.prompts)
	err := journal.Write(l.path, func(yield func(*entry) bool) {
		for i := range b.parts {
			if !yield(&entry{Pieces: l.pieces(b.parts[i : i+1])}) {
				return
			}
		}
		yield(&entry{Again: b.again})
	})
	if err != nil {
		return err
	}
	if err := l.journal.Close(); err != nil {
		return err
	}
	l.journal, _, err = openJournal(l.path)
	if err == nil {
		l.base = l.journal.Size()
	}
	return err
}

// snapshot is all that is written of answers that are not whole.
func (l *Partials) snapshot() (b batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, a := range l.answers {
		if a.written != (extent{}) {
			b.parts = append(b.parts, a.between(id, extent{}, a.written))
		}
		if a.torn {
			b.parts = append(b.parts, gap(id, a.written))
		}
	}
	b.again = slices.Collect(maps.Keys(l.again))
	return b
}

func path(folder string) string { return filepath.Join(folder, PartialsName) }
