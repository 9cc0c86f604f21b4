package score

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"speceval/internal/rollout"
	"speceval/internal/scorer"
	"speceval/internal/scorer/judge"
)

// Scorers are those of one benchmark's tasks, for responses of one model that
// are scored as they come in, by the same rules as the stage's.
type Scorers struct{ made *scorers }

// Open finds what the scorers need. They must be released.
func (s *Settings) Open(ctx context.Context, benchmark, model string) (*Scorers, error) {
	c := s.find(benchmark, model)
	if c == nil {
		return nil, fmt.Errorf("%s of %s is not among what is scored", model, benchmark)
	}
	made, err := c.scorers(ctx)
	if err != nil {
		return nil, err
	}
	return &Scorers{made}, nil
}

// Rules is what verdicts on a pair depend on besides the answers: the versions of
// the scorers of its tasks, and the keys of the configuration that they read.
func (s *Settings) Rules(benchmark, model string) map[string]string {
	c := s.find(benchmark, model)
	if c == nil {
		return make(map[string]string)
	}
	return c.rules()
}

func (c *corpus) rules() map[string]string {
	rules := make(map[string]string)
	for _, f := range c.families {
		rules["scorer."+f.Name] = c.version(f)
		maps.Copy(rules, c.Config[f.Need])
	}
	return rules
}

// find is the corpus of a benchmark and a model; nil if it is not scored.
func (s *Settings) find(benchmark, model string) *corpus {
	b := slices.IndexFunc(s.Benchmarks, func(b Benchmark) bool { return b.ID == benchmark })
	m := slices.IndexFunc(s.Models, func(m Model) bool { return m.ID == model })
	if b < 0 || m < 0 {
		return nil
	}
	return s.corpus(b, m)
}

// Score scores a response to a task; finish is why it ended, as vLLM names it.
// Many goroutines may call it.
func (s *Scorers) Score(ctx context.Context, task int, text, finish string) (scorer.Verdict, error) {
	v, err := s.made.of(int32(task)).Score(ctx, s.made.corpus.model.response(&rollout.Response{Text: text, FinishReason: finish}))
	if errors.Is(err, judge.ErrUnparsable) {
		return scorer.Verdict{Note: judge.ErrUnparsable.Error()}, nil
	}
	return v, err
}

// Version names the rules that a task's answers are scored by.
func (s *Scorers) Version(task int) string {
	c := s.made.corpus
	return c.version(c.family(c.benchmark.Tasks[task].Scorer))
}

// Release gives back what Open found.
func (s *Scorers) Release() { s.made.close() }
