package policy

import (
	"context"

	"speceval/internal/exante"
	"speceval/internal/seed"
	"speceval/internal/sweep"
	"speceval/method/neyman"
)

// TwoStage is a policy that asks a pilot of m rollouts of every task, and
// allocates the rest of the budget by scores of the tasks, exactly and in whole
// rollouts (paper, Eq. 8). The pilot's mean has the weight w, the continuation's
// 1 − w. The scores have one of two forms.
type TwoStage struct {
	// Folded scores depend on a task's pilot alone and are the same for S and m − S
	// successes: those of the folded counts 0, …, ⌊m/2⌋. None is negative.
	Folded func(s Setting) []float64

	// Scores depend on the pilots of all tasks.
	Scores func(prior *neyman.Prior, s Setting) sweep.Scores
}

// Setting is what a continuation is of.
type Setting struct {
	Tasks, Budget, M int     // N, b and m
	Alpha            float64 // prior strength, of policies that have one
}

// Continuation values the continuation of a draw: Σ p(1−p)/L over the tasks,
// for a sweep that stands at the pilot size of the setting.
type Continuation interface {
	Value(sw *sweep.Sweep, draw, budget int) float64
}

// Bench is what the continuations of a replay take turns on.
type Bench struct {
	Prior     *neyman.Prior
	symmetric sweep.Symmetric
}

// Continuation is the continuation of a setting; it holds until the next call
// with this bench.
func (t *TwoStage) Continuation(b *Bench, s Setting) Continuation {
	if t.Folded != nil {
		b.symmetric.Prepare(t.Folded(s), s.Tasks, s.Tasks*(s.Budget-s.M))
		return &b.symmetric
	}
	return sweep.NewCounted(s.M, t.Scores(b.Prior, s))
}

// Allocates is the scores of a setting by successes, whichever their form.
func (t *TwoStage) Allocates(prior *neyman.Prior, s Setting) sweep.Scores {
	if t.Scores != nil {
		return t.Scores(prior, s)
	}
	folded := t.Folded(s)
	return func(_ []int, scores []float64) {
		for successes := range scores {
			scores[successes] = folded[min(successes, s.M-successes)]
		}
	}
}

// Design is how m and w are found before a rollout is seen: by estimates of the
// continuation coefficient C, the mean of Σ(v/L)/Σv over pilots, for every
// candidate. They have one of these sources.
type Design struct {
	Unit    string                  // what units of the estimates are called
	Keys    []string                // of the configuration that these read, beside seed, budgets and draws
	Seconds func(tasks int) float64 // that one takes on a core at the paper's 8192 draws

	// OnPanels estimates C on panels of a prior, a unit for each number of tasks and
	// replicate: by prior strength, or a single one, and candidate.
	OnPanels func(ctx context.Context, p Panels, random seed.Stream) ([][]float64, error)

	// OnProfile estimates C on one profile, a unit each: by candidate and batch of
	// draws. Estimates of profiles with equally many tasks are averaged, which is
	// hindsight.
	OnProfile func(ctx context.Context, probabilities []float64, cs exante.Candidates, draws int, random seed.Stream) ([][]float64, error)

	// As is the policy whose selected designs this one takes.
	As *Policy

	// Candidates are the pilot sizes that are compared; nil: all.
	Candidates func(budgets []int) exante.Candidates

	// OnDonors says that there is a design for each profile, on panels of the prior
	// that its donors inform. It is made where the profile is replayed.
	OnDonors bool
}

// Keys of the configuration that some designs read.
const (
	KeyOrder  = "replay.quadrature_order"
	KeyAlphas = "replay.ibn_alphas"
	KeyPanels = "replay.panels"
)

// Panels is what estimates on panels of a prior are made of.
type Panels struct {
	Candidates exante.Candidates
	Tasks      int       // N of a panel
	Draws      int       // panels
	Order      int       // Gauss–Legendre nodes in each of ξ and δ
	Alphas     []float64 // prior strengths, ascending

	// Even panels are fewer than Draws, and tell candidates apart as well: what is known
	// of the prior takes most of their noise away. Otherwise panels are independent, as
	// the paper's are.
	Even bool
}

// fewer is a number of even panels, of a replicate.
func (p Panels) fewer(n int) int { return max(min(2, p.Draws), n) }

// Batches is the number of groups of draws on a profile whose means are kept
// apart, so that differences between candidates, which share their draws, have
// an error too.
func Batches(draws int) int { return min(8, draws) }

// normalize turns continuation masses B into coefficients B/(N·v̄), v̄ being the
// mean of p(1−p) under the prior.
func (p Panels) normalize(masses []float64, meanVariance float64) {
	for k := range masses {
		masses[k] /= float64(p.Tasks) * meanVariance
	}
}
