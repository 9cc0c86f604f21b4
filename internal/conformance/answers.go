package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answers are completions that are not streamed, and what seeds do to them.
func answers() []Check {
	return []Check{
		{"answer/form", "every field that our client reads is there", answerForm},
		{"answer/usage", "tokens are counted", answerUsage},
		{"answer/name", "X-Request-Id names the answer", answerName},
		{"answer/unknown field", "a mistyped field is not noticed", unknownField},
		{"seed/same", "the same seed gives the same text", sameSeed},
		{"seed/other", "another seed gives another text", otherSeed},
		{"seed/none", "without a seed, texts differ", noSeed},
	}
}

func answerForm(ctx context.Context, s *session) (Observation, error) {
	a, body, err := s.ask(ctx, nil)
	if err != nil {
		return "", err
	}
	var l lines
	l.add("%s", shape(body))
	l.add("id begins with chatcmpl-: %t", strings.HasPrefix(a.ID, "chatcmpl-"))
	return l.seen(), nil
}

func answerUsage(ctx context.Context, s *session) (Observation, error) {
	a, _, err := s.ask(ctx, fields{"return_token_ids": true})
	if err != nil {
		return "", err
	}
	tokens, u := len(a.Choices[0].Tokens), *a.Usage
	if tokens != u.Completion || len(a.Prompt) != u.Prompt || u.Total != u.Prompt+u.Completion {
		return "", fmt.Errorf("%d prompt and %d answer ids, usage %+v", len(a.Prompt), tokens, u)
	}
	var l lines
	l.add("12 tokens asked for, %d counted, %d ids, finish_reason %s", u.Completion, tokens, *a.Choices[0].Finish)
	return l.seen(), nil
}

func answerName(ctx context.Context, s *session) (Observation, error) {
	request, err := s.request(ctx, http.MethodPost, chatPath, s.chat(nil))
	if err != nil {
		return "", err
	}
	request.Header.Set("X-Request-Id", "task-7")
	got, err := s.send(request)
	if err != nil {
		return "", err
	}
	var l lines
	l.add("id is chatcmpl-task-7: %t", strings.Contains(string(got.body), `"id":"chatcmpl-task-7"`))
	return l.seen(), nil
}

func unknownField(ctx context.Context, s *session) (Observation, error) {
	_, body, err := s.ask(ctx, fields{"thinking_token_buget": 4, "no_such_field": fields{"a": 1}})
	if err != nil {
		return "", err
	}
	return Observation("200 " + shape(body)), nil
}

func sameSeed(ctx context.Context, s *session) (Observation, error) {
	first, _, err := s.ask(ctx, fields{"max_tokens": 48, "seed": 7})
	if err != nil {
		return "", err
	}
	second, _, err := s.ask(ctx, fields{"max_tokens": 48, "seed": 7})
	if err != nil {
		return "", err
	}
	if first.text() != second.text() {
		return "", fmt.Errorf("seed 7 gave %q, then %q", first.text(), second.text())
	}
	return "the same text twice", nil
}

func otherSeed(ctx context.Context, s *session) (Observation, error) {
	return s.differ(ctx, fields{"seed": 7}, fields{"seed": 8})
}

func noSeed(ctx context.Context, s *session) (Observation, error) {
	return s.differ(ctx, fields{"seed": nil}, fields{"seed": nil})
}

// differ asks twice for long texts that must not be the same.
func (s *session) differ(ctx context.Context, one, two fields) (Observation, error) {
	one["max_tokens"], two["max_tokens"] = 48, 48
	first, _, err := s.ask(ctx, one)
	if err != nil {
		return "", err
	}
	second, _, err := s.ask(ctx, two)
	if err != nil {
		return "", err
	}
	if first.text() == second.text() {
		return "", fmt.Errorf("%v and %v gave %q both times", one, two, first.text())
	}
	return "two texts", nil
}

// surfaces are the paths other than the completions.
func surfaces() []Check {
	return []Check{
		{"server/version", "the version can be compared with the configured one", version},
		{"server/models", "the model and its context can be checked before the first request", models},
		{"server/health", "a server says that it is up", health},
		{"server/tokenize", "text becomes ids, and ids text", tokenize},
		{"server/metrics", "what is running can be seen from outside", metricNames},
		{"server/other paths", "what is not there is refused like anything else", otherPaths},
	}
}

func version(ctx context.Context, s *session) (Observation, error) {
	got, err := s.get(ctx, "/version")
	if err != nil {
		return "", err
	}
	var v struct{ Version string }
	if err := json.Unmarshal(got.body, &v); err != nil {
		return "", err
	}
	base, _, _ := strings.Cut(v.Version, "+") // a build may say more after it
	var l lines
	l.add("%d %s %s, version %s", got.status, got.kind, shape(got.body), base)
	return l.seen(), nil
}

func models(ctx context.Context, s *session) (Observation, error) {
	got, err := s.get(ctx, "/v1/models")
	if err != nil {
		return "", err
	}
	var list struct {
		Data []struct {
			ID  string
			Max int `json:"max_model_len"`
		}
	}
	if err := json.Unmarshal(got.body, &list); err != nil {
		return "", err
	}
	if len(list.Data) != 1 || list.Data[0].ID != s.Model || list.Data[0].Max != s.Context {
		return "", fmt.Errorf("does not list %s with %d tokens: %s", s.Model, s.Context, got.body)
	}
	var l lines
	l.add("%d %s %s", got.status, got.kind, shape(got.body))
	return l.seen(), nil
}

