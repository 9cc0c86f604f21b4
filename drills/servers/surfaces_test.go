package servers_test

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ofSurfaces are of the paths other than the completions.
var ofSurfaces = []behaviour{
	{"server/version", "the version can be compared with the configured one", func(s *session) {
		got := s.get("/version")
		var v struct{ Version string }
		s.decode(got.body, &v)
		base, _, _ := strings.Cut(v.Version, "+") // a build may say more after it
		s.saw("%d %s %s, version %s", got.status, got.kind, formOf(got.body), base)
	}},
	{"server/models", "the model and its context can be checked before the first request", func(s *session) {
		got := s.get("/v1/models")
		var list struct {
			Data []struct {
				ID  string
				Max int `json:"max_model_len"`
			}
		}
		s.decode(got.body, &list)
		if len(list.Data) != 1 || list.Data[0].ID != s.model || list.Data[0].Max != s.context {
			s.Fatalf("does not list %s with %d tokens: %s", s.model, s.context, got.body)
		}
		s.saw("%d %s %s", got.status, got.kind, formOf(got.body))
	}},
	{"server/health", "a server says that it is up", func(s *session) {
		got := s.get("/health")
		s.saw("GET /health: %d %s %q", got.status, got.kind, got.body)
	}},
	{"server/tokenize", "text becomes ids, and ids text", func(s *session) {
		const text = "two words</think>\n"
		ids, form := s.tokens(fields{"prompt": text})
		s.saw("a prompt: %s", form)
		end, _ := s.tokens(fields{"prompt": "</think>"})
		s.saw("</think>: %d token, found in the prompt's: %t", len(end), len(end) == 1 && slices.Contains(ids, end[0]))
		got := s.post("/detokenize", fields{"model": s.model, "tokens": ids})
		var back struct{ Prompt string }
		s.decode(got.body, &back)
		s.saw("detokenize: %d %s, the same text: %t", got.status, formOf(got.body), back.Prompt == text)
		chat, form := s.tokens(fields{"messages": []fields{{"role": "user", "content": "hi"}}})
		a := s.ask(fields{"max_tokens": 1})
		s.saw("messages: %s, as many as a request's prompt: %t", form, len(chat) == a.Usage.Prompt)
	}},
	{"server/metrics", "what is running can be seen from outside", func(s *session) {
		m := s.metrics()
		for _, name := range []string{runningName, waitingName, generatedName, promptName, successName} {
			_, there := m[name]
			s.saw("%s: %t", name, there)
		}
		s.saw("cache_config_info says %s", cachingLabel.Find(s.get("/metrics").body))
	}},
	{"server/other paths", "what is not there is refused like anything else", func(s *session) {
		for _, path := range []string{"/v1/nothing", "/nothing", chatPath} {
			got := s.get(path)
			s.saw("GET %s: %d %s %s", path, got.status, got.kind, got.body)
		}
		got := s.post("/reset_prefix_cache", nil) // there in the server's development mode alone
		s.saw("POST /reset_prefix_cache: %d %s %s", got.status, got.kind, got.body)
	}},
}

// ofWholes are of completions that are not streamed, and what seeds do to them.
var ofWholes = []behaviour{
	{"answer/form", "every field that our client reads is there", func(s *session) {
		a, body, err := s.asked(s.ctx, nil)
		s.ok(err)
		s.saw("%s", formOf(body))
		s.saw("id begins with chatcmpl-: %t", strings.HasPrefix(a.ID, "chatcmpl-"))
	}},
	{"answer/usage", "tokens are counted", func(s *session) {
		a := s.ask(fields{"return_token_ids": true})
		tokens, u := len(a.Choices[0].Tokens), *a.Usage
		if tokens != u.Completion || len(a.Prompt) != u.Prompt || u.Total != u.Prompt+u.Completion {
			s.Fatalf("%d prompt and %d answer ids, usage %+v", len(a.Prompt), tokens, u)
		}
		s.saw("12 tokens asked for, %d counted, %d ids, finish_reason %s", u.Completion, tokens, a.Choices[0].Finish)
	}},
	{"answer/name", "X-Request-Id names the answer", func(s *session) {
		got := s.send("POST", chatPath, s.chat(nil), "X-Request-Id", "task-7")
		s.saw("id is chatcmpl-task-7: %t", bytes.Contains(got.body, []byte(`"id":"chatcmpl-task-7"`)))
	}},
	{"seed/same", "the same seed gives the same text", twice(7, 7)},
	{"seed/other", "another seed gives another text", twice(7, 8)},
	{"seed/none", "without a seed, texts differ", twice(nil, nil)},
}

// twice asks for two long texts by seeds.
func twice(one, two any) func(*session) {
	return func(s *session) {
		first := s.ask(fields{"max_tokens": 48, "seed": one}).text()
		if first == s.ask(fields{"max_tokens": 48, "seed": two}).text() {
			s.saw("the same text twice")
		} else {
			s.saw("two texts")
		}
	}
}

// The metrics that are read.
const (
	runningName   = "vllm:num_requests_running"
	waitingName   = "vllm:num_requests_waiting"
	generatedName = "vllm:generation_tokens_total"
	promptName    = "vllm:prompt_tokens_total"
	successName   = "vllm:request_success_total"
)

var cachingLabel = regexp.MustCompile(`enable_prefix_caching="[A-Za-z]*"`)

// metrics reads the server's metrics, each the sum over its labels.
func (s *session) metrics() map[string]float64 {
	s.Helper()
	got := s.get("/metrics")
	if got.status != 200 || got.kind != "text/plain" {
		s.Fatalf("metrics: %d %s", got.status, got.kind)
	}
	values := map[string]float64{}
	for line := range strings.Lines(string(got.body)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[cut+1:], 64)
		if err != nil {
			s.Fatalf("metrics: no value in %q", line)
		}
		name, _, _ := strings.Cut(line[:max(cut, 0)], "{")
		values[name] += value
	}
	return values
}

// pollMetrics is the interval between polls of the metrics.
const pollMetrics = 5 * time.Millisecond

// await polls the metrics until these numbers of requests are running and waiting.
func (s *session) await(running, waiting int) map[string]float64 {
	s.Helper()
	for {
		m := s.metrics()
		if int(m[runningName]) == running && int(m[waitingName]) == waiting {
			return m
		}
		time.Sleep(pollMetrics)
		if s.ctx.Err() != nil {
			s.Fatalf("%v running and %v waiting for %d and %d", m[runningName], m[waitingName], running, waiting)
		}
	}
}
