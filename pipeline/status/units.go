package status

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"speceval/pipeline/dag"
	"speceval/pipeline/executor"
	"speceval/pipeline/runlog"
)

// Units are the units of a plan of everything that are queued or running or
// have failed, by the log of the newest run and by elsewhere, which has the units
// on other machines and knows better; it may be nil. They are in the order in
// which they came to be so. running is what the run that is under way says of
// itself; empty if there is none.
func Units(out string, plan *dag.Plan, elsewhere func(out string) ([]executor.Standing, error)) (all []executor.Standing, running string, err error) {
	log, err := runlog.Stand(filepath.Join(out, dag.LogsDir))
	if err != nil {
		return nil, "", err
	}
	running = dag.Holder(out)
	alive := running != "" && !log.Ended && strings.HasPrefix(log.Holder, running)
	found := make(map[dag.Ref]executor.Standing)
	for _, e := range log.Open {
		u := executor.Standing{Unit: e.Unit, Key: e.Key, Time: e.Time, Node: e.Host, Job: e.Job, Error: e.Error, Log: log.Path}
		switch {
		case e.What == runlog.Failed:
			u.State = runlog.Failed
		case !alive:
			continue // its process was killed
		case e.What == runlog.Queued:
			u.State, u.Node = runlog.Queued, ""
		default:
			u.State = runlog.Started
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
		if u.State != runlog.Failed || known && (key == "" || u.Key == "" || key == u.Key) {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b executor.Standing) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Unit.Stage, b.Unit.Stage), cmp.Compare(a.Unit.Unit, b.Unit.Unit))
	})
	return all, running, nil
}

// staleKeys are the keys of those units that a plan would run; empty where they
// depend on inputs to be made.
func staleKeys(plan *dag.Plan, of map[dag.Ref]executor.Standing) map[dag.Ref]string {
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
