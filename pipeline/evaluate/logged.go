package evaluate

import (
	"speceval/internal/evaluate/logs"
	"speceval/internal/evaluation"
	"speceval/internal/protocol"
	"speceval/method/neyman"
)

// ofLog is the result of the one log of a harness at a path: of a run with HBN by its
// allocation, of another one the mean over tasks of their means.
func (a Archive) ofLog(path string) (*evaluation.Result, error) {
	all, _, err := logs.Choice{Strict: true}.Read(path)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, requestf("%s has %d logs: name one of them", path, len(all))
	}
	prior, err := neyman.NewPrior(a.Config.Replay.QuadratureOrder)
	if err != nil {
		return nil, err
	}
	l := all[0]
	switch {
	case l.Snapshot != nil:
		r, err := protocol.ResultOf(l.Snapshot, prior)
		if err != nil {
			return nil, requestf("%s: its allocation: %w", path, err)
		}
		return r, nil
	case l.Allocated:
		return nil, requestf("%s is of an allocation that it does not tell: its tasks' numbers of rollouts follow from what was seen, and their mean is biased", path)
	}
	for _, note := range l.Notes {
		a.warn(path + ": " + note)
	}
	ids, rewards := make([]string, len(l.Tasks)), make([][]float64, len(l.Tasks))
	for i, t := range l.Tasks {
		ids[i] = t.ID
		for _, r := range t.Rollouts {
			rewards[i] = append(rewards[i], r.Reward)
		}
	}
	return evaluation.Counted(l.Benchmark, l.Model, ids, rewards, prior)
}

// inOrder is the result of another program with its tasks in the order of others, whatever
// it calls the benchmark; r itself if it is no other program's or of other tasks.
func inOrder(r *evaluation.Result, ids []string, benchmark string) *evaluation.Result {
	if !r.Outside() || len(ids) != len(r.Rows) {
		return r
	}
	rows := make(map[string]evaluation.Task, len(ids))
	for _, t := range r.Rows {
		rows[t.ID] = t
	}
	ordered := *r
	ordered.Benchmark, ordered.Rows = benchmark, make([]evaluation.Task, len(ids))
	for i, id := range ids {
		t, there := rows[id]
		if !there {
			return r
		}
		t.Index = int32(i)
		ordered.Rows[i] = t
	}
	return &ordered
}
