package evaluation

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"speceval/internal/ledger"
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
func (s Stop) name() string { return s.join("-", "se%g", "r%d", "t%d", "usd%g") }

// Words are the goal in words, for people.
func (s Stop) Words() string {
	return s.join(", ", "until the standard error is %g", "at most %d rollouts in all", "at most %d tokens of all answers", "at most $%g for all requests")
}

// join joins what is limited, each in a form of its own.
func (s Stop) join(by, standardError, rollouts, tokens, dollars string) string {
	var parts []string
	add := func(limited bool, format string, limit any) {
		if limited {
			parts = append(parts, fmt.Sprintf(format, limit))
		}
	}
	add(s.StandardError > 0, standardError, s.StandardError)
	add(s.Rollouts > 0, rollouts, s.Rollouts)
	add(s.Tokens > 0, tokens, s.Tokens)
	add(s.Dollars > 0, dollars, s.Dollars)
	return strings.Join(parts, by)
}

// capped reports whether rollouts or tokens are limited: nothing is submitted then that has
// not been selected, since what it takes depends on time, and would count.
func (s *Stop) capped() bool { return s != nil && (s.Rollouts > 0 || s.Tokens > 0 || s.Dollars > 0) }

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
			all, next := foresee(b, used)
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

// foresee returns what has been used at a barrier, and the lengths of answers to come. Each
// task goes on as it was, one answer of all tasks' mean with its own, since the answers of a
// task decide on its further ones, too. Tasks weigh by what their scores say that they will
// be given, or alike if that is longer: each is given a rollout at least.
func foresee(b controller.Barrier, used func(task, rollouts int) ledger.Used) (all float64, next ledger.Lengths) {
	var sum ledger.Used
	count := 0.0
	for i, n := range b.Rollouts {
		sum.Add(used(i, n))
		count += float64(n)
	}
	if count == 0 || sum.Sum == 0 {
		return sum.All, ledger.Lengths{}
	}
	mean, square := sum.Sum/count, sum.Squares/count
	weigh := func(weight func(task int) float64) (l ledger.Lengths) {
		weights, inverse := 0.0, 0.0
		for i, rest := range b.Rest {
			if rest <= 0 {
				continue
			}
			w, own, n := weight(i), used(i, b.Rollouts[i]), float64(b.Rollouts[i])
			l.Mean += w * (own.Sum + mean) / (n + 1)
			l.Square += w * (own.Squares + square) / (n + 1)
			inverse += w * w / max(1, n)
			weights += w
		}
		if weights == 0 {
			return ledger.Lengths{Seen: count, Mean: mean, Square: square}
		}
		return ledger.Lengths{Seen: weights * weights / inverse, Mean: l.Mean / weights, Square: l.Square / weights}
	}
	scored := weigh(func(i int) float64 {
		w := b.Rest[i] * math.Sqrt(b.Scores[i])
		if b.TaskShares != nil {
			w *= b.TaskShares[i]
		}
		return w
	})
	alike := weigh(func(int) float64 { return 1 })
	if alike.Most(b.Least) > scored.Most(b.Least) {
		return sum.All, alike
	}
	return sum.All, scored
}
