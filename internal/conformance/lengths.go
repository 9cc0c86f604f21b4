package conformance

import (
	"context"
	"fmt"
)

// lengths are answers whose length the client chooses.
func lengths() []Check {
	return []Check{
		{"length/thinking", "with ignore_eos an answer has exactly max_tokens tokens, a budget of thinking or not", ignoreEOSThinking},
	}
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
