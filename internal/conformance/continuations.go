package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"speceval/internal/vllm"
)

// continuations are what our client builds on where it has a lost answer go on
// from its prefix.
func continuations() []Check {
	return []Check{
		{"continuation/ids", "a completion reads the ids of its prompt as they are, and tells them", continuedIDs},
		{"continuation/greedy", "an answer that goes on is, token by token, the whole one", continuedGreedily},
		{"continuation/budget", "a budget counts the thinking before the cut", continuedBudget},
		{"continuation/no budget left", "a budget of 0 ends the thinking at once", continuedWithoutBudget},
		{"continuation/seed", "a seed counts, and another gives another rest", continuedSeeds},
		{"continuation/half a character", "the first whole one after a half comes with the text of the prompt", continuedHalf},
		{"continuation/after the end", "a turn that has ended goes on if it is asked to", continuedAfterEnd},
		{"continuation/too long", "what there is counts against the context", continuedTooLong},
	}
}

const completionPath = "/v1/completions"

// continuedAt are the tokens after which answers are cut.
var continuedAt = []int{1, 2, 3, 5, 8, 13, 21, 30, 39}

// client is our own client of the target.
func (s *session) client() (*vllm.Client, error) {
	return vllm.New(s.URL, vllm.Options{Key: vllm.Key(s.Key), Clock: s.Clock})
}

// question is a request for 40 tokens, the likeliest ones.
func (s *session) question(set func(*vllm.Request)) vllm.Request {
	r := vllm.Request{
		Model: s.Model, Messages: []vllm.Message{{Role: "user", Content: "Was ist 2+3?"}},
		Seed: 1, TopP: 1, MaxTokens: 40, IgnoreEOS: true, TokenIDs: true,
	}
	set(&r)
	return r
}

// cutAt asks for n tokens of an answer, and has it go on.
func cutAt(ctx context.Context, c *vllm.Client, r vllm.Request, n int) (vllm.Completion, error) {
	begun := r
	begun.MaxTokens = n
	got, err := c.Stream(ctx, begun, nil)
	if err != nil {
		return got, err
	}
	if r.Prefix = got.Prefix(); r.Prefix == nil || len(r.Prefix.IDs) != n {
		return got, fmt.Errorf("%d ids of %d tokens", len(got.TokenIDs), n)
	}
	r.Prefix.Finish = ""
	return c.Stream(ctx, r, nil)
}

// differs says in what a continued answer is not the whole one; "" if in nothing.
func differs(got, want *vllm.Completion) string {
	switch {
	case !slices.Equal(got.TokenIDs, want.TokenIDs):
		return fmt.Sprintf("tokens %v, want %v", got.TokenIDs, want.TokenIDs)
	case got.Text != want.Text || got.Reasoning != want.Reasoning:
		return fmt.Sprintf("text %q after %q, want %q after %q", got.Text, got.Reasoning, want.Text, want.Reasoning)
	case got.Finish != want.Finish || got.Usage != want.Usage:
		return fmt.Sprintf("%s with %+v, want %s with %+v", got.Finish, got.Usage, want.Finish, want.Usage)
	}
	return ""
}

// continued compares an answer with what becomes of it after every cut.
func (s *session) continued(ctx context.Context, l *lines, set func(*vllm.Request)) (whole vllm.Completion, err error) {
	c, err := s.client()
	if err != nil {
		return whole, err
	}
	defer c.Close()
	r := s.question(set)
	if whole, err = c.Stream(ctx, r, nil); err != nil {
		return whole, err
	}
	for _, n := range continuedAt {
		got, err := cutAt(ctx, c, r, n)
		if err != nil {
			return whole, fmt.Errorf("after %d tokens: %w", n, err)
		}
		if difference := differs(&got, &whole); difference != "" {
			return whole, fmt.Errorf("after %d tokens: %s", n, difference)
		}
	}
	l.add("%d tokens, cut at %v: the same; finish_reason %s", len(whole.TokenIDs), continuedAt, whole.Finish)
	return whole, nil
}

func continuedGreedily(ctx context.Context, s *session) (Observation, error) {
	var l lines
	_, err := s.continued(ctx, &l, func(*vllm.Request) {})
	return l.seen(), err
}

func continuedBudget(ctx context.Context, s *session) (Observation, error) {
	end, err := s.thinkEnd(ctx)
	if err != nil {
		return "", err
	}
	var l lines
	for _, budget := range []int{1, 8, 22} {
		whole, err := s.continued(ctx, &l, func(r *vllm.Request) { r.ThinkingBudget = budget })
		if err != nil {
			return "", fmt.Errorf("budget %d: %w", budget, err)
		}
		l.add("budget %d: </think> is token %d", budget, slices.Index(whole.TokenIDs, int32(end))+1)
	}
	return l.seen(), nil
}

