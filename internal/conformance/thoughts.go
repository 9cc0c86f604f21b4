package conformance

import (
	"context"
	"fmt"
	"slices"
)

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
