package studies

import (
	"context"
	"errors"
	"fmt"
	"math"

	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/estimate"
)

// asked is a question with a budget and a floor.
type asked struct {
	estimate.Question
	budget int
}

// questions are those of every budget: with a floor of k, and with one of half of it.
func questions() (all []asked) {
	for _, budget := range []int{8, 16, 32} {
		pilots := plan(budget).Pilots
		for _, k := range []int{2, 4, 8} {
			for _, floor := range []int{k, k / 2} {
				q := estimate.Question{K: k, Least: floor}
				if floor < q.Floor(pilots) || floor > budget-pilots || floor < k && k != 4 {
					continue
				}
				all = append(all, asked{q, budget})
				q.Any = true
				all = append(all, asked{q, budget})
			}
		}
	}
	return all
}

// passk lets HBN with a floor evaluate every profile, and compares estimates of pass^k
// and pass@k with the profile's.
func (s *study) passk(ctx context.Context) error {
	s.heading(fmt.Sprintf("passk: %d evaluations by HBN of each of %d profiles", s.number, len(s.profiles)),
		"b", "question", "floor", "bias, s.e.", "its squares", "coverage", "5% of profiles", "least", "stated over seen error", "variance over Uniform's")
	for _, q := range questions() {
		scores, err := collect(ctx, s, fmt.Sprintf("passk %v %d %d", q, q.budget, q.Least), func(_ int, p profile.Profile, random *seed.Stream) (score, error) {
			return s.answers(q, p, random)
		})
		if err != nil {
			return err
		}
		sum := summarize(scores)
		ratio := 0.0
		for _, c := range scores {
			ratio += c.square / float64(c.count) / c.versus / float64(len(scores))
		}
		s.line(q.budget, q, q.Least, fmt.Sprintf("%+.2f", sum.bias), fmt.Sprintf("%.2f", sum.biases), cell(sum.coverage, sum.error),
			percent(sum.low), percent(sum.least), fmt.Sprintf("%.3f", sum.stated), fmt.Sprintf("%.3f", ratio))
		if err := errors.Join(s.covers(sum, 0.93, q.String()), s.unbiased(q, sum)); err != nil {
			return err
		}
	}
	return nil
}

// unbiased is an error if estimates are off by many of their errors, on average over
// profiles.
func (s *study) unbiased(q asked, m summary) error {
	if s.number >= fewest && math.Abs(m.bias) > 4.5 {
		return fmt.Errorf("%v at b = %d is biased by %.1f of its errors", q, q.budget, m.bias)
	}
	return nil
}

// answers draws evaluations of a profile.
func (s *study) answers(q asked, p profile.Profile, random *seed.Stream) (c score, err error) {
	e, ps := s.evaluator(), probabilities(p)
	design := plan(q.budget)
	design.Least = q.Least
	truth := 0.0
	for _, x := range ps {
		c.versus += uniformly(q, x) / float64(len(ps)*len(ps))
		if q.Any {
			truth += (1 - math.Pow(1-x, float64(q.K))) / float64(len(ps))
		} else {
			truth += math.Pow(x, float64(q.K)) / float64(len(ps))
		}
	}
	for range s.number {
		tasks, err := e.evaluate(ps, q.budget, design, random)
		if err != nil {
			return c, err
		}
		a, err := q.Of(s.prior, tasks)
		if err != nil {
			return c, err
		}
		c.add(truth, a.Value, a.StandardError, a.Low, a.High)
	}
	return c, nil
}

// uniformly is the variance of the estimate of a task that passes with the chance p, by
// budget rollouts of it: of C(S,k)/C(n,k).
func uniformly(q asked, p float64) float64 {
	if q.Any {
		p = 1 - p
	}
	n, mean, square, chance := q.budget, 0.0, 0.0, math.Pow(1-p, float64(q.budget))
	if p == 1 || p == 0 {
		return 0
	}
	for s := range n + 1 {
		value := 1.0
		for j := range q.K {
			value *= math.Max(0, float64(s-j)) / float64(n-j)
		}
		mean += chance * value
		square += chance * value * value
		chance *= p / (1 - p) * float64(n-s) / float64(s+1)
	}
	return square - mean*mean
}
