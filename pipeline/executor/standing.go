package executor

import (
	"context"
	"time"

	"speceval/internal/slurm"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

// Standing is how a unit stands that has been submitted to Slurm.
type Standing struct {
	Unit  dag.Ref
	Key   string
	Time  time.Time // since when, or since it was submitted
	State string    // runlog.Queued, Started, Failed; of others a manifest tells more
	Job   string    // "1234_7"
	Node  string    // where it runs, as far as Slurm says
	Error string    // of a unit that failed
	Log   string    // path
}

// Standings are those of all units in jobs that have not ended, and of those
// that failed in them. Client may be nil: then Slurm is not asked, and what
// waits or runs is told by the elements' logs alone.
func Standings(ctx context.Context, client *slurm.Client, folder string) ([]Standing, error) {
	arrays, err := standing(ctx, client, folder)
	if err != nil {
		return nil, err
	}
	var all []Standing
	for _, a := range arrays {
		for _, e := range a.open {
			if err := e.read(); err != nil {
				return nil, err
			}
			for _, m := range a.Elements[e.index] {
				if s, ok := e.standing(m); ok {
					all = append(all, s)
				}
			}
		}
	}
	return all, nil
}

// standing are the arrays that have not ended, with what Slurm says of them. It
// changes nothing.
func standing(ctx context.Context, client *slurm.Client, folder string) ([]*array, error) {
	earlier, err := batches(folder)
	if err != nil {
		return nil, err
	}
	arrays := openArrays(earlier, folder)
	if client == nil {
		return arrays, nil
	}
	states, err := client.Elements(ctx, wanted(arrays))
	if err != nil {
		return arrays, nil // Slurm is away: the logs have to do
	}
	for _, a := range arrays {
		if a.Job != "" {
			a.update(states)
		}
	}
	return arrays, nil
}

// standing is how a unit of the element stands; false if it is done, or was not
// begun by an element that has ended.
func (e *element) standing(m Member) (Standing, bool) {
	event, logged := e.events[m]
	s := Standing{
		Unit: e.array.Ref(m), Key: m.Key, State: runlog.Queued, Job: slurm.Name(e.array.Job, e.index), Node: e.state.Node,
		Log: LogPath(e.array.dir, e.index), Time: e.array.Submitted,
	}
	if logged {
		s.Time = event.Time
	}
	ended := e.state.State.Ended()
	switch {
	case logged && event.What == runlog.Done:
		return s, false
	case logged && event.What == runlog.Failed:
		s.State, s.Error = runlog.Failed, event.Error
	case ended && !logged:
		return s, false
	case ended:
		s.State, s.Error = runlog.Failed, judge(e.state.State, e.state.Exit, true).why
	case logged && event.What == runlog.Started && !e.state.State.Waiting():
		s.State = runlog.Started
	}
	return s, true
}
