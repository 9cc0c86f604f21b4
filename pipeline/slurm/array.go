package slurm

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"speceval/internal/store/group"
	"speceval/pipeline/config"
	"speceval/pipeline/runlog"
)

// array is a batch that has not ended.
type array struct {
	*Batch
	dir     string
	minutes int        // time limit of its elements; 0: the partition's default, or not known
	open    []*element // that have not ended
}

// element is an element of an array as it is seen from here.
type element struct {
	array  *array
	index  int
	state  Element
	ended  time.Time // when that was first seen; zero before
	log    runlog.Reader
	events map[Member]runlog.Event // the last of each unit
	pieces []*piece                // whose results are still expected
}

func newArray(b *Batch, dir string) *array {
	a := &array{Batch: b, dir: dir}
	for i := range b.Elements {
		a.open = append(a.open, &element{
			array: a, index: i, log: runlog.Reader{Path: EventsPath(dir, i)}, events: make(map[Member]runlog.Event),
			state: Element{Job: b.Job, Index: i}, // not known yet
		})
	}
	return a
}

// pieces are the pieces at which open elements work.
func (a *array) pieces() (all []*piece) {
	for _, e := range a.open {
		all = append(all, e.pieces...)
	}
	return all
}

// name is the element's own, see Batch.element.
func (e *element) name() string { return e.array.element(e.index) }

// where is the element and its node, for messages.
func (e *element) where() string {
	if e.state.Node == "" {
		return "job " + e.name()
	}
	return "job " + e.name() + " on " + e.state.Node
}

// member is how the batch calls a piece.
func member(p *piece) Member { return Member{Unit: p.task.Ref.Unit, Key: p.task.Key} }

// read takes in what the element has written since the last time.
func (e *element) read() error {
	events, err := e.log.Next()
	for _, event := range events {
		m := Member{event.ID, event.Key}
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

// update books how the elements stand.
func (a *array) update(states []Element) {
	known := make(map[int]Element)
	for _, s := range states {
		if _, twice := known[s.Index]; !twice && s.Job == a.Job && (s.Title == a.Name || s.Title == "") {
			known[s.Index] = s
		}
	}
	for _, e := range a.open {
		s, ok := known[e.index]
		if !ok {
			s = Element{Job: a.Job, Index: e.index, State: e.vanished(len(known) > 0)}
		}
		s.Node = cmp.Or(s.Node, e.state.Node)
		e.state = s
	}
}

// vanished is the state of an element that the cluster does not mention. Of an array
// that Slurm does remember, one that waited has been cancelled: those that ran are
// remembered for some minutes.
func (e *element) vanished(others bool) State {
	if e.state.State.Ended() { // that is known
		return e.state.State
	}
	if others && e.state.State.Waiting() && len(e.events) == 0 {
		return Cancelled
	}
	return Forgotten
}

// of is the scheduler of a target. The configuration's commands replace the recorded ones:
// they may have been put right.
func (c *Jobs) of(t Target) scheduler {
	if t.Status != "" && c.Kind == config.ExecutorCommand {
		t = Target{Status: c.Status, Cancel: c.Cancel}
	}
	if c.schedulers[t] == nil {
		c.schedulers[t] = &cluster{run: c.Run, names: t.Clusters}
		if t.Status != "" {
			c.schedulers[t] = &commands{Target: t, submits: c.Submit, run: c.Run, report: c.Report, strange: make(map[string]bool)}
		}
	}
	return c.schedulers[t]
}

// ask asks how the open elements of arrays stand. The arrays of a cluster that does not
// answer are left as they are; the error is the last one's.
func (c *Jobs) ask(ctx context.Context, arrays []*array) (away error) {
	for _, arrays := range group.By(arrays, func(a *array) Target { return a.Target }) {
		states, err := c.of(arrays[0].Target).elements(ctx, arrays)
		if err != nil {
			away = err
			continue
		}
		for _, a := range arrays {
			a.update(states)
		}
	}
	return away
}

// load reads the arrays in the folder that have not ended, finds the jobs of those whose
// submitter did not live to see an answer, and polls them all. Away is the error of a
// cluster that does not answer. One that never became a job has elements that are forgotten.
func (c *Jobs) load(ctx context.Context) (arrays []*array, away, err error) {
	all, err := batches(c.Folder)
	for _, b := range all {
		if b.Ended {
			continue
		}
		if b.Job == "" {
			job, fault := c.of(b.Target).find(ctx, b)
			if b.Job, away = job, errors.Join(away, fault); job != "" {
				b.write(c.Folder) // or found again
			}
		}
		arrays = append(arrays, newArray(b, filepath.Join(c.Folder, b.Name)))
	}
	return arrays, errors.Join(away, c.ask(ctx, arrays)), err
}

// idsOf are the ids of the jobs of arrays.
func idsOf(arrays []*array) (ids []string) {
	for _, a := range arrays {
		if a.Job != "" {
			ids = append(ids, a.Job)
		}
	}
	return ids
}

// live are the ids of the arrays with elements that wait or run, and the number of the
// units of these.
func live(arrays []*array) (jobs []string, units int) {
	for _, a := range arrays {
		before := units
		for _, e := range a.open {
			if !e.state.State.Ended() {
				units += len(a.Elements[e.index])
			}
		}
		if units > before {
			jobs = append(jobs, a.Job)
		}
	}
	return jobs, units
}

// Standings are the states of all units in jobs that have not ended, and of units that failed
// in them. It changes nothing. Of a cluster that does not answer, the elements' logs
// alone decide what waits or runs.
func Standings(ctx context.Context, run Command, folder string) ([]runlog.Event, error) {
	arrays, _, err := stored(ctx, run, folder)
	if err != nil {
		return nil, err
	}
	var all []runlog.Event
	for _, a := range arrays {
		for _, e := range a.open {
			if err := e.read(); err != nil {
				return nil, err
			}
			for _, m := range a.Elements[e.index] {
				if s, ok := e.unitStatus(m); ok {
					all = append(all, s)
				}
			}
		}
	}
	return all, nil
}

// unitStatus is the last that is known of a unit of the element: that it is queued, has
// started or failed; false if it is done, or was not begun by an element that has ended.
func (e *element) unitStatus(m Member) (runlog.Event, bool) {
	logged, known := e.events[m]
	s := runlog.Of(runlog.Queued, e.array.Ref(m), m.Key)
	s.Job, s.Host, s.Log, s.Time = e.name(), e.state.Node, LogPath(e.array.dir, e.index), e.array.Submitted
	if known {
		s.Time = logged.Time
	}
	ended := e.state.State.Ended()
	switch {
	case logged.What == runlog.Done, ended && !known:
		return s, false
	case logged.What == runlog.Failed:
		s.What, s.Error = runlog.Failed, logged.Error
	case ended:
		s.What, s.Error = runlog.Failed, judge(e.state.State, true).why
	case logged.What == runlog.Started && !e.state.State.Waiting():
		s.What = runlog.Started
	}
	return s, true
}
