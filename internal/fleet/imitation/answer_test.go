package imitation_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
)

// hidden are the parts of responses that differ from one to the next.
var hidden = regexp.MustCompile(`(chatcmpl|cmpl|modelperm)-[0-9a-f]{16}|"created":\d+|"(content|reasoning|text)":"(\\.|[^"\\])+"|vllm-0\.23\.0[-+a-z0-9]*`)

func hide(body string) string {
	return hidden.ReplaceAllStringFunc(body, func(s string) string {
		name, _, found := strings.Cut(s, ":")
		switch {
		case found && name != `"created"`:
			return name + `:"…"`
		case found:
			return `"created":1`
		}
		return strings.SplitN(s, "-", 2)[0] + "-…"
	})
}

// TestWire compares bytes with those that vLLM 0.23.0 sent, as recorded.
func TestWire(t *testing.T) {
	d, h := imitation.New(dense()), imitation.New(thinking())
	defer d.Close()
	defer h.Close()
	const every = `,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`
	const head = `{"id":"chatcmpl-…","object":"chat.completion.chunk","created":1,"model":"m","choices":[`
	const rest = `"refusal":null,"annotations":null,"audio":null,"function_call":null,"tool_calls":[],"reasoning":`
	tests := []struct {
		name string
		h    http.Handler
		path string
		body string
		want []string // events, or one body; "" for any
	}{
		{"whole", d, chats, chat(`,"max_tokens":3`), []string{
			`{"id":"chatcmpl-…","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"…",` + rest + `null},` +
				`"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null,"routed_experts":null}],"service_tier":null,"system_fingerprint":"vllm-…",` +
				`"usage":{"prompt_tokens":33,"total_tokens":36,"completion_tokens":3,"prompt_tokens_details":null},"prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"kv_transfer_params":null}`,
		}},
		{"cut inside the thinking", h, chats, chat(`,"max_tokens":3`), []string{
			`{"id":"chatcmpl-…","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,` + rest + `"…"},` +
				`"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null,"routed_experts":null}],"service_tier":null,"system_fingerprint":"vllm-…",` +
				`"usage":{"prompt_tokens":35,"total_tokens":38,"completion_tokens":3,"prompt_tokens_details":null},"prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"kv_transfer_params":null}`,
		}},
		{"stream", d, chats, chat(`,"max_tokens":1` + every), []string{
			head + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":33,"total_tokens":33,"completion_tokens":0},"prompt_token_ids":null,"prompt_text":null}`,
			head + `{"index":0,"delta":{"content":"…"},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}],"usage":{"prompt_tokens":33,"total_tokens":34,"completion_tokens":1}}`,
			head + `],"usage":{"prompt_tokens":33,"total_tokens":34,"completion_tokens":1},"system_fingerprint":"vllm-…"}`,
			"[DONE]",
		}},
		{"stream without usage", h, chats, chat(`,"max_tokens":1,"stream":true`), []string{
			head + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}`,
			head + `{"index":0,"delta":{"reasoning":"…"},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}],"system_fingerprint":"vllm-…"}`,
			"[DONE]",
		}},
		{"the end of the thinking", h, chats, chat(`,"max_tokens":1,"thinking_token_budget":0,"stream":true,"return_token_ids":true`), []string{
			"",
			head + `{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[260]}],"system_fingerprint":"vllm-…"}`,
			"[DONE]",
		}},
		{"completion", d, "/v1/completions", `{"model":"m","prompt":[104,105],"max_tokens":1,"stream":true}`, []string{
			`{"id":"cmpl-…","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"…","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":null}],"system_fingerprint":"vllm-…"}`,
			"[DONE]",
		}},
		{"a refusal in a stream", d, chats, chat(`,"thinking_token_budget":8,"stream":true`), []string{
			`{"error":{"message":"thinking_token_budget needs a reasoning parser.","type":"BadRequestError","param":null,"code":400}}`,
			"[DONE]",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := post(test.h, test.path, test.body)
			got := []string{w.Body.String()}
			if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
				got = events(t, w.Body)
			}
			if len(got) != len(test.want) {
				t.Fatalf("%d events, want %d: %q", len(got), len(test.want), got)
			}
			for i, want := range test.want {
				if want != "" && hide(got[i]) != want {
					t.Errorf("sends\n%s\nwant\n%s", hide(got[i]), want)
				}
			}
		})
	}
}

