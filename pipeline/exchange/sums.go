package exchange

import (
	"speceval/internal/evaluate/logs"
	"speceval/internal/profile"
)

// sums add rollouts up, task by task.
type sums struct {
	at      map[string]int
	tasks   []sum
	ids     []string
	counted map[uint64]bool // rollouts by their identities
	graded  bool
}

// sum is of one task. Tokens are −1 where one rollout lacks them.
type sum struct {
	passes, rollouts     int
	rewards, squares     float64
	prompts, completions int64
}

func newSums() *sums { return &sums{at: make(map[string]int), counted: make(map[uint64]bool)} }

// add adds the rollouts of a task that are not there yet, and tells how many are.
func (s *sums) add(t logs.Task) (repeated int) {
	for _, r := range t.Rollouts {
		if r.Identity != 0 && s.counted[r.Identity] {
			repeated++
			continue
		}
		if r.Identity != 0 {
			s.counted[r.Identity] = true
		}
		at, there := s.at[t.ID]
		if !there {
			at = len(s.tasks)
			s.at[t.ID] = at
			s.tasks, s.ids = append(s.tasks, sum{}), append(s.ids, t.ID)
		}
		s.tasks[at].add(r)
		s.graded = s.graded || r.Reward > 0 && r.Reward < 1
	}
	return repeated
}

func (s *sum) add(r logs.Rollout) {
	s.rollouts++
	if r.Reward == 1 {
		s.passes++
	}
	s.rewards += r.Reward
	s.squares += r.Reward * r.Reward
	s.prompts, s.completions = plus(s.prompts, r.PromptTokens), plus(s.completions, r.CompletionTokens)
}

// plus adds counts of which −1 is unknown.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// profile is the sums as a profile.
func (s *sums) profile() (p profile.Profile) {
	p.TaskIDs = s.ids
	var prompts, completions []int64
	known := [2]bool{}
	for _, t := range s.tasks {
		p.PassCounts, p.Tested = append(p.PassCounts, t.passes), append(p.Tested, t.rollouts)
		prompts, completions = append(prompts, t.prompts), append(completions, t.completions)
		known = [2]bool{known[0] || t.prompts >= 0, known[1] || t.completions >= 0}
		if s.graded {
			p.Rewards, p.Squares = append(p.Rewards, t.rewards), append(p.Squares, t.squares)
		}
	}
	if known[0] {
		p.PromptTokens = prompts
	}
	if known[1] {
		p.CompletionTokens = completions
	}
	if equal(p.Tested) {
		p.TestedK, p.Tested = p.Tested[0], nil
	}
	return p
}

func equal(counts []int) bool {
	for _, n := range counts {
		if n != counts[0] {
			return false
		}
	}
	return len(counts) > 0
}

// counted is how many rollouts a log has, and their tokens, −1 where one lacks them.
func counted(l *logs.Log) (rollouts int, prompts, completions int64) {
	for _, t := range l.Tasks {
		for _, r := range t.Rollouts {
			rollouts++
			prompts, completions = plus(prompts, r.PromptTokens), plus(completions, r.CompletionTokens)
		}
	}
	return rollouts, prompts, completions
}
