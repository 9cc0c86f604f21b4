package servers_test

import (
	"slices"
	"strings"

	"speceval/internal/servers/vllm"
)

// ofContinuations are behaviours by which our client continues a lost answer from its prefix.
var ofContinuations = []behaviour{
	{"continuation/ids", "a completion reads the ids of its prompt as they are, and tells them", func(s *session) {
		ids := s.rendered('H', 'i')
		got := s.complete(ids, fields{"max_tokens": 5})
		s.saw("the first chunk tells the ids that were sent: %t; prompt_tokens is their number: %t; %d ids of %d tokens",
			slices.Equal(got.prompt, ids), got.usage.Prompt == len(ids), len(got.tokens), got.usage.Completion)
	}},
	{"continuation/greedy", "an answer that goes on is, token by token, the whole one", func(s *session) {
		s.continued(0)
	}},
	{"continuation/budget", "a budget counts the thinking before the cut", thinker(func(s *session, end int) {
		for _, budget := range []int{1, 8, 22} {
			whole := s.continued(budget)
			s.saw("budget %d: </think> is token %d", budget, slices.Index(whole.TokenIDs, int32(end))+1)
		}
	})},
	{"continuation/no budget left", "a budget of 0 ends the thinking at once", thinker(func(s *session, end int) {
		got := s.complete(s.rendered('H', 'i'), fields{"max_tokens": 5, "thinking_token_budget": 0})
		s.saw("</think> is token %d", slices.Index(got.tokens, end)+1)
	})},
	{"continuation/seed", "a seed counts, and another gives another rest", func(s *session) {
		ids := s.rendered()
		var rests [3][]int
		for i, seed := range []int{5, 5, 6} {
			rests[i] = s.complete(ids, fields{"max_tokens": 30, "seed": seed}).tokens
		}
		s.saw("the same seed, the same rest: %t; another seed: %t", slices.Equal(rests[0], rests[1]), slices.Equal(rests[0], rests[2]))
	}},
	// The answer may become another character than 你 or none: its bytes are e4 bd a0.
	{"continuation/half a character", "the first whole one after a half comes with the text of the prompt", func(s *session) {
		for _, begun := range [][]int{{'H', 0xe4, 0xbd, 0xa0}, {'H', 0xe4, 0xbd}} {
			got := s.complete(s.rendered(begun...), fields{"max_tokens": 60, "temperature": 1, "top_p": 1})
			s.saw("after %d bytes of 3 the text holds the prompt's: %t", len(begun)-1, strings.Contains(got.text, "assistant\n"))
		}
		got := s.post("/detokenize", fields{"model": s.model, "tokens": []int{'H', 0xe4, 0xbd, 258, 0xff, 0xfe, 'a', 0xe4}})
		s.saw("/detokenize: %s", got.body)
	}},
	{"continuation/after the end", "a turn that has ended goes on if it is asked to", func(s *session) {
		got := s.complete(s.rendered('H', 258), fields{"max_tokens": 3})
		s.saw("%d tokens follow <|im_end|>", len(got.tokens))
	}},
}

// cuts are the tokens after which answers are cut.
var cuts = []int{1, 2, 3, 5, 8, 13, 21, 30, 39}

// continued compares the likeliest answer of 40 tokens with what becomes of it after every
// cut, by our own client. Models without weights write broken characters, which ones depends
// on the processor; where an answer that has some cannot go on, it is cut a token later.
func (s *session) continued(budget int) vllm.Completion {
	s.Helper()
	c, err := vllm.New(s.url, vllm.Options{Key: vllm.Key(s.key)})
	s.ok(err)
	defer c.Close()
	r := vllm.Request{
		Sampling: vllm.Sampling{Model: s.model, TopP: 1, MaxTokens: 40, ThinkingBudget: budget},
		Messages: []vllm.Message{{Role: "user", Content: "Was ist 2+3?"}}, Seed: 1, IgnoreEOS: true, TokenIDs: true,
	}
	whole, err := c.Stream(s.ctx, r, nil)
	s.ok(err)
	for _, n := range cuts {
		got, err := s.cut(c, r, n)
		for ; err != nil && strings.Contains(err.Error(), "within a character that a special token interrupts"); n++ {
			got, err = s.cut(c, r, n+1)
		}
		s.ok(err)
		if !slices.Equal(got.TokenIDs, whole.TokenIDs) || got.Text != whole.Text || got.Reasoning != whole.Reasoning ||
			got.Finish != whole.Finish || got.Usage != whole.Usage {
			s.Fatalf("after %d tokens: %+v, want %+v", n, got, whole)
		}
	}
	s.saw("%d tokens, cut at %v: the same; finish_reason %s", len(whole.TokenIDs), cuts, whole.Finish)
	return whole
}

// cut asks for n tokens of an answer, and has it go on.
func (s *session) cut(c *vllm.Client, r vllm.Request, n int) (vllm.Completion, error) {
	s.Helper()
	begun := r
	begun.MaxTokens = n
	first, err := c.Stream(s.ctx, begun, nil)
	s.ok(err)
	if r.Prefix = first.Prefix(); r.Prefix == nil || len(r.Prefix.IDs) != n {
		s.Fatalf("%d ids of %d tokens", len(first.TokenIDs), n)
	}
	r.Prefix.Finish = ""
	return c.Stream(s.ctx, r, nil)
}

// idCompletion is the completion of a prompt of ids, by the bare protocol.
type idCompletion struct {
	text           string
	tokens, prompt []int
	usage          usage
}

func (s *session) complete(ids []int, set fields) (r idCompletion) {
	s.Helper()
	body := s.chat(set)
	delete(body, "messages")
	body["prompt"], body["return_token_ids"], body["stream_options"] = ids, true, everyUsage
	for _, e := range s.whole(completionPath, body) {
		if e.Usage != nil {
			r.usage = *e.Usage
		}
		for _, c := range e.Choices {
			if c.Prompt != nil && len(r.tokens) > 0 {
				s.Fatal("tells the prompt in a later chunk")
			}
			r.text, r.tokens, r.prompt = r.text+c.Text, append(r.tokens, c.Tokens...), append(r.prompt, c.Prompt...)
		}
	}
	return r
}

// rendered are the ids of the prompt of a chat, and of the answer so far.
func (s *session) rendered(begun ...int) []int {
	s.Helper()
	return append(s.ask(fields{"max_tokens": 1, "return_token_ids": true}).Prompt, begun...)
}
