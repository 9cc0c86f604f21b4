package conformance

import (
	"context"
	"fmt"
	"net/http"
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
