package evaluation

import (
	"fmt"
	"math"
	"strings"

	"speceval/method/controller"
	"speceval/method/design"
)

// Stop is what an evaluation is to reach, and what it may cost at most; it is decided at
// its barriers, by the selected rollouts that it has seen. Of what is 0 there is no
// limit.
type Stop struct {
	StandardError float64 `json:"standard_error,omitempty"` // as soon as it is expected to be no more
	Rollouts      int     `json:"rollouts,omitempty"`       // in all
	Tokens        int64   `json:"tokens,omitempty"`         // of answers that count, in all
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
		parts = append(parts, fmt.Sprintf("at most %d rollouts", s.Rollouts))
	}
	if s.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("at most %d tokens of answers", s.Tokens))
	}
	return strings.Join(parts, ", ")
}

// unsure is the quantile of the standard normal up to which tokens of the rest are
// expected to vary: 97.5%.
const unsure = 1.96

// remaining decides at barriers how many rollouts are left. seen is that of
// [Setup.Controller].
func (s Stop) remaining(seen func(task, rollouts int) (sum, squares float64)) func(controller.Barrier) int {
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
			left = min(left, s.affordable(b, seen))
		}
		return left
	}
}

// affordable is how many rollouts the tokens that are left are enough for, 39 times in
// 40, if each task goes on as it was and is given what its scores say.
func (s Stop) affordable(b controller.Barrier, seen func(task, rollouts int) (sum, squares float64)) int {
	var used, mean, square, weights float64
	for i, v := range b.Scores {
		n := float64(b.Rollouts[i])
		sum, squares := seen(i, b.Rollouts[i])
		used += sum
		if n == 0 {
			continue
		}
		weight := b.Rest[i] * math.Sqrt(v)
		if b.TaskShares != nil {
			weight *= b.TaskShares[i]
		}
		mean += weight * sum / n
		square += weight * squares / n
		weights += weight
	}
	rest := float64(s.Tokens) - used
	if weights == 0 || mean == 0 || rest <= 0 {
		return 0
	}
	mean, square = mean/weights, square/weights
	deviation := math.Sqrt(max(0, square-mean*mean))
	// The root n of n·mean + unsure·deviation·√n = rest.
	half := unsure * deviation / (2 * mean)
	root := -half + math.Sqrt(half*half+rest/mean)
	return int(root * root)
}
