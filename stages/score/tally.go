package score

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"speceval/internal/profile"
	"speceval/internal/rollout"
)

// tally counts the verdicts of a corpus.
type tally struct {
	*corpus
	scored []int // rollouts, by task
	passed []int // of these
}

func newTally(c *corpus) *tally {
	n := len(c.benchmark.Tasks)
	return &tally{corpus: c, scored: make([]int, n), passed: make([]int, n)}
}

// check says what is wrong with a response, which then cannot be of this corpus.
func (c *corpus) check(r *rollout.Response) error {
	switch i := int(r.TaskIndex); {
	case r.Benchmark != c.benchmark.ID || r.Model != c.model.ID:
		return fmt.Errorf("a rollout of %s by %s is among those of %s by %s", r.Benchmark, r.Model, c.benchmark.ID, c.model.ID)
	case i < 0 || i >= len(c.benchmark.Tasks):
		return fmt.Errorf("there is a rollout of task %d (%s), but %s has %d tasks", i, r.TaskID, c.benchmark.ID, len(c.benchmark.Tasks))
	case r.TaskID != c.benchmark.Tasks[i].ID:
		return fmt.Errorf("there is a rollout of task %s, but task %d of %s is %s", r.TaskID, i, c.benchmark.ID, c.benchmark.Tasks[i].ID)
	case r.Rollout < 0 || int(r.Rollout) >= c.Rollouts:
		return fmt.Errorf("there is a rollout %d of task %s, of which there should be %d", r.Rollout, r.TaskID, c.Rollouts)
	}
	return nil
}

// count passes scores on and counts them.
func (t *tally) count(scores iter.Seq2[*rollout.Score, error]) iter.Seq2[*rollout.Score, error] {
	return func(yield func(*rollout.Score, error) bool) {
		for s, err := range scores {
			if err == nil {
				t.scored[s.TaskIndex]++
				if s.Correct {
					t.passed[s.TaskIndex]++
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// shownTasks bounds the tasks that an error names.
const shownTasks = 10

// short is an error that names the tasks with fewer rollouts than there should
// be.
func (t *tally) short() error {
	var short []string
	for i, n := range t.scored {
		if n < t.Rollouts {
			short = append(short, fmt.Sprintf("%s has %d", t.benchmark.Tasks[i].ID, n))
		}
	}
	if len(short) == 0 {
		return nil
	}
	more := ""
	if n := len(short) - shownTasks; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%d of %d tasks have fewer than %d rollouts: %s%s; run `speceval run generate` to sample the missing ones",
		len(short), len(t.scored), t.Rollouts, strings.Join(short[:min(len(short), shownTasks)], ", "), more)
}

// profile is the profile of all that was counted.
func (t *tally) profile() profile.Profile {
	p := profile.Profile{Benchmark: t.benchmark.ID, Model: t.model.ID, PassCounts: slices.Clone(t.passed), TestedK: t.Rollouts}
	for _, task := range t.benchmark.Tasks {
		p.TaskIDs = append(p.TaskIDs, task.ID)
	}
	var versions []string
	for _, f := range t.families {
		versions = append(versions, t.version(f))
	}
	p.Scorer = strings.Join(versions, "+")
	return p
}
