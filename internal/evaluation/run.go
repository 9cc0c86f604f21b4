// Package evaluation is a live evaluation of a benchmark: the rollouts of Uniform,
// HBN-sync or HBN-async from servers, scored as they come in, and the benchmark
// mean that follows (paper, Algorithms 1 and 2).
//
// An evaluation has a folder. Its setup is written there before the first request
// and never changes; answers, verdicts and requests are kept in journals while
// they come in. At the end all files are written, the manifest with their hashes
// last: it says that the evaluation is complete. Rollouts
// are selected by their ids, all pilots and the first continuations of every task,
// so that an evaluation that was stopped anywhere goes on to the same result: what
// has been answered is not asked again, and what had completed by then has no
// better chance to count.
package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"speceval/internal/benchmark/sampler"
	"speceval/internal/machine/clock"
	"speceval/internal/servers/router"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/method/neyman"
)

// Settings are an evaluation and what it takes.
type Settings struct {
	Setup  Setup
	Folder string // see Setup.Path; no other process may write there
	Prior  *neyman.Prior

	Corpus  sampler.Corpus // with the seed of Seed
	Servers sampler.Servers
	OnLoss  vllm.OnLoss // what to do about an answer that is lost while it comes in
	// Score scores an answer. It is called by many goroutines at a time; its error
	// says why there is no verdict.
	Score func(ctx context.Context, r *rollout.Response) (*rollout.Score, error)
	Rules string // what verdicts depend on besides the answers, as a digest
	// Found reports whether a scorer, by its version, found an answer; nil: always.
	Found func(scorer, answer string) bool
	// Unparted says that prompts open the thinking of the model, and that no server
	// separates it from the answer.
	Unparted bool

	Provenance string   // of the rollouts: measured or simulated
	Notes      []string // what a user should know of the servers' answers
	Clock      clock.Clock
	Host
}

// Host is the program around an evaluation.
type Host struct {
	Commit string    // of the program, for the footers of files
	Began  time.Time // of the command, for the time until the first request

	Drain <-chan struct{}      // closed: ask for nothing more, and stop when what is under way is there
	Watch func(p Progress)     // hears every second how far it is; may be nil
	Say   func(message string) // tells the user something; may be nil
}

// ErrStopped is the cause of the pause of an evaluation that was asked to stop.
var ErrStopped = errors.New("stopped")

// PausedError is the end of an evaluation that can go on.
type PausedError struct {
	Cause     error
	Kept, All int // rollouts that are there, and N·b
	Folder    string
}

// Error says why, and that nothing is lost.
func (e *PausedError) Error() string {
	of := ""
	if e.Kept <= e.All { // without surplus ones
		of = fmt.Sprintf(" of %d", e.All)
	}
	return fmt.Sprintf("the evaluation is paused: %v\n%d rollouts%s are kept in %s; the same command goes on from there", e.Cause, e.Kept, of, e.Folder)
}

// Unwrap is the cause.
func (e *PausedError) Unwrap() error { return e.Cause }

// retries is how often a request is made again that failed in a way that may be
// its own: the servers have tried what could be their fault.
const retries = 3

// every is the time between two reports of progress, and what a machine that stops can lose at
// most; a process that is killed loses nothing that has arrived.
const every = time.Second

// Run evaluates, or resumes an evaluation. Its error is a *PausedError where
// what has been answered is kept for another run.
func Run(ctx context.Context, s Settings) (_ *Result, err error) {
	if err := s.adopt(); err != nil {
		return nil, err
	}
	if err := s.Setup.Keep(s.Folder); err != nil {
		return nil, err
	}
	if stored, err := Open(s.Folder); !errors.Is(err, fs.ErrNotExist) { // complete already
		if err != nil {
			return nil, err
		}
		return stored.Result, Clear(s.Folder)
	}
	st, err := openStore(s.Folder, s.Clock)
	if err != nil {
		return nil, err
	}
	defer func() { // the partials first, which store rollouts to the last
		err = errors.Join(err, st.partials.Close(), st.rollouts.Close(), st.verdicts.Close(), st.requests.Close())
	}()
	if st.damaged > 0 {
		s.say(fmt.Sprintf("%d damaged lines in the journals of %s: what they held is asked for again", st.damaged, s.Folder))
	}
	e := newEngine(ctx, s, st)
	if err := e.remember(); err != nil {
		return nil, errors.Join(err, e.finish())
	}
	if e.control, err = s.Setup.Controller(s.Prior, true, e.ledger.Used, e.tooSmall); err != nil {
		return nil, errors.Join(err, e.finish())
	}
	c := e.control
	e.observe()
	e.chore.Go(func() {
		for e.Clock.Sleep(e.ctx, every) == nil {
			if err := st.sync(); err != nil {
				e.stop(err)
				return
			}
			e.report()
		}
	})
	record, err := router.Run(ctx, router.Settings{Controller: c, Engine: e, Reward: e.rewarded, Retries: retries})
	kept := e.finish()
	e.observe()
	e.report()
	if err != nil || kept != nil {
		if cause := context.Cause(e.over); err != nil && !errors.Is(cause, errOver) {
			err = cause
		}
		if small := (*CapError)(nil); errors.As(err, &small) {
			small.Answers = st.rollouts.Len()
			return nil, errors.Join(err, kept)
		}
		return nil, &PausedError{errors.Join(err, kept), st.rollouts.Len(), len(s.Setup.TaskIDs) * s.Setup.Budget, s.Folder}
	}
	return e.result(record)
}

func (s *Settings) say(message string) {
	if s.Say != nil {
		s.Say(message)
	}
}
