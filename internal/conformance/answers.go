package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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
