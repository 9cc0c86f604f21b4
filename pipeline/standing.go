package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

// What a unit can be at.
const (
	unitQueued  = "queued"  // in a scheduler's queue
	unitRunning = "running" // a process works on it
	unitFailed  = "failed"  // and nothing has made it fresh since
)

// unitStanding is a unit that is at something, or has failed.
type unitStanding struct {
	Unit  dag.Ref
	State string    // one of the above
	Key   string    // as far as it is known
	Time  time.Time // since when
	Host  string    // where, as far as it is known
	Job   string    // of the scheduler; empty without one
	Error string    // of a failure
	Log   string    // path of the file that tells more
}

// standings are the units of a plan of everything that are queued or running or
// have failed, by the log of the newest run and by elsewhere, which tells of the
// units that run on other machines and knows better; it may be nil. They are in the order in which
// they came to be so. running is what the run that is under way says of itself;
// empty if there is none.
func standings(out string, plan *dag.Plan, elsewhere func(out string) ([]unitStanding, error)) (all []unitStanding, running string, err error) {
	log, err := runlog.Stand(filepath.Join(out, dag.LogsDir))
	if err != nil {
		return nil, "", err
	}
	running = dag.Holder(out)
	alive := running != "" && !log.Ended && strings.HasPrefix(log.Holder, running)
	found := make(map[dag.Ref]unitStanding)
	for _, e := range log.Open {
		u := unitStanding{Unit: e.Unit, Key: e.Key, Time: e.Time, Host: e.Host, Job: e.Job, Error: e.Error, Log: log.Path}
		switch {
		case e.What == runlog.Failed:
			u.State = unitFailed
		case !alive:
			continue // its process was killed
		case e.What == runlog.Queued:
			u.State, u.Host = unitQueued, ""
		default:
			u.State = unitRunning
		}
		found[u.Unit] = u
	}
	if elsewhere != nil {
		far, err := elsewhere(out)
		if err != nil {
			return nil, running, err
		}
		for _, u := range far {
			found[u.Unit] = u
		}
	}
	stale := staleKeys(plan, found)
	for unit, u := range found {
		key, known := stale[unit]
		if u.State != unitFailed || known && (key == "" || u.Key == "" || key == u.Key) {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b unitStanding) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Unit.Stage, b.Unit.Stage), cmp.Compare(a.Unit.Unit, b.Unit.Unit))
	})
	return all, running, nil
}

// staleKeys are the keys of those units that a plan would run; empty where they
// depend on inputs to be made.
func staleKeys(plan *dag.Plan, of map[dag.Ref]unitStanding) map[dag.Ref]string {
	keys := make(map[dag.Ref]string)
	if len(of) == 0 {
		return keys
	}
	for _, stage := range plan.Stages {
		for i := range stage.Run {
			if _, asked := of[stage.Run[i].Ref]; asked {
				keys[stage.Run[i].Ref] = stage.Run[i].Key
			}
		}
	}
	return keys
}
