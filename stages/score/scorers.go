package score

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"speceval/internal/ending"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
	"speceval/internal/scoring/judge"
)

// version names the rules of a family, in scores and profiles.
func (c *scoredRollouts) version(f family.Family) string {
	switch {
	case f.Need == family.Judge && f.Graded:
		return f.Version + ":" + c.GradingName
	case f.Need == family.Judge:
		return f.Version + ":" + c.JudgeName
	case f.Need == family.Grader:
		return f.Version + ":" + c.benchmark.GraderName
	}
	return f.Version
}

// Scorers are the scorers of one benchmark's tasks, for the responses of one model. They are
// made when they are needed, and forgotten when their task is done. The tests of programs may
// be large: they are loaded when a program is to be run.
type Scorers struct {
	rollouts  *scoredRollouts
	resources family.Resources
	atATime   int      // responses to be scored at a time
	release   []func() // give servers back, and close the grader

	mu   sync.Mutex
	made map[int32]scoring.Scorer // by task index
}

// scorers finds what the scorers of the tasks need.
func (c *scoredRollouts) scorers(ctx context.Context) (_ *Scorers, err error) {
	if c.fault != nil {
		return nil, c.fault
	}
	s := &Scorers{rollouts: c, atATime: c.AtATime, made: make(map[int32]scoring.Scorer)}
	s.resources.Tests = c.benchmark.Tests
	if slices.Contains(c.needs(), family.Sandbox) {
		if s.resources.Runner, err = c.Runner(ctx); err != nil {
			return nil, err
		}
	}
	if slices.Contains(c.needs(), family.Judge) {
		judge, err := c.Judge(ctx)
		if err != nil {
			return nil, err
		}
		s.resources.Judge, s.atATime = judge.Settings, s.atATime+judge.Places
		s.release = append(s.release, judge.Release)
	}
	if slices.Contains(c.needs(), family.Grader) {
		grader, err := c.benchmark.Grader(ctx)
		if err != nil {
			s.Release()
			return nil, err
		}
		s.resources.Grader, s.atATime = grader, max(s.atATime, grader.Places())
		s.release = append(s.release, grader.Close)
	}
	return s, nil
}

// of is the scorer of a task.
func (s *Scorers) of(task int32) scoring.Scorer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[task] == nil {
		t := s.rollouts.benchmark.Tasks[task]
		s.made[task] = s.rollouts.family(t.Scorer).New(t, s.resources)
	}
	return s.made[task]
}

// done forgets the scorers of tasks before this one, and their tests.
func (s *Scorers) done(before int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for task := range s.made {
		if task < before {
			delete(s.made, task)
		}
	}
}

// Release forgets all scorers, and gives servers and the grader back.
func (s *Scorers) Release() {
	s.done(math.MaxInt32)
	for _, give := range slices.Backward(s.release) {
		give()
	}
}

// Score scores a response to a task; finish is why it ended, in the server's word.
// Many goroutines may call it.
func (s *Scorers) Score(ctx context.Context, task int, text, finish string) (scoring.Verdict, error) {
	part, err := s.rollouts.model.partOf(&rollout.Response{Text: text, FinishReason: finish})
	if err != nil {
		return scoring.Verdict{}, err
	}
	v, err := s.of(int32(task)).Score(ctx, part.Response)
	if errors.Is(err, judge.ErrUnparsable) {
		return scoring.Verdict{Note: judge.ErrUnparsable.Error()}, nil
	}
	return v, err
}

// Version names the rules that a task's answers are scored by.
func (s *Scorers) Version(task int) string {
	c := s.rollouts
	return c.version(c.family(c.benchmark.Tasks[task].Scorer))
}

// part is the part of a rollout that is scored: what follows the thinking. It is cut if the
// model did not finish it, or did not close its thinking.
type part struct {
	scoring.Response
	end    ending.Ending
	closed bool
}

// partOf is the part of a rollout that is scored. The error names an end reason by which it
// is no rollout.
func (m *Model) partOf(r *rollout.Response) (part, error) {
	end := ending.Of(r.FinishReason)
	if !end.Answers() {
		return part{}, fmt.Errorf("finish_reason %q is in no table of end reasons, so the answer may be whole or cut: sample it again, or ask for the word to be added to speceval", r.FinishReason)
	}
	answer, closed := ending.AfterThinking(r.Text, end, m.Unparted)
	return part{scoring.Response{Text: answer, Cut: end != ending.Finished || !closed}, end, closed}, nil
}

// verdictCounts counts verdicts of the rollouts of one model on one benchmark, by task.
type verdictCounts struct {
	*scoredRollouts
	scored []int // rollouts, by task
	passed []int // of these
}

func newVerdictCounts(c *scoredRollouts) *verdictCounts {
	n := len(c.benchmark.Tasks)
	return &verdictCounts{scoredRollouts: c, scored: make([]int, n), passed: make([]int, n)}
}

// check says what is wrong with a response, which then cannot be of this corpus.
func (c *scoredRollouts) check(r *rollout.Response) error {
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
func (t *verdictCounts) count(scores iter.Seq2[*rollout.Score, error]) iter.Seq2[*rollout.Score, error] {
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
func (t *verdictCounts) short() error {
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
func (t *verdictCounts) profile() profile.Profile {
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