// complete asks for a completion of ids by the bare protocol, in chunks.
func (s *session) complete(ctx context.Context, ids []int32, set fields) (text string, tokens, prompt []int, u *usage, err error) {
	body := s.chat(set)
	delete(body, "messages")
	body["prompt"], body["return_token_ids"], body["stream"], body["stream_options"] = ids, true, true, everyUsage
	request, err := s.request(ctx, http.MethodPost, completionPath, body)
	if err != nil {
		return "", nil, nil, nil, err
	}
	got, err := s.send(request)
	if err != nil {
		return "", nil, nil, nil, err
	}
	if got.status != http.StatusOK {
		return "", nil, nil, nil, fmt.Errorf("answers %d: %s", got.status, got.body)
	}
	for line := range strings.Lines(string(got.body)) {
		data, is := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !is || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Text   string
				Tokens []int `json:"token_ids"`
				Prompt []int `json:"prompt_token_ids"`
			}
			Usage *usage
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return "", nil, nil, nil, fmt.Errorf("%w: %s", err, data)
		}
		u = chunk.Usage
		for _, c := range chunk.Choices {
			if c.Prompt != nil && len(tokens) > 0 {
				return "", nil, nil, nil, errors.New("tells the prompt in a later chunk")
			}
			text, tokens, prompt = text+c.Text, append(tokens, c.Tokens...), append(prompt, c.Prompt...)
		}
	}
	return text, tokens, prompt, u, nil
}

// rendered are the ids of the prompt of a chat.
func (s *session) rendered(ctx context.Context) ([]int32, error) {
	a, _, err := s.ask(ctx, fields{"max_tokens": 1, "return_token_ids": true})
	if err != nil {
		return nil, err
	}
	ids := make([]int32, len(a.Prompt))
	for i, id := range a.Prompt {
		ids[i] = int32(id)
	}
	return ids, nil
}

func continuedIDs(ctx context.Context, s *session) (Observation, error) {
	ids, err := s.rendered(ctx)
	if err != nil {
		return "", err
	}
	ids = append(ids, 'H', 'i')
	_, tokens, prompt, u, err := s.complete(ctx, ids, fields{"max_tokens": 5})
	if err != nil {
		return "", err
	}
	same := len(prompt) == len(ids)
	for i := range prompt {
		same = same && int32(prompt[i]) == ids[i]
	}
	var l lines
	l.add("the first chunk tells the ids that were sent: %t; prompt_tokens is their number: %t; %d ids of %d tokens",
		same, u.Prompt == len(ids), len(tokens), u.Completion)
	return l.seen(), nil
}

func continuedWithoutBudget(ctx context.Context, s *session) (Observation, error) {
	end, err := s.thinkEnd(ctx)
	if err != nil {
		return "", err
	}
	ids, err := s.rendered(ctx)
	if err != nil {
		return "", err
	}
	_, tokens, _, _, err := s.complete(ctx, append(ids, 'H', 'i'), fields{"max_tokens": 5, "thinking_token_budget": 0})
	var l lines
	l.add("</think> is token %d", slices.Index(tokens, end)+1)
	return l.seen(), err
}

func continuedSeeds(ctx context.Context, s *session) (Observation, error) {
	ids, err := s.rendered(ctx)
	if err != nil {
		return "", err
	}
	var rests [3][]int
	for i, seed := range []int{5, 5, 6} {
		if _, rests[i], _, _, err = s.complete(ctx, ids, fields{"max_tokens": 30, "seed": seed}); err != nil {
			return "", err
		}
	}
	var l lines
	l.add("the same seed, the same rest: %t; another seed: %t", slices.Equal(rests[0], rests[1]), slices.Equal(rests[0], rests[2]))
	return l.seen(), nil
}

// continuedHalf has an answer go on that ends within a character, which may
// become another one than 你 or none: its bytes are e4 bd a0.
func continuedHalf(ctx context.Context, s *session) (Observation, error) {
	ids, err := s.rendered(ctx)
	if err != nil {
		return "", err
	}
	whole, half := append(slices.Clone(ids), 'H', 0xe4, 0xbd, 0xa0), append(slices.Clone(ids), 'H', 0xe4, 0xbd)
	var l lines
	for _, prompt := range [][]int32{whole, half} {
		text, _, _, _, err := s.complete(ctx, prompt, fields{"max_tokens": 60, "temperature": 1, "top_p": 1})
		if err != nil {
			return "", err
		}
		l.add("after %d bytes of 3 the text holds the prompt's: %t", len(prompt)-len(ids)-1, strings.Contains(text, "assistant\n"))
	}
	got, err := s.post(ctx, "/detokenize", fields{"model": s.Model, "tokens": []int{'H', 0xe4, 0xbd, 258, 0xff, 0xfe, 'a', 0xe4}})
	l.add("/detokenize: %s", got.body)
	return l.seen(), err
}

func continuedAfterEnd(ctx context.Context, s *session) (Observation, error) {
	ids, err := s.rendered(ctx)
	if err != nil {
		return "", err
	}
	_, tokens, _, _, err := s.complete(ctx, append(ids, 'H', 258), fields{"max_tokens": 3})
	var l lines
	l.add("%d tokens follow <|im_end|>", len(tokens))
	return l.seen(), err
}

func continuedTooLong(ctx context.Context, s *session) (Observation, error) {
	body := s.chat(fields{"max_tokens": 16})
	delete(body, "messages")
	body["prompt"] = slices.Repeat([]int{'a'}, s.Context-15)
	got, err := s.post(ctx, completionPath, body)
	if err != nil {
		return "", err
	}
	return Observation(refusal(got)), nil
}
