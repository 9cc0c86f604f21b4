package conformance

import (
	"context"
	"fmt"
)

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
