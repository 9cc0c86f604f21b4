package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"speceval/internal/servers/vllm"
)

// Proofs are short requests, by which a server shows what it does not tell.
const (
	proofBudget = 4  // tokens of thinking,
	proofTokens = 16 // tokens of an answer in all
	proofSlack  = 4  // more tokens, for an opening tag and the forced end of the thinking
	proofSeeds  = 3  // answers that are compared, to see that a server samples
	proofWithin = 2 * time.Minute

	begunTokens     = 4 // of an answer that is begun,
	continuedTokens = 8 // and of the same when it has gone on
)

// prove makes short requests within a limit of time, again as often as requests are.
func (p *Pool) prove(ctx context.Context, requests func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if p.settings.Clock.Sleep(ctx, proofWithin) == nil {
			cancel()
		}
	}()
	for n := 1; ; n++ {
		var e *vllm.Error
		if err = requests(ctx); !errors.As(err, &e) || e.Kind.Permanent() {
			return err
		}
		if n == p.settings.Attempts || p.settings.Clock.Sleep(ctx, max(firstRest, e.Later)) != nil {
			return attempts(n, err)
		}
	}
}

// question is a short request of a model of vLLM.
func (need *Requirement) question(text string, tokens int) vllm.Request {
	return vllm.Request{
		Sampling: vllm.Sampling{Model: need.Model, Temperature: 0.6, TopP: 0.95, MaxTokens: tokens, TemplateArguments: need.Sampling.TemplateArguments},
		Messages: []vllm.Message{{Role: "user", Content: text}}, Seed: 1, TokenIDs: true,
	}
}

// proveBudget asks a question that takes thought, with next to no budget for
// it. A server that does not know the field thinks on.
func (p *Pool) proveBudget(ctx context.Context, c *vllm.Client, end int32) error {
	if end < 0 {
		return fmt.Errorf("%s: a thinking budget needs a model in which </think> is one token", c.URL())
	}
	r := p.requirement.question("Prove that there are infinitely many primes, and that the square root of 2 is irrational.", proofTokens)
	r.ThinkingBudget = proofBudget
	var answer vllm.Completion
	err := p.prove(ctx, func(ctx context.Context) (err error) {
		answer, err = c.Stream(ctx, r, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("a request with a thinking budget: %w: start it with --reasoning-parser, and with VLLM_USE_V2_MODEL_RUNNER=0", err)
	}
	if at := slices.Index(answer.TokenIDs, end); at < 0 || at > proofBudget+proofSlack {
		return fmt.Errorf("%s: ignores thinking_token_budget: a budget of %d tokens, and no </think> among the first %d: "+
			"start vLLM 0.19 or later with --reasoning-parser", c.URL(), proofBudget, proofBudget+proofSlack+1)
	}
	return nil
}

// proveContinuation begins an answer and has it go on from its prefix.
func (p *Pool) proveContinuation(ctx context.Context, c *vllm.Client) error {
	r := p.requirement.question("Count from one to twenty.", begunTokens)
	r.IgnoreEOS = true
	return p.prove(ctx, func(ctx context.Context) error {
		begun, err := c.Stream(ctx, r, nil)
		if err != nil {
			return err
		}
		on := r
		if on.Prefix = begun.Prefix(); on.Prefix == nil {
			return errors.New("it tells no ids of tokens")
		}
		on.Prefix.Finish, on.MaxTokens = "", continuedTokens
		answer, err := c.Stream(ctx, on, nil)
		if err == nil && len(answer.TokenIDs) != continuedTokens {
			err = fmt.Errorf("an answer of %d tokens went on to %d, want %d", begunTokens, len(answer.TokenIDs), continuedTokens)
		}
		return err
	})
}

// proveSampling asks a plain server for a few tokens as requests will ask it: they show
// whether it takes what is sent, which model answers, and what it counts. same
// says that it gave one answer to all seeds.
func (p *Pool) proveSampling(ctx context.Context, c *vllm.Client) (answer vllm.Completion, same bool, err error) {
	need := &p.requirement
	r := need.Sampling.Request("", "Write down a random number of ten digits.")
	r.Model, r.MaxTokens = need.Model, proofTokens
	if need.Sampling.TopP == 0 { // nothing is said of sampling
		r.Temperature, r.TopP = 1, 1
	}
	ask := func(ctx context.Context) (err error) {
		answer, err = c.Stream(ctx, r, nil)
		return err
	}
	if err = p.prove(ctx, ask); err != nil {
		return answer, false, fmt.Errorf("a request of %d tokens, to see that it serves %q: %w", proofTokens, need.Model, err)
	}
	first := answer
	same = r.Temperature > 0 && answer.Text+answer.Reasoning != ""
	for r.Seed = 1; same && r.Seed < proofSeeds; r.Seed++ {
		err := ask(ctx)
		if vllm.KindOf(err) == vllm.UnknownEnd {
			return first, false, err
		}
		same = err == nil && answer.Text == first.Text && answer.Reasoning == first.Reasoning
	}
	return first, same, nil
}
