package sampler

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"speceval/internal/machine/clock"
	"speceval/internal/servers/ending"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/journal"
	"speceval/internal/store/rollout"
)

// Partials keep answers while they come in, so that an answer goes on from its seen part
// when its request is lost. Its methods may be called concurrently, but for one rollout only
// by one goroutine at a time.
//
// Lost answers are the long ones more often than not: drawn anew they come back shorter on
// average, and where wrong answers are long, a mean becomes too high. Tokens are drawn one
// after the other, so at a moment that does not follow from what is to come, the rest of an
// answer has the law of a continuation of what has been seen. What must not be done is to learn
// that an answer has not ended, and then to forget its beginning.
//
// So what a killed process leaves must be all that had been seen at one moment, of all answers,
// and the moment must not follow from the answers. Everything is written at the ticks of a clock,
// in one line that a kill leaves whole or not at all, and an answer is stored, scored and read
// only after its tick.
//
// The moments are exact up to the microseconds by which a write of many answers is longer.
// An answer whose end a server holds back with tokens before it has been known not to have
// ended (vLLM's --stream-interval, 1 by default). A machine that stops, in contrast to a
// process, may keep answers of the last second and lose pieces.
type Partials struct {
	PartialsSettings
	path string
	end  context.CancelFunc
	over chan struct{} // closed when the last tick is written

	mu      sync.Mutex
	answers map[rollout.ID]*answer
	again   map[rollout.ID]bool // asked for again though more was seen than was left
	newly   []rollout.ID        // of these, not written yet
	whole   []*rollout.Rollout  // not written yet
	waiting []chan<- error      // for the next tick; with room

	writing sync.Mutex // guards what follows, and is taken before mu
	journal *journal.Journal[entry, string]
	base    int64 // size of the journal when it was opened or last written anew
	compact int64 // what is added to it until it is written anew, in bytes
	failed  error // the first failure of a write
}

// PartialsSettings are where whole answers are stored.
type PartialsSettings struct {
	Clock clock.Clock
	// Has reports whether a whole answer is stored, Keep stores one; called one at a time.
	Has  func(rollout.ID) bool
	Keep func(*rollout.Rollout) error
	// Sync makes what Keep has stored survive a machine that stops.
	Sync func() error
}

// Partial is the seen part of an answer that is not whole.
type Partial struct {
	Prefix *vllm.Prefix
	// Took is how long servers have worked on it, by all its requests.
	Took time.Duration
	// Torn: more of it has been seen than is left, or may have been, by servers that
	// cannot continue or a journal that is damaged.
	Torn bool
}

// PartialsName is the name of the journal in its folder, no journal of rollouts.
const PartialsName = "partials.log"

// tick is the time between two writes, and so what a killed process forgets at most.
const tick = 50 * time.Millisecond

// OpenPartials opens the journal in a folder, which is made if it is not there. Whole
// answers that were written and not stored are stored now. damaged is the number of lines
// that cannot be read, whose answers are torn. The partials must be closed.
func OpenPartials(folder string, s PartialsSettings) (l *Partials, damaged int, err error) {
	l = &Partials{
		PartialsSettings: s, path: filepath.Join(folder, PartialsName), over: make(chan struct{}),
		answers: make(map[rollout.ID]*answer), again: make(map[rollout.ID]bool), compact: 16 << 20,
	}
	if damaged, err = l.open(); err != nil {
		return nil, 0, err
	}
	if err := l.replay(); err != nil {
		return nil, 0, errors.Join(err, l.journal.Close())
	}
	var ctx context.Context
	ctx, l.end = context.WithCancel(context.Background())
	go func() {
		defer close(l.over)
		for l.Clock.Sleep(ctx, tick) == nil {
			_ = l.Flush() // later writes fail, too
		}
		_ = l.Flush()
	}()
	return l, damaged, nil
}

// Find returns the seen part of an answer; nil if there is none.
func (l *Partials) Find(id rollout.ID) *Partial {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.answers[id]
	if a == nil || len(a.IDs) == 0 && !a.Torn {
		return nil
	}
	p := &Partial{Took: a.Took, Torn: a.Torn}
	if len(a.IDs) > 0 {
		p.Prefix = &vllm.Prefix{PromptIDs: a.Prompt, IDs: slices.Clip(a.IDs), Text: string(a.Text), Reasoning: string(a.Reasoning), Finish: a.Finish}
	}
	return p
}

// Keeps reports whether parts of the servers' answers are kept under a rule, to go on from.
// Otherwise answers are asked for in one piece.
func Keeps(rule vllm.OnLoss, servers Servers) bool {
	return rule != vllm.AskAgain && servers.Continues()
}