func health(ctx context.Context, s *session) (Observation, error) {
	var l lines
	got, err := s.get(ctx, "/health")
	l.add("GET /health: %d %s %q", got.status, got.kind, got.body)
	return l.seen(), err
}

func tokenize(ctx context.Context, s *session) (Observation, error) {
	const text = "two words</think>\n"
	var l lines
	ids, shown, err := s.tokens(ctx, fields{"model": s.Model, "prompt": text})
	if err != nil {
		return "", err
	}
	l.add("a prompt: %s", shown)
	end, _, err := s.tokens(ctx, fields{"model": s.Model, "prompt": "</think>"})
	if err != nil {
		return "", err
	}
	l.add("</think>: %d token, found in the prompt's: %t", len(end), len(end) == 1 && slices.Contains(ids, end[0]))
	got, err := s.post(ctx, "/detokenize", fields{"model": s.Model, "tokens": ids})
	if err != nil {
		return "", err
	}
	var back struct{ Prompt string }
	if err := json.Unmarshal(got.body, &back); err != nil {
		return "", err
	}
	l.add("detokenize: %d %s, the same text: %t", got.status, shape(got.body), back.Prompt == text)
	turn := []fields{{"role": "user", "content": "hi"}}
	chat, shown, err := s.tokens(ctx, fields{"model": s.Model, "messages": turn})
	if err != nil {
		return "", err
	}
	a, _, err := s.ask(ctx, fields{"max_tokens": 1})
	if err != nil {
		return "", err
	}
	l.add("messages: %s, as many as a request's prompt: %t", shown, len(chat) == a.Usage.Prompt)
	return l.seen(), nil
}

// tokens asks for the ids of a text, and says what the answer looked like.
func (s *session) tokens(ctx context.Context, body fields) ([]int, string, error) {
	got, err := s.post(ctx, "/tokenize", body)
	if err != nil {
		return nil, "", err
	}
	var t struct {
		Count  int
		Max    int `json:"max_model_len"`
		Tokens []int
	}
	if err := json.Unmarshal(got.body, &t); err != nil || got.status != http.StatusOK {
		return nil, "", fmt.Errorf("tokenize answers %d %s (%v)", got.status, got.body, err)
	}
	if t.Count != len(t.Tokens) || t.Max != s.Context {
		return nil, "", fmt.Errorf("tokenize counts %d of %d tokens, context %d", t.Count, len(t.Tokens), t.Max)
	}
	return t.Tokens, fmt.Sprintf("%d %s", got.status, shape(got.body)), nil
}

var cachingLabel = regexp.MustCompile(`enable_prefix_caching="[A-Za-z]*"`)

func metricNames(ctx context.Context, s *session) (Observation, error) {
	m, err := s.metrics(ctx)
	if err != nil {
		return "", err
	}
	var l lines
	for _, name := range []string{
		runningName, waitingName, generatedName, promptName, successName,
	} {
		_, there := m[name]
		l.add("%s: %t", name, there)
		if !there {
			err = fmt.Errorf("no %s", name)
		}
	}
	if err != nil {
		return l.seen(), err
	}
	got, err := s.get(ctx, "/metrics")
	if err != nil {
		return "", err
	}
	l.add("cache_config_info says %s", cachingLabel.Find(got.body))
	return l.seen(), nil
}

func otherPaths(ctx context.Context, s *session) (Observation, error) {
	var l lines
	for _, path := range []string{"/v1/nothing", "/nothing", chatPath} {
		got, err := s.get(ctx, path)
		if err != nil {
			return "", err
		}
		l.add("GET %s: %d %s %s", path, got.status, got.kind, got.body)
	}
	// There in the server's development mode alone.
	got, err := s.post(ctx, "/reset_prefix_cache", nil)
	if err != nil {
		return "", err
	}
	l.add("POST /reset_prefix_cache: %d %s %s", got.status, got.kind, got.body)
	return l.seen(), nil
}

const (
	runningName   = "vllm:num_requests_running"
	waitingName   = "vllm:num_requests_waiting"
	generatedName = "vllm:generation_tokens_total"
	promptName    = "vllm:prompt_tokens_total"
	successName   = "vllm:request_success_total"
)

// metrics reads the server's metrics; those that differ in labels alone are
// summed up.
func (s *session) metrics(ctx context.Context) (map[string]float64, error) {
	got, err := s.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	if got.status != http.StatusOK || got.kind != "text/plain" {
		return nil, fmt.Errorf("metrics: %d %s", got.status, got.kind)
	}
	values := make(map[string]float64)
	for scanner := bufio.NewScanner(bytes.NewReader(got.body)); scanner.Scan(); {
		line := scanner.Text()
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 {
			return nil, fmt.Errorf("metrics: no value in %q", line)
		}
		v, err := strconv.ParseFloat(line[cut+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %w in %q", err, line)
		}
		name, _, _ := strings.Cut(line[:cut], "{")
		values[name] += v
	}
	return values, nil
}

// poll is the interval between polls of the metrics.
const poll = 5 * time.Millisecond

// await polls the metrics until so many requests are running and waiting.
func (s *session) await(ctx context.Context, running, waiting int) (map[string]float64, error) {
	for {
		m, err := s.metrics(ctx)
		if err != nil {
			return nil, err
		}
		if int(m[runningName]) == running && int(m[waitingName]) == waiting {
			return m, nil
		}
		if err := s.Clock.Sleep(ctx, poll); err != nil {
			return nil, fmt.Errorf("%d running and %d waiting for %d and %d: %w",
				int(m[runningName]), int(m[waitingName]), running, waiting, err)
		}
	}
}
