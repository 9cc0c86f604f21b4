package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// wrong are requests that a server must refuse, alike with and without stream.
func wrong(s *session) []struct {
	name, about string
	set         fields
} {
	long := []fields{{"role": "user", "content": strings.Repeat("x ", 2*s.Context)}}
	return []struct {
		name, about string
		set         fields
	}{
		{"model", "another model", fields{"model": "no-such-model"}},
		{"temperature", "a negative temperature", fields{"temperature": -1}},
		{"top_p", "top_p of 0", fields{"top_p": 0}},
		{"top_k", "top_k below -1", fields{"top_k": -5}},
		{"prompt", "a prompt longer than the context", fields{"messages": long}},
		{"max_tokens", "an answer longer than the context", fields{"max_tokens": s.Context + 904}},
		{"max_tokens 0", "no answer", fields{"max_tokens": 0}},
		{"sum", "prompt and answer longer than the context", fields{"max_tokens": s.Context - 1}},
		{"messages", "no message", fields{"messages": []fields{}}},
		{"no messages", "no messages field", fields{"messages": nil}},
		{"budget", "a negative budget of thinking", fields{"thinking_token_budget": -5}},
		{"budget type", "a budget of thinking that is no integer", fields{"thinking_token_budget": 1.5}},
		{"seed", "a seed that is no integer", fields{"seed": "x"}},
	}
}

// refusals are the errors for requests that are wrong.
func refusals() []Check {
	var all []Check
	for i, w := range wrong(&session{Target: &Target{}}) {
		all = append(all, Check{"refused/" + w.name, w.about, func(ctx context.Context, s *session) (Observation, error) {
			return s.refused(ctx, wrong(s)[i].set)
		}})
	}
	return append(all,
		Check{"refused/stream_options", "stream_options without stream", streamOptions},
		Check{"refused/content type", "a body that is not said to be JSON", contentType},
		Check{"refused/malformed", "a body that is no JSON", malformed},
		Check{"refused/key", "no key, and a wrong one", wrongKey},
	)
}

// refused sends a wrong request, whole and streamed.
func (s *session) refused(ctx context.Context, set fields) (Observation, error) {
	got, err := s.post(ctx, chatPath, s.chat(set))
	if err != nil {
		return "", err
	}
	if got.status < 400 || got.status > 499 {
		return "", fmt.Errorf("answers %d: %s", got.status, got.body)
	}
	streamed, err := s.refusedStream(ctx, set)
	if err != nil {
		return "", err
	}
	var l lines
	l.add("%s", refusal(got))
	if streamed != refusal(got) {
		l.add("streamed: %s", streamed)
	}
	return l.seen(), nil
}

func streamOptions(ctx context.Context, s *session) (Observation, error) {
	return s.refusedPost(ctx, s.chat(fields{"stream_options": withUsage}), "application/json")
}

func contentType(ctx context.Context, s *session) (Observation, error) {
	return s.refusedPost(ctx, s.chat(nil), "text/plain")
}

func malformed(ctx context.Context, s *session) (Observation, error) {
	return s.refusedPost(ctx, `{"model": "m",`, "application/json")
}

func (s *session) refusedPost(ctx context.Context, body any, kind string) (Observation, error) {
	request, err := s.request(ctx, http.MethodPost, chatPath, body)
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", kind)
	got, err := s.send(request)
	if err != nil {
		return "", err
	}
	if got.status != http.StatusBadRequest {
		return "", fmt.Errorf("answers %d: %s", got.status, got.body)
	}
	return Observation(refusal(got)), nil
}

func wrongKey(ctx context.Context, s *session) (Observation, error) {
	if s.Key == "" {
		return "", skip("the server demands no key")
	}
	var l lines
	for _, path := range []string{"/v1/models", "/health", "/version", "/metrics", "/tokenize"} {
		for _, key := range []string{"", "Bearer wrong", s.Key, "Bearer " + s.Key} {
			request, err := s.request(ctx, http.MethodGet, path, nil)
			if err != nil {
				return "", err
			}
			request.Header.Set("Authorization", key)
			got, err := s.send(request)
			if err != nil {
				return "", err
			}
			l.add("%s with %q: %d %s", path, strings.ReplaceAll(key, s.Key, "KEY"), got.status, denial(got))
		}
	}
	return l.seen(), nil
}

// denial is the body of a 401; other bodies do not matter here.
func denial(got reply) string {
	if got.status == http.StatusUnauthorized {
		return got.kind + " " + string(got.body)
	}
	return ""
}

// thoughts are what servers do with thinking and its budget.
func thoughts() []Check {
	return []Check{
		{"thinking/budget", "a budget ends the thinking at an exact place", budgetPlace},
		{"thinking/budget streamed", "in a stream as well", budgetStreamed},
		{"thinking/no budget", "budgets of -1, and none, end no thinking", budgetNone},
		{"thinking/cut", "an answer cut inside the thinking is reasoning alone", cutThinking},
		{"thinking/off", "enable_thinking: false leaves no reasoning", thinkingOff},
		{"thinking/budget without parser", "a budget that cannot be kept is refused", budgetRefused},
	}
}