// Resume sets from where a request goes on, for which servers have worked so long already.
// again is true if more was seen of the answer than can be gone on from: it is asked for anew,
// or refused by vllm.ErrLost if that is the rule.
func (l *Partials) Resume(r *vllm.Request, id rollout.ID, rule vllm.OnLoss, keeps bool) (took time.Duration, again bool, err error) {
	there := l.Find(id)
	r.OnLoss, r.TokenIDs = rule, r.TokenIDs || keeps
	again = there != nil && (there.Torn || !keeps)
	switch {
	case again && rule == vllm.Refuse:
		err = vllm.ErrLost
	case there == nil:
	case keeps && there.Prefix != nil:
		r.Prefix, took = there.Prefix, there.Took
	default:
		l.Forget(id)
	}
	return took, again, err
}

// Asked notes that the answer is asked for now, from what is there. Unless what comes
// in will be kept it is torn from now on.
func (l *Partials) Asked(id rollout.ID, kept bool) {
	l.change(id, func(a *answer) {
		a.asked = l.Clock.Now().Add(-a.Took)
		if a.Torn {
			l.again[id], l.newly = true, append(l.newly, id)
		}
		a.Torn = !kept
	})
}

// Torn notes that of an answer under way more may have been seen than is kept, or that
// nothing was, whatever Asked said of it.
func (l *Partials) Torn(id rollout.ID, torn bool) {
	l.change(id, func(a *answer) { a.Torn = torn })
}

// Saw notes a piece that is new. A piece without the ids of the prompt or of
// the tokens is not kept: the answer cannot be resumed from it.
func (l *Partials) Saw(id rollout.ID, p vllm.Piece) {
	l.change(id, func(a *answer) {
		if a.Prompt == nil && len(p.PromptIDs) > 0 {
			a.Prompt = slices.Clone(p.PromptIDs)
		}
		if ending.Of(p.Finish) == ending.Failed {
			p.Finish = "" // the server has not let the answer come to its end
		}
		if a.Prompt != nil && (len(p.IDs) > 0 || p.Text != "" || p.Reasoning != "" || p.Finish != "") {
			a.extend(p.IDs, p.Text, p.Reasoning, p.Finish)
			a.Took = l.Clock.Now().Sub(a.asked)
		}
	})
}

// Forget throws away what has been seen of an answer, which is asked for anew.
func (l *Partials) Forget(id rollout.ID) {
	l.change(id, func(a *answer) {
		l.again[id], l.newly = true, append(l.newly, id)
		*a = answer{piece: piece{ID: id, Prompt: a.Prompt, Torn: a.Torn}, asked: l.Clock.Now()}
	})
}

// change changes an answer, and marks it for the next tick to write.
func (l *Partials) change(id rollout.ID, do func(*answer)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(id)
	do(a)
	a.changed = true
}

// of is the answer of an id. mu is held.
func (l *Partials) of(id rollout.ID) *answer {
	a := l.answers[id]
	if a == nil {
		a = &answer{piece: piece{ID: id}}
		l.answers[id] = a
	}
	return a
}

// AskedAgain is of how many answers more had been seen than was left when they were
// asked for again, or may have been.
func (l *Partials) AskedAgain() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.again)
}

// Deliver gives a whole answer to the next tick, by which it is stored, or not for the
// error that comes then. The answer must not be used before.
func (l *Partials) Deliver(r *rollout.Rollout) <-chan error {
	l.mu.Lock()
	defer l.mu.Unlock()
	stored := make(chan error, 1)
	l.whole, l.waiting = append(l.whole, r), append(l.waiting, stored)
	delete(l.answers, r.ID())
	return stored
}

// Sync makes what has been written survive a machine that stops. Its error is the error of
// the first write that failed, if one has.
func (l *Partials) Sync() error {
	l.writing.Lock()
	journal, failed := l.journal, l.failed
	l.writing.Unlock() // ticks go on meanwhile
	err := journal.Sync()
	if errors.Is(err, fs.ErrClosed) {
		err = nil // it has been written anew, and is on the disk
	}
	return errors.Join(failed, err)
}

// Close writes what is there and closes the journal.
func (l *Partials) Close() error {
	l.end()
	<-l.over
	return errors.Join(l.Sync(), l.journal.Close())
}

// RemovePartials removes the journal in a folder, if there is one: all answers are whole.
func RemovePartials(folder string) error { return os.RemoveAll(filepath.Join(folder, PartialsName)) }
