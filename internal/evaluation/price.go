package evaluation

import (
	"fmt"
	"math"
)

// PromptWeight is the count of a prompt's token toward [Setup.Limit].
func (s *Setup) PromptWeight() float64 {
	if s.Stop == nil || s.Stop.Dollars == 0 || s.Price == nil {
		return 0
	}
	return s.Price.Prompt / s.Price.Completion
}

// perDollar is what of [Setup.Limit] a dollar buys: tokens of answers, and millionths without
// prices, where another program says what its rollouts cost.
func (s *Setup) perDollar() float64 {
	if s.Price == nil {
		return 1e6
	}
	return 1e6 / s.Price.Completion
}

// Limit is the tokens of answers that the evaluation may take; 0: any number. Under a limit
// on dollars prompts count, too, by what they cost in tokens of answers.
func (s *Setup) Limit() int64 {
	switch {
	case s.Stop == nil:
		return 0
	case s.Stop.Dollars > 0:
		return max(1, int64(math.Floor(s.Stop.Dollars*s.perDollar())))
	}
	return s.Stop.Tokens
}

// LimitText is the flag of a limit with this number of its tokens.
func (s *Setup) LimitText(tokens int64) string {
	if s.Stop.Dollars > 0 {
		return fmt.Sprintf("--max-usd %.3g", float64(tokens)/s.perDollar())
	}
	return fmt.Sprintf("--max-tokens %d", tokens)
}
