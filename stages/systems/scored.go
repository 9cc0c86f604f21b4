package systems

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strconv"

	"speceval/internal/benchmark/sampler"
	"speceval/internal/policy/seed"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/router"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/profile"
	"speceval/method/controller"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Scored is runs under real rewards: what scorers say of the responses, under
// fresh seeds in every run. What such runs estimate spreads as evaluations do.
type Scored struct {
	Repeats []int // runs of each strategy at each of the budgets; 0: none there

	// Scorer is the scorers of a pair's tasks, for as long as a unit needs them.
	Scorer func(ctx context.Context, p pair.Pair) (Scorer, error)
	// Rules names what verdicts on a pair depend on besides the answers: the
	// versions of its scorers.
	Rules func(p pair.Pair) map[string]string
	// Answers are the right answers and tests of a benchmark.
	Answers map[string]dag.Source
}

// Scorer scores responses of one pair. Score is called by many goroutines at a
// time; its error says why there is no verdict.
type Scorer struct {
	Score   func(ctx context.Context, task int, c vllm.Completion) (correct bool, err error)
	Release func()
}

// scoredRepeats is how often each strategy is run under real rewards.
func (s *setting) scoredRepeats() int {
	if s.Measured == nil || s.Measured.Scored == nil {
		return 0
	}
	return s.Measured.Scored.Repeats[s.index]
}

// scoredUnit executes the setting on servers under real rewards: the strategies of Section 4.3
// in turn, every run under seeds of its own.
func (s *setting) scoredUnit() dag.Unit {
	u := s.serverUnit(scoredKind, func(job *dag.Job, p *plan) (scored []execution, err error) {
		all, err := s.executions(job, p, s.scoredRepeats())
		for _, e := range all {
			if !e.strategy.Equivalent {
				e.rewards, e.replicate = measurement.Scored, 1+len(scored)
				scored = append(scored, e)
			}
		}
		return scored, err
	})
	u.Config["systems.scored_repeats"] = strconv.Itoa(s.scoredRepeats())
	maps.Copy(u.Config, s.Measured.Scored.Rules(s.pair))
	u.Sources = append(u.Sources, s.Measured.Scored.Answers[s.pair.Benchmark])
	return u
}

// Drawn is where the lengths of answers come from if not from the models.
type Drawn struct {
	// Lengths gives every rollout of a profile the tokens of its prompt and of its
	// answer, from a branch of the seed tree and the rollout's ID alone.
	Lengths func(p profile.Profile, branch seed.Seed) (Lengths, error)
	// Prompt makes a user's turn for a task, where there is no task file, that makes a
	// prompt of the given tokens.
	Prompt func(model string, task, tokens int) string
	Source dag.Source // what the lengths follow from
}

// Lengths are the tokens of rollouts.
type Lengths func(id controller.ID) (prompt, tokens int)

// drawnKey is the key of the configuration that asks for drawn lengths. Without
// it runs depend on no such key, and stay fresh.
const drawnKey = "systems.lengths"

// drawn are the tokens of the run's rollouts; nil if the models end their
// answers. Strategies of a setting share them, as they do seeds: but for the
// equivalent budget, which is a setting of its own.
func (e execution) drawn() (Lengths, error) {
	if e.Measured.Drawn == nil {
		return nil, nil
	}
	branch := e.seed().Child("lengths").Index(e.budget)
	if e.strategy.Equivalent {
		branch = branch.Child(e.strategy.Name)
	}
	return e.Measured.Drawn.Lengths(e.profile, branch)
}

// asks reports whether the prompts come from a task file.
func (s *setting) asks() bool {
	_, there := s.Measured.Tasks[s.pair.Benchmark]
	return there
}

// checkLengths holds the requests of a run to what was drawn for them: a server
// that does otherwise has been timed on something else.
func (o outcome) checkLengths(lengths Lengths) error {
	if lengths == nil {
		return nil
	}
	for _, q := range o.record.Requests {
		if q.State != router.Accepted && q.State != router.Discarded {
			continue
		}
		prompt, tokens := lengths(q.ID)
		if q.Generated != tokens {
			return fmt.Errorf("%s has %d tokens, and %d were drawn: the server must honour ignore_eos and max_tokens", q.ID, q.Generated, tokens)
		}
		if !o.asks() && q.Prompt != prompt {
			return fmt.Errorf("the prompt of %s has %d tokens, and %d were drawn: serve the model folders that weights = \"dummy\" makes, whose tokenizer is byte-level, or give %s a task file", q.ID, q.Prompt, prompt, o.pair.Benchmark)
		}
	}
	return nil
}

// noteDrawn says in a manifest that lengths were drawn.
func (s *setting) noteDrawn(job *dag.Job) {
	if s.Measured.Drawn == nil {
		return
	}
	prompts := "a task file"
	if !s.asks() {
		prompts = "filler of the length model's tokens"
	}
	job.Note("systems.lengths = \"drawn\": every answer has the length that the length model draws for its rollout, whatever the model would write; prompts are %s", prompts)
}

// requester makes the request of a rollout: its task, under its seed and
// identity, with an answer of its length if lengths are drawn.
func (e execution) requester(lengths Lengths) func(controller.ID) vllm.Request {
	identities := e.identities()
	return func(id controller.ID) vllm.Request {
		r := e.question(id, lengths)
		r.ID, r.Seed = url.PathEscape(identities.Logical(id)), identities.Seed(id)
		return r
	}
}

// question is the request for a rollout: its task, or filler where there is no task file.
func (e execution) question(id controller.ID, lengths Lengths) (r vllm.Request) {
	prompt, tokens := 0, 0
	if lengths != nil {
		prompt, tokens = lengths(id)
	}
	of := e.Measured.Models[e.pair.Model]
	if e.asks() {
		r = sampler.Asked(of, &e.Measured.Tasks[e.pair.Benchmark].Tasks[id.Task])
	} else {
		r = of.Request("", e.Measured.Drawn.Prompt(e.pair.Model, int(id.Task), prompt))
	}
	if lengths != nil {
		r.MaxTokens, r.IgnoreEOS = tokens, true
	}
	return r
}
