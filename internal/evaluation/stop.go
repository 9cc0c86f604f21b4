package evaluation

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"speceval/internal/evaluation/ledger"
	"speceval/method/controller"
	"speceval/method/design"
)

// Stop is what an evaluation is to reach, and what it may cost at most; it is decided at
// its barriers, by the selected rollouts that it has seen. Of what is 0 there is no
// limit.
type Stop struct {
	StandardError float64 `json:"standard_error,omitempty"` // as soon as it is expected to be no more
	Rollouts      int     `json:"rollouts,omitempty"`       // in all, discarded ones too
	Tokens        int64   `json:"tokens,omitempty"`         // of all answers, discarded and unfinished ones too
	Dollars       float64 `json:"usd,omitempty"`            // of all requests, in the place of Tokens
}

// name is part of the name of an evaluation.
func (s Stop) name() string { return s.join("-", "se%g", "r%.0f", "t%.0f", "usd%g") }

// Words are the goal in words, for people.
func (s Stop) Words() string {
	return s.join(", ", "until the standard error is %g", "at most %.0f rollouts in all", "at most %.0f tokens of all answers", "at most $%g for all requests")
}

// join joins what is limited, each in a form of its own.
func (s Stop) join(by string, forms ...string) string {
	var parts []string
	for i, limit := range []float64{s.StandardError, float64(s.Rollouts), float64(s.Tokens), s.Dollars} {
		if limit > 0 {
			parts = append(parts, fmt.Sprintf(forms[i], limit))
		}
	}
	return strings.Join(parts, by)
}

// remaining decides at barriers how many rollouts are left. used is that of
// [Setup.Controller]. small hears of a limit on tokens that is too small for one more stage
// after the pilot, and of the least that is enough.
func (s *Setup) remaining(used func(task, rollouts int) ledger.Used, small func(least int64)) func(controller.Barrier) int {
	return func(b controller.Barrier) int {
		spent := 0
		for _, n := range b.Rollouts {
			spent += n
		}
		left := design.MostBudget*len(b.Scores) - spent
		if s.Stop.StandardError > 0 {
			left = min(left, b.Toward(s.Stop.StandardError*s.Stop.StandardError))
		}
		if s.Stop.Rollouts > 0 {
			left = min(left, s.Stop.Rollouts-spent)
		}
		if limit := s.Limit(); limit > 0 {
			all, next := ledger.Foresee(b, used)
			if next.Seen == 0 { // another program tells no tokens
				return b.Least
			}
			rest := float64(limit) - all
			// The least number whose cost may be too much.
			left = min(left, sort.Search(max(left, b.Least)+1, func(n int) bool { return next.Most(n) > rest })-1)
			if least := next.Most(b.Least); least > rest && b.Stages == 1 {
				small(ledger.Round(all + least))
			}
		}
		return left
	}
}

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

// tooSmall ends the evaluation, and all requests: its limit on tokens is less than the least.
func (e *engine) tooSmall(least int64) {
	e.stop(&CapError{Setup: &e.Setup, Least: max(least, ledger.Round(float64(e.Setup.Limit()+1))), Folder: e.Folder})
	e.end()
}

// CapError is the end of an evaluation whose limit on tokens is too small for its pilot and
// one more stage. There is no estimate; an evaluation with a larger limit adopts the answers.
type CapError struct {
	Setup   *Setup
	Least   int64 // limit that is enough, as far as is known
	Answers int   // that are there
	Folder  string
}

// Error names both, and says what becomes of the answers.
func (e *CapError) Error() string {
	limit := e.Setup.LimitText(e.Setup.Limit())
	flag, _, _ := strings.Cut(limit, " ")
	_, least, _ := strings.Cut(e.Setup.LimitText(e.Least), " ")
	return fmt.Sprintf("%s is too small for the pilot and one more stage: by the %d answers so far %s is the least that is enough; these stay in %s, and the same command with a larger %s goes on from them", limit, e.Answers, least, e.Folder, flag)
}
