package executor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"speceval/internal/slurm"
	"speceval/pipeline/runlog"
)

// array is a batch that has been submitted and has not ended.
type array struct {
	*Batch
	dir  string
	open []*element // that have not ended
	had  map[*piece]resourceLimits
}

// element is an element of an array as it is seen from here.
type element struct {
	array  *array
	index  int
	state  slurm.Element
	ended  time.Time // when that was first seen; zero before
	log    *runlog.Reader
	events map[Member]runlog.Event // the last of each unit
	pieces []*piece                // that somebody waits for
	closed bool                    // nobody looks at it any more
}

func newArray(b *Batch, dir string) *array {
	a := &array{Batch: b, dir: dir, had: make(map[*piece]resourceLimits)}
	for i := range b.Elements {
		a.open = append(a.open, &element{
			array: a, index: i, log: runlog.NewReader(EventsPath(dir, i)), events: make(map[Member]runlog.Event),
			state: slurm.Element{Job: b.Job, Index: i}, // not known yet
		})
	}
	return a
}

// where says which element it is, for messages.
func (e *element) where() string {
	text := "job " + slurm.Name(e.array.Job, e.index)
	if e.state.Node != "" {
		text += " on " + e.state.Node
	}
	return text
}

// member is how the batch calls a piece.
func member(p *piece) Member { return Member{Unit: p.task.Ref.Unit, Key: p.task.Key} }

// read takes in what the element has written since the last time.
func (e *element) read() error {
	events, err := e.log.Next()
	for _, event := range events {
		m := Member{event.Unit.Unit, event.Key}
		if event.Progress == nil {
			e.events[m] = event
			continue
		}
		for _, p := range e.pieces {
			if member(p) == m {
				p.task.Advance(*event.Progress)
			}
		}
	}
	return err
}

// attach finds the arrays of earlier runs that have not ended, and how their
// elements stand.
func attach(ctx context.Context, client *slurm.Client, folder string) ([]*array, error) {
	earlier, err := batches(folder)
	if err != nil {
		return nil, err
	}
	if err := named(ctx, client, earlier); err != nil {
		return nil, err
	}
	arrays := openArrays(earlier, folder)
	states, err := client.Elements(ctx, wanted(arrays))
	if err != nil {
		return nil, err
	}
	live := arrays[:0]
	for _, a := range arrays {
		a.update(states)
		a.closeEnded()
		if a.Ended = len(a.open) == 0; !a.Ended {
			live = append(live, a)
		}
		if err := a.write(folder); err != nil {
			return nil, err
		}
	}
	return live, nil
}

// named finds the jobs of batches whose submitter did not live to see Slurm's
// answer. A batch that never became a job is left without.
func named(ctx context.Context, client *slurm.Client, all []*Batch) error {
	for _, b := range all {
		if b.Job != "" {
			continue
		}
		jobs, err := client.Named(ctx, b.Name)
		if err != nil {
			return err
		}
		if len(jobs) > 0 {
			b.Job = jobs[0]
		}
	}
	return nil
}

// openArrays are the arrays of batches.
func openArrays(all []*Batch, folder string) []*array {
	var arrays []*array
	for _, b := range all {
		arrays = append(arrays, newArray(b, filepath.Join(folder, b.Name)))
	}
	return arrays
}

// wanted are the elements of arrays that have not ended.
func wanted(arrays []*array) []slurm.Element {
	var all []slurm.Element
	for _, a := range arrays {
		for _, e := range a.open {
			if a.Job != "" {
				all = append(all, slurm.Element{Job: a.Job, Index: e.index})
			}
		}
	}
	return all
}

// update books how the elements stand.
func (a *array) update(states []slurm.Element) {
	known := make(map[int]slurm.Element)
	for _, s := range states {
		if s.Job == a.Job && (s.Title == a.Name || s.Title == "") {
			known[s.Index] = s
		}
	}
	for _, e := range a.open {
		s, ok := known[e.index]
		if !ok {
			s = slurm.Element{Job: a.Job, Index: e.index, State: e.vanished(len(known) > 0)}
		}
		if s.Node == "" {
			s.Node = e.state.Node
		}
		e.state = s
	}
}

// vanished is the state of an element that Slurm does not mention. Of an array
// that it does remember, one that waited has been cancelled: those that ran are
// remembered for some minutes.
func (e *element) vanished(others bool) slurm.State {
	if e.state.State.Ended() { // that is known
		return e.state.State
	}
	if others && e.state.State.Waiting() && len(e.events) == 0 {
		return slurm.Cancelled
	}
	return slurm.Forgotten
}

// closeEnded forgets the elements that have ended.
func (a *array) closeEnded() {
	open := a.open[:0]
	for _, e := range a.open {
		if !e.state.State.Ended() {
			open = append(open, e)
		}
	}
	a.open = open
}

// LiveError says that jobs of an earlier run are still at work in an output
// folder.
type LiveError struct {
	Jobs  []string
	Units int
}

func (e *LiveError) Error() string {
	return fmt.Sprintf("Slurm jobs of an earlier run are at work in this folder (%v, %d units): wait for them with executor.kind = \"slurm\", or cancel them with scancel", e.Jobs, e.Units)
}

// Idle is a *LiveError if jobs of an earlier run wait or run. A cluster that
// does not answer counts as one without jobs.
func Idle(ctx context.Context, client *slurm.Client, folder string) error {
	live, err := attach(ctx, client, folder)
	if err != nil || len(live) == 0 {
		return nil
	}
	e := new(LiveError)
	for _, a := range live {
		e.Jobs = append(e.Jobs, a.Job)
		for _, open := range a.open {
			e.Units += len(a.Elements[open.index])
		}
	}
	return e
}
