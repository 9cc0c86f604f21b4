package vllm_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/servers/vllm"
)

// imitated is a client of an imitated server, which answers a known task right
// or wrong.
func imitated(t *testing.T, s imitation.Settings) *vllm.Client {
	t.Helper()
	task := benchmark.Task{Benchmark: "b", ID: "sum", UserPrompt: "What is 17+25?", Scorer: "math", Answer: "42"}
	s.Model, s.Author = "m", fleet.MustAuthor(fleet.AuthorSettings{
		Model: "m", Tasks: []benchmark.Task{task}, Passes: map[fleet.TaskKey]float64{{Benchmark: "b", ID: "sum"}: 0.5},
		AnswerTokens: 200, ThinkingTokens: 200, Spread: 0.3,
	})
	r := imitation.New(s)
	t.Cleanup(r.Close)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	c, err := vllm.New(server.URL, vllm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func asked(seed int64) vllm.Request {
	return vllm.Request{
		Sampling: vllm.Sampling{Model: "m", Temperature: 0.6, TopP: 1, MaxTokens: 1000},
		Messages: []vllm.Message{{Role: "user", Content: "What is 17+25?"}}, Seed: seed, TokenIDs: true,
	}
}

// answered is the answer in one piece.
func answered(t *testing.T, c *vllm.Client, r vllm.Request) vllm.Completion {
	t.Helper()
	whole, err := c.Stream(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// saidWithin is how many tokens an imitated answer needs to say by which number
// it goes on, twice of them where a budget ends its thinking within.
const saidWithin = 24

var settings = map[string]struct {
	imitation.Settings
	budget int
	off    bool
}{
	"dense":                  {},
	"thinking":               {Settings: imitation.Settings{Thinking: true, ReasoningParser: "qwen3"}},
	"budget":                 {Settings: imitation.Settings{Thinking: true, ReasoningParser: "qwen3"}, budget: 130},
	"budget at once":         {Settings: imitation.Settings{Thinking: true, ReasoningParser: "qwen3"}, budget: 1},
	"thinking off":           {Settings: imitation.Settings{Thinking: true, ReasoningParser: "qwen3"}, off: true},
	"thinking, not parsed":   {Settings: imitation.Settings{Thinking: true}},
	"events of seven tokens": {Settings: imitation.Settings{Thinking: true, ReasoningParser: "qwen3", StreamInterval: 7}},
}

// TestContinuedIsWhole cuts answers at every token, within characters of several
// bytes as well, and has them go on: what comes of it cannot be told from the
// answer in one piece.
func TestContinuedIsWhole(t *testing.T) {
	for name, s := range settings {
		t.Run(name, func(t *testing.T) {
			s.Settings.Timing, s.Settings.Speed = fleet.Timing{Base: 1}, 0
			c := imitated(t, s.Settings)
			r := asked(4)
			r.ThinkingBudget = s.budget
			if s.off {
				r.TemplateArguments = map[string]any{"enable_thinking": false}
			}
			// Seven of eight answers have a character of several bytes.
			whole := answered(t, c, r)
			for len(whole.Text) == len([]rune(whole.Text)) {
				r.Seed++
				whole = answered(t, c, r)
			}
			for n := 1; n <= len(whole.TokenIDs); n++ {
				if n > 200 && n%7 > 0 && n < len(whole.TokenIDs) && s.StreamInterval > 1 {
					continue
				}
				cut := r
				cut.MaxTokens = n
				begun := answered(t, c, cut)
				on := r
				on.Prefix = begun.Prefix()
				if n < len(whole.TokenIDs) {
					on.Prefix.Finish = ""
				}
				heard := *on.Prefix
				got, err := c.Stream(t.Context(), on, func(p vllm.Piece) {
					heard.Add(p)
					if want := (vllm.Usage{Prompt: len(heard.PromptIDs), Completion: len(heard.IDs), Reasoning: -1}); p.Usage != want {
						t.Errorf("usage %+v after %d tokens", p.Usage, len(heard.IDs))
					}
				})
				if err != nil {
					t.Fatalf("after %d of %d tokens: %v", n, len(whole.TokenIDs), err)
				}
				if heard.Text != got.Text || heard.Reasoning != got.Reasoning || !slices.Equal(heard.IDs, got.TokenIDs) || heard.Finish != got.Finish {
					t.Errorf("after %d tokens the pieces are %+v, and the answer %+v", n, heard, got)
				}
				if n < saidWithin && (s.budget != 1 || n < 2*saidWithin) {
					continue // it goes on as another answer
				}
				if got.Text != whole.Text || got.Reasoning != whole.Reasoning || got.Finish != whole.Finish || got.Usage != whole.Usage ||
					!slices.Equal(got.TokenIDs, whole.TokenIDs) || !slices.Equal(got.PromptIDs, whole.PromptIDs) || got.Model != whole.Model {
					t.Fatalf("after %d of %d tokens:\n%+v\nwant\n%+v", n, len(whole.TokenIDs), got, whole)
				}
			}
		})
	}
}

// TestWholePrefix is of answers that have come to their end: nothing is asked.
func TestWholePrefix(t *testing.T) {
	c, err := vllm.New("http://127.0.0.1:1", vllm.Options{}) // nobody is there
	if err != nil {
		t.Fatal(err)
	}
	for finish, want := range map[string]string{"stop": "stop", "length": "length", "": "length"} {
		r := asked(1)
		r.MaxTokens, r.Prefix = 3, &vllm.Prefix{PromptIDs: []int32{1, 2}, IDs: []int32{72, 105, 33}, Text: "Hi!", Finish: finish}
		got, err := c.Stream(t.Context(), r, nil)
		if err != nil || got.Finish != want || got.Text != "Hi!" || got.Usage != (vllm.Usage{Prompt: 2, Completion: 3, Reasoning: -1}) || got.Finished.IsZero() {
			t.Errorf("%q: %+v, %v", finish, got, err)
		}
	}
	for _, p := range []vllm.Prefix{{IDs: []int32{1}}, {PromptIDs: []int32{1}, Text: "a", Finish: "stop"}} {
		r := asked(1)
		r.Prefix = &p
		var e *vllm.Error
		if _, err := c.Stream(t.Context(), r, nil); !errors.As(err, &e) || e.Kind != vllm.Rejected || !e.Unsent {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestNotContinued has every reason why an answer cannot go on.
func TestNotContinued(t *testing.T) {
	prompt := fleet.Tokenize("<|im_start|>user\nWhat is 17+25?<|im_end|>\n<|im_start|>assistant\n<think>\n")
	think, end := fleet.ThinkStart, fleet.ThinkEnd
	long := fleet.Tokenize("abcdefgh")
	tests := map[string]struct {
		prefix vllm.Prefix
		budget int
		want   string
	}{
		"thinking ended without its tag":    {vllm.Prefix{IDs: long, Reasoning: "abc", Text: "defgh"}, 0, "ended without </think>"},
		"more thinking than its budget":     {vllm.Prefix{IDs: long, Reasoning: "abcdefgh"}, 4, "longer than its budget"},
		"thinking that ended before it was": {vllm.Prefix{PromptIDs: prompt[:len(prompt)-2], IDs: []int32{end, think, 97}, Text: "a"}, 9, "ended before it began"},
		"a special token in a character":    {vllm.Prefix{IDs: []int32{72, 206, fleet.TurnStart, 182, 133}, Text: "Hζ"}, 0, "special token interrupts"},
	}
	c := imitated(t, imitation.Settings{Thinking: true, ReasoningParser: "qwen3"})
	for name, test := range tests {
		r := asked(1)
		r.Prefix, r.ThinkingBudget = &test.prefix, test.budget
		if r.Prefix.PromptIDs == nil {
			r.Prefix.PromptIDs = prompt
		}
		notContinued(t, name, c, r, test.want)
	}
	r := asked(1)
	r.Prefix = &vllm.Prefix{PromptIDs: prompt, IDs: long, Text: "abcdefgh"}
	plain := imitated(t, imitation.Settings{Plain: true})
	notContinued(t, "refused", plain, r, "it has no /tokenize")
	plain.Treat(true, 0)
	notContinued(t, "plain", plain, r, "may be none of vLLM")
}

func notContinued(t *testing.T, name string, c *vllm.Client, r vllm.Request, want string) {
	t.Helper()
	_, err := c.Stream(t.Context(), r, func(vllm.Piece) { t.Errorf("%s: a piece", name) })
	var e *vllm.Error
	if !errors.As(err, &e) || e.Kind != vllm.NotContinued || !e.Kind.Permanent() || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// TestServersThatDoNotContinue take the request and do something else.
func TestServersThatDoNotContinue(t *testing.T) {
	r := imitation.New(imitation.Settings{Model: "m"})
	defer r.Close()
	for name, change := range map[string][2]string{
		"fewer ids than tokens": {`"token_ids":[`, `"token_id":[`},
		"another prompt":        {`"prompt_tokens":`, `"prompt_tokens":1`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			recorded := httptest.NewRecorder()
			r.ServeHTTP(recorded, q)
			fmt.Fprint(w, strings.ReplaceAll(recorded.Body.String(), change[0], change[1]))
		}))
		c, err := vllm.New(server.URL, vllm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		q := asked(1)
		q.Prefix = &vllm.Prefix{PromptIDs: fleet.Tokenize("hi"), IDs: []int32{72}, Text: "H"}
		var e *vllm.Error
		if _, err := c.Stream(t.Context(), q, nil); !errors.As(err, &e) || e.Kind != vllm.Garbage {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
		server.Close()
	}
}

func TestContinuationSeeds(t *testing.T) {
	seen := map[int64]bool{}
	for seed := range int64(20) {
		if vllm.ContinuationSeed(seed, 0) != seed {
			t.Errorf("without a prefix seed %d is another", seed)
		}
		for n := range 50 {
			s := vllm.ContinuationSeed(seed, n)
			if s < 0 || seen[s] && n > 0 {
				t.Errorf("seed %d after %d tokens is %d", seed, n, s)
			}
			seen[s] = true
		}
	}
}
