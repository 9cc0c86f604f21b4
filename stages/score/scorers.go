package score

import (
	"context"
	"math"
	"strings"
	"sync"

	"speceval/internal/benchmark"
	"speceval/internal/rollout"
	"speceval/internal/scorer"
	"speceval/internal/scorer/choice"
	"speceval/internal/scorer/code"
	"speceval/internal/scorer/judge"
	"speceval/internal/scorer/maths"
)

// Families of scorers, as tasks name them.
const (
	mathFamily   = "math"
	choiceFamily = "choice"
	judgeFamily  = "judge"
	codeFamily   = "code"
)

// version names the rules of a family, in scores and profiles.
func (s *Settings) version(family string) string {
	switch family {
	case mathFamily:
		return maths.Version
	case choiceFamily:
		return choice.Version
	case judgeFamily:
		return judge.Version + ":" + s.JudgeName
	}
	return code.Version
}

// slow reports whether verdicts of a family take so long that each is stored
// when it is reached.
func slow(family string) bool { return family == judgeFamily || family == codeFamily }

// scorers are those of a corpus's tasks. They are made when they are needed, and
// forgotten when their task is done. The tests of programs may be large: they are
// loaded when a program is to be run.
type scorers struct {
	corpus  *corpus
	judge   Judge
	runner  *code.Runner
	atATime int    // responses to be scored at a time
	release func() // gives servers back

	mu   sync.Mutex
	made map[int32]scorer.Scorer // by task index
}

// scorers finds what the scorers of the tasks need.
func (c *corpus) scorers(ctx context.Context) (_ *scorers, err error) {
	s := &scorers{corpus: c, atATime: c.AtATime, release: func() {}, made: make(map[int32]scorer.Scorer)}
	for _, family := range c.families() {
		switch family {
		case judgeFamily:
			if s.judge, err = c.Judge(ctx); err != nil {
				return nil, err
			}
			s.atATime, s.release = s.atATime+s.judge.Places, s.judge.Release
		case codeFamily:
			if s.runner, err = c.Runner(ctx); err != nil {
				s.release()
				return nil, err
			}
		}
	}
	return s, nil
}

// of is the scorer of a task.
func (s *scorers) of(task int32) scorer.Scorer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[task] == nil {
		s.made[task] = s.make(s.corpus.benchmark.Tasks[task])
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
		if program, is := one.(*code.Scorer); is {
			program.Drop()
		}
		delete(s.made, task)
	}
}

// close forgets all scorers, and gives servers back.
func (s *scorers) close() {
	s.done(math.MaxInt32)
	s.release()
}

// make makes the scorer of a task.
func (s *scorers) make(t benchmark.Task) scorer.Scorer {
	switch t.Scorer {
	case mathFamily:
		return maths.New(t.Answer)
	case choiceFamily:
		return choice.New(t.Answer[0], t.Options, t.OptionTexts)
	case judgeFamily:
		return judge.New(s.judge.Settings, t.Prompt, t.Answer)
	}
	return code.NewFrom(s.runner, func() ([]benchmark.Test, error) { return s.corpus.benchmark.Tests(t) })
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
