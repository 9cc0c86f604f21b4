package score

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
	"speceval/internal/scoring/judge"
	"speceval/internal/servers/ending"
	"speceval/internal/store/profile"
	"speceval/internal/store/rollout"
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
	maps.DeleteFunc(s.made, func(task int32, _ scoring.Scorer) bool { return task < before })
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

// check is an error if a response is not the one at a place of the corpus.
func (c *scoredRollouts) check(r *rollout.Response, place int) error {
	name := func(id rollout.ID, task, benchmark, model string) string {
		return fmt.Sprintf("%v (%s of %s by %s)", id, task, benchmark, model)
	}
	is, wanted := name(r.ID(), r.TaskID, r.Benchmark, r.Model), "the end"
	if place < c.total() {
		task := place / c.Rollouts
		wanted = name(rollout.ID{Task: int32(task), Rollout: int32(place % c.Rollouts)}, c.benchmark.Tasks[task].ID, c.benchmark.ID, c.model.ID)
	}
	if is != wanted {
		return fmt.Errorf("%s is where %s should be; run `speceval run generate` to sample what is missing", is, wanted)
	}
	return nil
}

// profile is the profile of the passes of all tasks.
func (c *scoredRollouts) profile(passed []int) profile.Profile {
	p := profile.Profile{Benchmark: c.benchmark.ID, Model: c.model.ID, PassCounts: passed, TestedK: c.Rollouts}
	for _, task := range c.benchmark.Tasks {
		p.TaskIDs = append(p.TaskIDs, task.ID)
	}
	var versions []string
	for _, f := range c.families {
		versions = append(versions, c.version(f))
	}
	p.Scorer = strings.Join(versions, "+")
	return p
}
