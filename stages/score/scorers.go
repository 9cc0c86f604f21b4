package score

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"speceval/internal/rollout"
	"speceval/internal/scorer"
	"speceval/internal/scorer/family"
)

// version names the rules of a family, in scores and profiles.
func (c *corpus) version(f family.Family) string {
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

// scorers are those of a corpus's tasks. They are made when they are needed, and
// forgotten when their task is done. The tests of programs may be large: they are
// loaded when a program is to be run.
type scorers struct {
	corpus    *corpus
	resources family.Resources
	atATime   int    // responses to be scored at a time
	release   func() // gives servers back, and closes the grader

	mu   sync.Mutex
	made map[int32]scorer.Scorer // by task index
}

// scorers finds what the scorers of the tasks need.
func (c *corpus) scorers(ctx context.Context) (_ *scorers, err error) {
	if c.fault != nil {
		return nil, c.fault
	}
	s := &scorers{corpus: c, atATime: c.AtATime, release: func() {}, made: make(map[int32]scorer.Scorer)}
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
		s.resources.Judge, s.release, s.atATime = judge.Settings, judge.Release, s.atATime+judge.Places
	}
	if slices.Contains(c.needs(), family.Grader) {
		grader, err := c.benchmark.Grader(ctx)
		if err != nil {
			s.release()
			return nil, err
		}
		judged := s.release
		s.resources.Grader, s.atATime = grader, max(s.atATime, grader.Places())
		s.release = func() {
			grader.Close()
			judged()
		}
	}
	return s, nil
}

// of is the scorer of a task.
func (s *scorers) of(task int32) scorer.Scorer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[task] == nil {
		t := s.corpus.benchmark.Tasks[task]
		s.made[task] = s.corpus.family(t.Scorer).New(t, s.resources)
	}
	return s.made[task]
}

// done forgets the scorers of tasks before this one, and their tests.
func (s *scorers) done(before int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for task, one := range s.made {
		if task >= before {
			continue
		}
		if held, is := one.(interface{ Drop() }); is {
			held.Drop()
		}
		delete(s.made, task)
	}
}

// close forgets all scorers, and gives servers and the grader back.
func (s *scorers) close() {
	s.done(math.MaxInt32)
	s.release()
}

// thinkEnd ends the thinking of a model.
const thinkEnd = "</think>"

// response is what is scored of a rollout: what follows the thinking. There is
// nothing if the thinking never ended.
func (m *Model) response(r *rollout.Response) scorer.Response {
	text, cut := r.Text, r.FinishReason != "stop"
	if strings.Contains(text, thinkEnd) { // which is faster than LastIndex
		text = text[strings.LastIndex(text, thinkEnd)+len(thinkEnd):]
	} else if m.Unparted {
		text, cut = "", true
	}
	return scorer.Response{Text: text, Cut: cut}
}