// TestStreamsAreTheWholeAnswer asks for the same answers whole and in chunks.
func TestStreamsAreTheWholeAnswer(t *testing.T) {
	for name, s := range map[string]imitation.Settings{"dense": dense(), "thinking": thinking()} {
		for _, interval := range []int{1, 7} {
			s.StreamInterval = interval
			r := imitation.New(s)
			for seed := range 20 {
				body := func(more string) string {
					return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"Which?"}],"seed":%d,"return_token_ids":true%s}`, seed, more)
				}
				whole := parse(t, post(r, chats, body("")).Body.Bytes())
				stream := events(t, post(r, chats, body(`,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`)).Body)
				compare(t, fmt.Sprintf("%s, interval %d, seed %d", name, interval, seed), whole, stream)
			}
			r.Close()
		}
	}
}

func compare(t *testing.T, what string, whole answer, stream []string) {
	t.Helper()
	if len(stream) < 3 || stream[len(stream)-1] != "[DONE]" {
		t.Fatalf("%s: a stream of %q", what, stream)
	}
	var content, reasoning, finish string
	var ids []int32
	before := -1
	for i, event := range stream[:len(stream)-1] {
		a := parse(t, []byte(event))
		if a.Usage == nil || a.Usage.Completion < before || i == 0 && a.Usage.Completion != 0 || a.Usage.Total != a.Usage.Prompt+a.Usage.Completion {
			t.Fatalf("%s: usage after %d tokens: %s", what, before, event)
		}
		before = a.Usage.Completion
		for _, c := range a.Choices {
			ids = append(ids, c.IDs...)
			if len(ids) != a.Usage.Completion {
				t.Fatalf("%s: %d ids, usage %d", what, len(ids), a.Usage.Completion)
			}
			content += strings.TrimPrefix(value(c.Delta.Content), "<null>")
			reasoning += strings.TrimPrefix(value(c.Delta.Reasoning), "<null>")
			finish += strings.TrimPrefix(value(c.Finish), "<null>")
		}
		if i == 0 && !slices.Equal(a.PromptIDs, whole.PromptIDs) {
			t.Errorf("%s: the prompt is %v, want %v", what, a.PromptIDs, whole.PromptIDs)
		}
	}
	c := whole.Choices[0]
	if content != value(c.Message.Content) || reasoning != strings.TrimPrefix(value(c.Message.Reasoning), "<null>") || finish != *c.Finish || !slices.Equal(ids, c.IDs) {
		t.Errorf("%s: in chunks %q after %q (%s), whole %q after %q (%s)", what,
			content, reasoning, finish, value(c.Message.Content), value(c.Message.Reasoning), *c.Finish)
	}
	if len(ids) != whole.Usage.Completion || before != len(ids) || fleet.Detokenize(whole.PromptIDs) == "" {
		t.Errorf("%s: %d ids, usage %+v", what, len(ids), whole.Usage)
	}
}

func TestThinking(t *testing.T) {
	r := imitation.New(thinking())
	defer r.Close()
	ask := func(more string) answer { return parse(t, post(r, chats, chat(more)).Body.Bytes()) }

	a := ask("")
	if m := a.Choices[0].Message; !strings.HasPrefix(value(m.Content), "\n\n") || !strings.Contains(*m.Content, `\boxed{42}`) || value(m.Reasoning) == "<null>" {
		t.Errorf("content %q, reasoning %q", value(m.Content), value(m.Reasoning))
	}
	{
		const off = `,"chat_template_kwargs":{"enable_thinking":false}`
		if m := ask(off).Choices[0].Message; m.Reasoning != nil || strings.Contains(*m.Content, "</think>") || !strings.Contains(*m.Content, `\boxed{42}`) {
			t.Errorf("%s: content %q, reasoning %q", off, value(m.Content), value(m.Reasoning))
		}
	}
	// The prompt ends in "<think>\n", and the line feed is thinking already.
	for budget, want := range map[int]int{0: 0, 1: 0, 2: 1, 9: 8} {
		got := ask(fmt.Sprintf(`,"thinking_token_budget":%d,"return_token_ids":true`, budget)).Choices[0]
		if i := slices.Index(got.IDs, fleet.ThinkEnd); i != want || !strings.Contains(*got.Message.Content, `\boxed{42}`) {
			t.Errorf("budget %d: </think> is token %d, want %d", budget, i, want)
		}
	}
	raw := imitation.New(imitation.Settings{Model: "m", Thinking: true, Author: author()})
	defer raw.Close()
	m := parse(t, post(raw, chats, chat("")).Body.Bytes()).Choices[0].Message
	if want := *a.Choices[0].Message.Reasoning + "</think>" + *a.Choices[0].Message.Content; m.Reasoning != nil || *m.Content != want {
		t.Errorf("without a parser: reasoning %q, content %q", value(m.Reasoning), value(m.Content))
	}
}

// TestChunksOfOneToken compares streams of one token a chunk with whole answers
// where a budget ends the thinking at every place of a character of several
// bytes.
func TestChunksOfOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := thinking()
		s.Timing, s.Speed = even, 1
		r := imitation.New(s)
		defer r.Close()
		seeded := func(seed int, more string) string {
			return strings.Replace(chat(more), `"seed":4`, fmt.Sprintf(`"seed":%d`, seed), 1)
		}
		seed, place := 0, -1
		for ; place < 0; seed++ {
			natural := *parse(t, post(r, chats, seeded(seed+1, "")).Body.Bytes()).Choices[0].Message.Reasoning
			place = strings.IndexFunc(natural, func(r rune) bool { return r > 127 })
		}
		for budget := place - 1; budget < place+6; budget++ {
			body := func(more string) string {
				return seeded(seed, fmt.Sprintf(`,"return_token_ids":true,"max_tokens":400,"thinking_token_budget":%d%s`, budget, more))
			}
			whole := parse(t, post(r, chats, body("")).Body.Bytes())
			stream := events(t, post(r, chats, body(`,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`)).Body)
			compare(t, fmt.Sprintf("budget %d", budget), whole, stream)
			if len(stream) != whole.Usage.Completion+3 {
				t.Errorf("budget %d: %d events of %d tokens", budget, len(stream), whole.Usage.Completion)
			}
		}
	})
}

func TestUnseededAnswersDiffer(t *testing.T) {
	r := imitation.New(dense())
	defer r.Close()
	texts := map[string]bool{}
	for _, none := range []string{"", "", "", `,"seed":-1`, `,"seed":-1`} {
		texts[*parse(t, post(r, chats, strings.Replace(chat(""), `,"seed":4`, none, 1)).Body.Bytes()).Choices[0].Message.Content] = true
	}
	if len(texts) != 5 {
		t.Errorf("%d texts of 5 are different", len(texts))
	}
}
