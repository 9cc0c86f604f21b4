package evaluation

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"speceval/method/controller"
	"speceval/method/design"
)

// Stop is what an evaluation is to reach, and what it may cost at most; it is decided at
// its barriers, by the selected rollouts that it has seen. Of what is 0 there is no
// limit.
type Stop struct {
	StandardError float64 `json:"standard_error,omitempty"` // as soon as it is expected to be no more
	Rollouts      int     `json:"rollouts,omitempty"`       // in all, those that do not count too
	Tokens        int64   `json:"tokens,omitempty"`         // of all answers, those that do not count or came to no end too
}

// name is part of the name of an evaluation.
func (s Stop) name() string {
	var parts []string
	if s.StandardError > 0 {
		parts = append(parts, fmt.Sprintf("se%g", s.StandardError))
	}
	if s.Rollouts > 0 {
		parts = append(parts, fmt.Sprintf("r%d", s.Rollouts))
	}
	if s.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("t%d", s.Tokens))
	}
	return strings.Join(parts, "-")
}

// Words are what it is, for people.
func (s Stop) Words() string {
	var parts []string
	if s.StandardError > 0 {
		parts = append(parts, fmt.Sprintf("until the standard error is %g", s.StandardError))
	}
	if s.Rollouts > 0 {
		parts = append(parts, fmt.Sprintf("at most %d rollouts in all", s.Rollouts))
	}
	if s.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("at most %d tokens of all answers", s.Tokens))
	}
	return strings.Join(parts, ", ")
}

// capped reports whether rollouts or tokens are limited: nothing is submitted then that has
// not been selected, since what it takes depends on time, and would count.
func (s *Stop) capped() bool { return s != nil && (s.Rollouts > 0 || s.Tokens > 0) }

// tokens is the limit on them; 0: none.
func (s *Stop) tokens() int64 {
	if s == nil {
		return 0
	}
	return s.Tokens
}

// Used is what answers have taken, in tokens.
type Used struct {
	All     float64 // tries that came to nothing included
	Sum     float64 // of the answers
	Squares float64 // of their lengths
}

func (u *Used) add(o Used) { u.All, u.Sum, u.Squares = u.All+o.All, u.Sum+o.Sum, u.Squares+o.Squares }

// remaining decides at barriers how many rollouts are left. used is that of
// [Setup.Controller]. small hears of a limit on tokens that is too small for one more stage
// after the pilot, and of the least that is enough.
func (s Stop) remaining(used func(task, rollouts int) Used, small func(least int64)) func(controller.Barrier) int {
	return func(b controller.Barrier) int {
		spent := 0
		for _, n := range b.Rollouts {
			spent += n
		}
		left := design.MostBudget*len(b.Scores) - spent
		if s.StandardError > 0 {
			left = min(left, b.Toward(s.StandardError*s.StandardError))
		}
		if s.Rollouts > 0 {
			left = min(left, s.Rollouts-spent)
		}
		if s.Tokens > 0 {
			all, next := foresee(b, used)
			if next.seen == 0 { // another program tells no tokens
				return b.Least
			}
			rest := float64(s.Tokens) - all
			// The least number whose cost may be too much.
			left = min(left, sort.Search(max(left, b.Least)+1, func(n int) bool { return next.most(n) > rest })-1)
			if least := next.most(b.Least); least > rest && b.Stages == 1 {
				small(enough(all + least))
			}
		}
		return left
	}
}

// lengths are those of answers, in tokens, as far as answers that are there have them.
type lengths struct {
	seen   float64 // answers, as many as would say as much of the mean if all weighed alike
	mean   float64
	square float64 // mean of the squares
}

// certain is the quantile of the standard normal that is exceeded once in a thousand times.
const certain = 3.09

// most is what so many further answers take, and no more but once in a thousand times: they
// vary, and so does the mean of those that are there. Of few answers the deviation is not
// known well, for which Student's quantile is approximated.
func (l lengths) most(rollouts int) float64 {
	n := float64(rollouts)
	if n <= 0 {
		return 0
	}
	quantile := certain + (certain*certain*certain+certain)/(4*max(1, l.seen-1))
	deviation := math.Sqrt(max(0, l.square-l.mean*l.mean))
	return n*l.mean + quantile*deviation*math.Sqrt(n+n*n/l.seen)
}

// Foreseen returns the tokens that so many answers take at most, but for once in a thousand
// times, by the mean length of others: if lengths deviate as those of an exponential law do.
func Foreseen(rollouts, others int, mean float64) int64 {
	return enough(lengths{float64(others), mean, 2 * mean * mean}.most(rollouts))
}

// foresee returns what has been used at a barrier, and the lengths of answers to come. Each
// task goes on as it was, one answer of all tasks' mean with its own, since the answers of a
// task decide on its further ones, too. Tasks weigh by what their scores say that they will
// be given, or alike if that is longer: each is given a rollout at least.
func foresee(b controller.Barrier, used func(task, rollouts int) Used) (all float64, next lengths) {
	var sum Used
	count := 0.0
	for i, n := range b.Rollouts {
		sum.add(used(i, n))
		count += float64(n)
	}
	if count == 0 || sum.Sum == 0 {
		return sum.All, lengths{}
	}
	mean, square := sum.Sum/count, sum.Squares/count
	weigh := func(weight func(task int) float64) (l lengths) {
		weights, inverse := 0.0, 0.0
		for i, rest := range b.Rest {
			if rest <= 0 {
				continue
			}
			w, own, n := weight(i), used(i, b.Rollouts[i]), float64(b.Rollouts[i])
			l.mean += w * (own.Sum + mean) / (n + 1)
			l.square += w * (own.Squares + square) / (n + 1)
			inverse += w * w / max(1, n)
			weights += w
		}
		if weights == 0 {
			return lengths{count, mean, square}
		}
		return lengths{weights * weights / inverse, l.mean / weights, l.square / weights}
	}
	scored := weigh(func(i int) float64 {
		w := b.Rest[i] * math.Sqrt(b.Scores[i])
		if b.TaskShares != nil {
			w *= b.TaskShares[i]
		}
		return w
	})
	alike := weigh(func(int) float64 { return 1 })
	if alike.most(b.Least) > scored.most(b.Least) {
		return sum.All, alike
	}
	return sum.All, scored
}

// enough is a number of tokens, rounded up to two digits.
func enough(tokens float64) int64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(10, tokens)))-1)
	return int64(math.Ceil(tokens/unit) * unit)
}

// CapError is the end of an evaluation whose limit on tokens is too small for its pilot and
// one more stage. There is no estimate.
type CapError struct {
	Tokens, Least int64 // the limit, and the least that is enough, as far as is known
	Answers       int   // that are there
	Folder        string
}

// Error names both, and says what becomes of the answers.
func (e *CapError) Error() string {
	return fmt.Sprintf("--max-tokens %d is too small for the pilot and one more stage: by the %d answers so far %d is the least that is enough; these stay in %s, and an evaluation with another --max-tokens asks for its own", e.Tokens, e.Answers, e.Least, e.Folder)
}
