package protocol

import (
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/evaluation"
	"speceval/method/neyman"
)

// Snapshot is all that a session knows.
type Snapshot struct {
	Protocol int               `json:"protocol"`
	Setup    *evaluation.Setup `json:"setup"`
	Ahead    bool              `json:"ahead"`
	Rewards  [][]*float64      `json:"rewards"`          // by task and rollout; null: not reported, in flight once it is restored
	Tokens   [][]int64         `json:"tokens,omitempty"` // the same; none where none are known
}

// snapshot is the session as it is. One that is restored from it decides as this one will.
func (s *session) snapshot() *Snapshot {
	snap := &Snapshot{Protocol: Version, Setup: s.setup, Ahead: s.ahead, Rewards: make([][]*float64, len(s.tasks))}
	tokens, told := make([][]int64, len(s.tasks)), false
	for task, entries := range s.tasks {
		snap.Rewards[task], tokens[task] = []*float64{}, []int64{}
		for _, e := range entries {
			var reward *float64
			if e.state == completed {
				reward = &e.reward
			}
			snap.Rewards[task], tokens[task] = append(snap.Rewards[task], reward), append(tokens[task], e.tokens)
			told = told || e.tokens > 0
		}
	}
	if told {
		snap.Tokens = tokens
	}
	return snap
}

// restore is a session as a snapshot has it, which comes from outside. field is its field
// in the message.
func (s *Snapshot) restore(reference *neyman.Prior, field string) (*session, error) {
	switch {
	case s == nil:
		return nil, Faultf(field, "it is not there: want what snapshot replied")
	case s.Setup == nil:
		return nil, Faultf(field+".setup", "it is not there: want what snapshot replied")
	case s.Protocol != Version:
		return nil, Faultf(field+".protocol", "%d: this program speaks %d", s.Protocol, Version)
	case len(s.Setup.Suite) > 0:
		return nil, Faultf(field+".setup", "it is of several benchmarks: no snapshot of this program is")
	case len(s.Rewards) != len(s.Setup.TaskIDs) || s.Tokens != nil && len(s.Tokens) != len(s.Rewards):
		return nil, Faultf(field+".rewards", "rewards of %d tasks and tokens of %d, want %d", len(s.Rewards), len(s.Tokens), len(s.Setup.TaskIDs))
	}
	if err := s.Setup.Check(); err != nil {
		return nil, Faultf(field+".setup", "%v", err)
	}
	var known []*record
	for task, rewards := range s.Rewards {
		if s.Tokens != nil && len(s.Tokens[task]) != len(rewards) {
			return nil, Faultf(field+".tokens", "of %d rollouts of task %q, want %d", len(s.Tokens[task]), s.Setup.TaskIDs[task], len(rewards))
		}
		for k, reward := range rewards {
			r := &record{Rollout: Rollout{s.Setup.TaskIDs[task], k + 1}, State: given}
			if reward != nil {
				r.State, r.Reward = completed, *reward
				if s.Tokens != nil {
					r.Tokens = s.Tokens[task][k]
				}
			}
			known = append(known, r)
		}
	}
	return begin(s.Setup, reference, s.Ahead, known)
}

// ResultOf is the result of a complete evaluation by its snapshot, as a log has it.
func ResultOf(snapshot jsontext.Value, reference *neyman.Prior) (*evaluation.Result, error) {
	var snap *Snapshot
	if err := decode(snapshot, &snap, false); err != nil {
		return nil, err
	}
	session, err := snap.restore(reference, "snapshot")
	if err != nil {
		return nil, err
	}
	if !session.done() {
		return nil, Faultf("snapshot", "the evaluation is not complete: it has %d of its rollouts", session.reported)
	}
	return session.result()
}
