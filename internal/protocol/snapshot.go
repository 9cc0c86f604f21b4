package protocol

import (
	"fmt"

	"speceval/internal/evaluation"
)

// Snapshot is all that a session knows.
type Snapshot struct {
	Protocol int               `json:"protocol"`
	Setup    *evaluation.Setup `json:"setup"`
	Ahead    bool              `json:"ahead"`
	Rewards  [][]*float64      `json:"rewards"`          // by task and rollout; null: not reported, in flight once it is restored
	Tokens   [][]int64         `json:"tokens,omitempty"` // the same; none where none are known
}

// Snapshot is the session as it is. One that is restored from it decides as this one will.
func (s *Session) Snapshot(ahead bool) *Snapshot {
	snap := &Snapshot{Protocol: Version, Setup: s.setup, Ahead: ahead, Rewards: make([][]*float64, len(s.tasks))}
	tokens, any := make([][]int64, len(s.tasks)), false
	for task, entries := range s.tasks {
		snap.Rewards[task], tokens[task] = []*float64{}, []int64{}
		for _, e := range entries {
			var reward *float64
			if e.state == done {
				reward = &e.reward
			}
			snap.Rewards[task] = append(snap.Rewards[task], reward)
			tokens[task] = append(tokens[task], e.tokens)
			any = any || e.tokens > 0
		}
	}
	if any {
		snap.Tokens = tokens
	}
	return snap
}

// check says what is wrong with a snapshot, if anything: one comes from outside.
func (s *Snapshot) check() error {
	switch {
	case s.Setup == nil:
		return &FieldError{"snapshot.setup", "it is not there: want what snapshot replied"}
	case s.Protocol != Version:
		return &FieldError{"snapshot.protocol", fmt.Sprintf("%d: this program speaks %d", s.Protocol, Version)}
	case len(s.Rewards) != len(s.Setup.TaskIDs):
		return &FieldError{"snapshot.rewards", fmt.Sprintf("of %d tasks, want %d", len(s.Rewards), len(s.Setup.TaskIDs))}
	case s.Tokens != nil && len(s.Tokens) != len(s.Rewards):
		return &FieldError{"snapshot.tokens", fmt.Sprintf("of %d tasks, want %d", len(s.Tokens), len(s.Rewards))}
	}
	for task, rewards := range s.Rewards {
		if s.Tokens != nil && len(s.Tokens[task]) != len(rewards) {
			return &FieldError{"snapshot.tokens", fmt.Sprintf("of %d rollouts of task %q, want %d", len(s.Tokens[task]), s.Setup.TaskIDs[task], len(rewards))}
		}
	}
	if s.Setup.Extends != nil || len(s.Setup.Suite) > 0 {
		return &FieldError{"snapshot.setup", "it extends an evaluation or is of several benchmarks: no snapshot of this program is"}
	}
	if err := s.Setup.Check(); err != nil {
		return &FieldError{"snapshot.setup", err.Error()}
	}
	return nil
}

// restore puts what a snapshot has of its rollouts into a session that has begun.
func (s *Session) restore(snap *Snapshot) error {
	for task, rewards := range snap.Rewards {
		for k, reward := range rewards {
			r := Rollout{s.setup.TaskIDs[task], k + 1}
			if err := s.put(r, inFlight, 0, 0); err != nil {
				return err
			}
			if reward == nil {
				continue
			}
			tokens := int64(0)
			if snap.Tokens != nil {
				tokens = snap.Tokens[task][k]
			}
			if _, err := s.Completed(r, *reward, tokens); err != nil {
				return err
			}
		}
	}
	return s.catchUp()
}

// put says where a rollout stood when the session was left.
func (s *Session) put(r Rollout, at state, reward float64, tokens int64) error {
	task, known := s.index[r.Task]
	if !known || r.Number < 1 || r.Number > mostRollouts {
		return &FieldError{"rollout", fmt.Sprintf("%d of task %q is none of this evaluation", r.Number, r.Task)}
	}
	s.at(task, r.Number).state = inFlight
	switch at {
	case done:
		_, err := s.Completed(r, reward, tokens)
		return err
	case aborted:
		s.at(task, r.Number).state = aborted
	}
	return nil
}
