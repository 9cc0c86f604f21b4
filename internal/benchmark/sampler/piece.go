package sampler

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"speceval/internal/store/journal"
	"speceval/internal/store/rollout"
)

// entry is a line of the journal: what a tick has to write.
type entry struct {
	Pieces []piece            `json:"pieces,omitempty"`
	Whole  []*rollout.Rollout `json:"whole,omitempty"`
	Again  []rollout.ID       `json:"again,omitempty"` // asked for again though torn
}

// piece is a part of an answer that is not whole.
type piece struct {
	ID rollout.ID `json:"id"`
	// From is how many tokens there were before. Where there are fewer, a line between
	// is damaged, and the answer is torn.
	From      int     `json:"n"`
	Prompt    []int32 `json:"p,omitempty"` // where the answer begins, or begins anew
	IDs       []int32 `json:"i,omitempty"`
	Text      text    `json:"x,omitempty"`
	Reasoning text    `json:"g,omitempty"`
	Finish    string  `json:"f,omitempty"`

	Torn bool          `json:"torn,omitempty"` // the answer, from here on
	Took time.Duration `json:"took"`           // by all its requests
}

// text is a string that grows.
type text []byte

func (t text) MarshalText() ([]byte, error) { return t, nil }

func (t *text) UnmarshalText(s []byte) error {
	*t = append(*t, s...)
	return nil
}

// answer is the seen part of an answer that is not whole, from its beginning. Its slices
// only grow, until they are replaced.
type answer struct {
	piece
	asked   time.Time // or before, by as much as earlier requests took
	changed bool      // since the last tick
	written piece     // what there was at the last tick
}

// extend adds what is new.
func (a *answer) extend(ids []int32, words, reasoning, finish string) {
	a.IDs, a.Text, a.Reasoning = append(a.IDs, ids...), append(a.Text, words...), append(a.Reasoning, reasoning...)
	a.Finish = cmp.Or(finish, a.Finish)
}

// pending takes what there is to write; anew, all that the journal has to hold.
func (l *Partials) pending(anew bool) (e entry, waiting []chan<- error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.answers {
		if anew {
			e.Pieces = append(e.Pieces, a.piece)
		} else if a.changed {
			p, w := a.piece, &a.written // since the last tick
			p.From, p.IDs, p.Text, p.Reasoning = len(w.IDs), a.IDs[len(w.IDs):], a.Text[len(w.Text):], a.Reasoning[len(w.Reasoning):]
			if w.Prompt != nil {
				p.Prompt = nil
			}
			e.Pieces = append(e.Pieces, p)
		}
		a.changed, a.written = false, a.piece
	}
	e.Whole, e.Again, waiting = l.whole, l.newly, l.waiting
	if anew {
		e.Again = slices.Collect(maps.Keys(l.again))
	}
	l.whole, l.newly, l.waiting = nil, nil, nil
	return e, waiting
}

// Flush is a tick: it writes what has come in since the last one, in a line or with all
// the rest in a journal that has become too long, and then stores answers that are whole.
// After a failure nothing is written any more.
func (l *Partials) Flush() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	anew := l.journal.Size() > l.compact+2*l.base
	e, waiting := l.pending(anew)
	switch {
	case l.failed != nil:
	case anew:
		l.failed = l.rewrite(e)
	case len(e.Pieces)+len(e.Whole)+len(e.Again) > 0:
		l.failed = l.journal.Append(&e)
	}
	for _, r := range e.Whole {
		if l.failed == nil {
			l.failed = l.Keep(r)
		}
	}
	for _, stored := range waiting {
		stored <- l.failed
	}
	return l.failed
}

// rewrite writes the journal anew. writing is held.
func (l *Partials) rewrite(all entry) error {
	if err := l.PartialsSettings.Sync(); err != nil { // whole answers are not here any more then
		return err
	}
	err := journal.Write(l.path, func(yield func(*entry) bool) {
		for i := range all.Pieces {
			if !yield(&entry{Pieces: all.Pieces[i : i+1]}) {
				return
			}
		}
		yield(&entry{Whole: all.Whole, Again: all.Again})
	})
	if err == nil {
		err = l.journal.Close()
	}
	if err == nil {
		_, err = l.open()
	}
	return err
}

// open opens the journal. All entries have one id, which errors show.
func (l *Partials) open() (damaged int, err error) {
	j, damaged, err := journal.Open(l.path, func(*entry) string { return "parts of answers" })
	if err == nil {
		l.journal, l.base = j, j.Size()
	}
	return damaged, err
}

// replay takes up what the journal holds, and stores what is whole.
func (l *Partials) replay() error {
	for e, err := range journal.Records[entry](l.path) {
		if err != nil {
			return err
		}
		for i := range e.Pieces {
			p := &e.Pieces[i]
			a := l.of(p.ID)
			if p.Prompt != nil {
				a.piece = piece{ID: p.ID, Prompt: p.Prompt}
			}
			if p.From != len(a.IDs) || a.Prompt == nil && len(p.IDs) > 0 {
				a.Torn = true
				continue
			}
			a.extend(p.IDs, string(p.Text), string(p.Reasoning), p.Finish)
			a.Torn, a.Took, a.written = p.Torn, p.Took, a.piece
		}
		for _, id := range e.Again {
			l.again[id] = true
		}
		for _, r := range e.Whole {
			delete(l.answers, r.ID())
			if l.Has(r.ID()) {
				continue
			}
			if err := l.Keep(r); err != nil {
				return err
			}
		}
	}
	maps.DeleteFunc(l.answers, func(id rollout.ID, _ *answer) bool { return l.Has(id) })
	return nil
}
