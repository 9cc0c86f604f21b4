package score

import (
	"cmp"
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
	"speceval/internal/store/rollout"
)

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

// Open finds the scorers of responses that are scored as they come in, by the same rules as
// the stage's, and what they need. They must be released.
func (s *Settings) Open(ctx context.Context, benchmark, model string) (*Scorers, error) {
	c := s.find(benchmark, model)
	if c == nil {
		return nil, fmt.Errorf("%s of %s is not among what is scored", model, benchmark)
	}
	return c.scorers(ctx)
}

// scorers finds what the scorers of the tasks need.
func (c *scoredRollouts) scorers(ctx context.Context) (_ *Scorers, err error) {
	if _, err := c.benchmark.families(); err != nil {
		return nil, err
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
		s.made[task] = familyOf(t).New(t, s.resources)
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

// Score scores a response, whose task is given by its index alone. One on which the judge gives
// no verdict is wrong. Many goroutines may call it.
func (s *Scorers) Score(ctx context.Context, r *rollout.Response) (*rollout.Score, error) {
	part, err := s.rollouts.model.partOf(r)
	if err != nil {
		return nil, err
	}
	score, err := s.score(ctx, r, part)
	if errors.Is(err, judge.ErrUnparsable) {
		err = nil
	}
	return score, err
}

// score does so for the part that is scored. With [judge.ErrUnparsable] there is a score as well.
func (s *Scorers) score(ctx context.Context, r *rollout.Response, part part) (*rollout.Score, error) {
	c := s.rollouts
	task := &c.benchmark.Tasks[r.TaskIndex]
	v, fault := s.of(r.TaskIndex).Score(ctx, part.Response)
	if errors.Is(fault, judge.ErrUnparsable) {
		v = scoring.Verdict{Note: judge.ErrUnparsable.Error()}
	} else if fault != nil {
		return nil, fault
	}
	score := &rollout.Score{
		Benchmark: c.benchmark.ID, Model: c.model.ID, TaskIndex: r.TaskIndex, TaskID: task.ID, Rollout: r.Rollout,
		// As copies: a piece of a response would keep all of it in memory.
		Answer: strings.Clone(v.Answer), Scorer: c.version(familyOf(*task)), Note: strings.Clone(v.Note), Metadata: task.Metadata,
	}
	return score, cmp.Or(score.Grade(v.Reward), fault)
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