// thinkEnd is the id of </think>.
func (s *session) thinkEnd(ctx context.Context) (int, error) {
	if !s.Thinking {
		return 0, skip("the server has no reasoning parser")
	}
	ids, _, err := s.tokens(ctx, fields{"model": s.Model, "prompt": "</think>"})
	if err == nil && len(ids) != 1 {
		err = fmt.Errorf("</think> is %d tokens", len(ids))
	}
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

func budgetPlace(ctx context.Context, s *session) (Observation, error) {
	end, err := s.thinkEnd(ctx)
	if err != nil {
		return "", err
	}
	var l lines
	for _, budget := range []int{1, 8, 20} {
		a, _, err := s.ask(ctx, fields{"thinking_token_budget": budget, "max_tokens": 32, "return_token_ids": true})
		if err != nil {
			return "", err
		}
		c := a.Choices[0]
		l.add("budget %d: </think> is token %d; reasoning %t, content %t", budget,
			slices.Index(c.Tokens, end)+1, c.Message.Reasoning != nil, c.Message.Content != nil)
	}
	return l.seen(), nil
}

func budgetStreamed(ctx context.Context, s *session) (Observation, error) {
	end, err := s.thinkEnd(ctx)
	if err != nil {
		return "", err
	}
	set := fields{"thinking_token_budget": 8, "max_tokens": 32, "return_token_ids": true, "stream_options": everyUsage}
	events, err := s.chunks(ctx, set)
	if err != nil {
		return "", err
	}
	var ids []int
	reasoning, content, late := false, false, false
	for _, e := range events {
		for _, c := range e.answer.Choices {
			ids = append(ids, c.Tokens...)
			late = late || content && c.Delta.Reasoning != nil
			reasoning = reasoning || value(c.Delta.Reasoning) != ""
			content = content || value(c.Delta.Content) != ""
		}
	}
	var l lines
	l.add("budget 8: </think> is token %d of %d; reasoning %t, then content %t, then reasoning again %t",
		slices.Index(ids, end)+1, len(ids), reasoning, content, late)
	return l.seen(), nil
}

func budgetNone(ctx context.Context, s *session) (Observation, error) {
	if _, err := s.thinkEnd(ctx); err != nil {
		return "", err
	}
	none, _, err := s.ask(ctx, nil)
	if err != nil {
		return "", err
	}
	unlimited, _, err := s.ask(ctx, fields{"thinking_token_budget": -1})
	if err != nil {
		return "", err
	}
	var l lines
	l.add("-1 gives the text without one: %t", none.text() == unlimited.text())
	return l.seen(), nil
}

func cutThinking(ctx context.Context, s *session) (Observation, error) {
	if _, err := s.thinkEnd(ctx); err != nil {
		return "", err
	}
	a, _, err := s.ask(ctx, fields{"thinking_token_budget": 20, "max_tokens": 8})
	if err != nil {
		return "", err
	}
	m := a.Choices[0].Message
	if m.Content != nil || value(m.Reasoning) == "" {
		return "", fmt.Errorf("content %q and reasoning %q", value(m.Content), value(m.Reasoning))
	}
	return Observation("content null, some reasoning, finish_reason " + *a.Choices[0].Finish), nil
}

func thinkingOff(ctx context.Context, s *session) (Observation, error) {
	a, _, err := s.ask(ctx, fields{"chat_template_kwargs": fields{"enable_thinking": false}})
	if err != nil {
		return "", err
	}
	m := a.Choices[0].Message
	if m.Reasoning != nil || m.Content == nil {
		return "", fmt.Errorf("content %q and reasoning %q", value(m.Content), value(m.Reasoning))
	}
	return "content, no reasoning", nil
}

func budgetRefused(ctx context.Context, s *session) (Observation, error) {
	if s.Thinking {
		return "", skip("the server has a reasoning parser")
	}
	set := fields{"thinking_token_budget": 8}
	got, err := s.post(ctx, chatPath, s.chat(set))
	if err != nil {
		return "", err
	}
	streamed, err := s.refusedStream(ctx, set)
	var l lines
	l.add("whole: %s", refusal(got))
	l.add("streamed: %s", streamed)
	return l.seen(), err
}

// lengths are answers whose length the client chooses.
func lengths() []Check {
	return []Check{
		{"length/ignore_eos", "with ignore_eos an answer has exactly max_tokens tokens", ignoreEOS},
		{"length/thinking", "a budget of thinking does not change that", ignoreEOSThinking},
	}
}

// tooLong is more tokens than models without weights write by themselves: they end
// an answer after a hundred and thirty on average.
const tooLong = 800

func ignoreEOS(ctx context.Context, s *session) (Observation, error) {
	var l lines
	for _, tokens := range []int{1, 2, tooLong} {
		a, _, err := s.ask(ctx, fields{"max_tokens": tokens})
		if err != nil {
			return "", err
		}
		if a.Usage.Completion != tokens {
			return "", fmt.Errorf("%d tokens asked for, %d came", tokens, a.Usage.Completion)
		}
		l.add("%d tokens asked for, as many came, finish_reason %s", tokens, *a.Choices[0].Finish)
	}
	events, err := s.chunks(ctx, fields{"max_tokens": tooLong, "stream_options": everyUsage})
	if err != nil {
		return "", err
	}
	if u := events[len(events)-1].answer.Usage; u == nil || u.Completion != tooLong {
		return "", fmt.Errorf("%d tokens asked for in a stream, usage %+v", tooLong, u)
	}
	l.add("as many in a stream")
	return l.seen(), nil
}

func ignoreEOSThinking(ctx context.Context, s *session) (Observation, error) {
	if !s.Thinking {
		return "", skip("the model does not think")
	}
	var l lines
	for _, tokens := range []int{4, 8, 9, 300} {
		a, _, err := s.ask(ctx, fields{"max_tokens": tokens, "thinking_token_budget": 8})
		if err != nil {
			return "", err
		}
		if a.Usage.Completion != tokens {
			return "", fmt.Errorf("%d tokens asked for with a budget of 8, %d came", tokens, a.Usage.Completion)
		}
		l.add("budget 8: %d tokens asked for, as many came", tokens)
	}
	return l.seen(), nil
}
