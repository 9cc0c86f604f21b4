package evaluation

import (
	"fmt"
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
