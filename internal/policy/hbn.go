package policy

import (
	"context"
	"math"

	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/method/controller"
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
	Scores func(prior *neyman.Prior, s Setting) pilot.Scores
}

// Setting is the setting of a continuation.
type Setting struct {
	Tasks, Budget, M int     // N, b and m
	Alpha            float64 // prior strength, of policies that have one
}

// Continuation values the continuation of a draw: Σ p(1−p)/L over the tasks,
// for a sweep that stands at the pilot size of the setting.
type Continuation interface {
	Value(sw *pilot.Sweep, draw, budget int) float64
}

// Bench is the shared memory of a replay's continuations, which take turns on it.
type Bench struct {
	Prior     *neyman.Prior
	symmetric pilot.Symmetric
}

// Continuation is the continuation of a setting; it holds until the next call
// with this bench.
func (t *TwoStage) Continuation(b *Bench, s Setting) Continuation {
	if t.Folded != nil {
		b.symmetric.Prepare(t.Folded(s), s.Tasks, s.Tasks*(s.Budget-s.M))
		return &b.symmetric
	}
	return pilot.NewCounted(s.M, t.Scores(b.Prior, s))
}

// Allocates is the scores of a setting by successes, whichever their form.
func (t *TwoStage) Allocates(prior *neyman.Prior, s Setting) pilot.Scores {
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
	Unit    string                 // what units of the estimates are called
	Keys    []string               // of the configuration that these read, in addition to seed, budgets and draws
	Seconds func(p Panels) float64 // that one takes on a core of the machine that plans go by

	// OnPanels estimates C on panels of a prior, a unit for each number of tasks and
	// replicate: by prior strength, or a single one, candidate, and this one replicate.
	OnPanels func(ctx context.Context, p Panels, random seed.Stream) ([][][]float64, error)

	// OnProfile estimates C on one profile, a unit each: by candidate and batch of
	// draws. Estimates of profiles with equally many tasks are averaged, which is
	// hindsight.
	OnProfile func(ctx context.Context, probabilities []float64, cs pilot.Candidates, draws int, random seed.Stream) ([][]float64, error)

	// As is the policy whose selected designs this one takes.
	As *Policy

	// Candidates are the pilot sizes that are compared; nil: all.
	Candidates func(budgets []int) pilot.Candidates

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

// Panels are the settings of estimates on panels of a prior.
type Panels struct {
	Candidates pilot.Candidates
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

// draws is the work of all draws: of each candidate 1, m for a rollout of its pilot, and b for
// one of its budget. Even panels are fewer than independent ones by a factor.
func (p Panels) draws(m, b, fewer float64) (work float64) {
	for _, c := range p.Candidates {
		work += 1 + m*float64(c.M) + b*float64(c.Budget)
	}
	if p.Even {
		work /= fewer
	}
	return work * float64(p.Draws) / 8192
}

// ladders is the seconds for the gains of a score at all pilot sizes, whatever the draws.
func (p Panels) ladders() float64 {
	budget := float64(p.Candidates.LargestBudget())
	return 1.6e-8 * budget * math.Pow(min(budget, 256), 2)
}

// Batches is the number of groups of draws on a profile whose means are kept
// apart, so that differences between candidates, which share their draws, have
// an error too.
func Batches(draws int) int { return min(8, draws) }

// normalized turns continuation masses B into coefficients B/(N·v̄) of one replicate, v̄
// being the mean of p(1−p) under the prior: [candidate][replicate].
func (p Panels) normalized(masses []float64, meanVariance float64) (coefficients [][]float64) {
	for _, mass := range masses {
		coefficients = append(coefficients, []float64{mass / (float64(p.Tasks) * meanVariance)})
	}
	return coefficients
}

// HBN is the paper's policy: a continuation by the posterior scores of the
// hierarchical prior (paper, Eqs. 6 to 8), designed beforehand on panels of the
// prior (Eqs. 10 to 12).
var HBN = &Policy{
	Name: "hbn", Label: "HBN", Macro: "HBN", Donors: None, PaperTable: 1,
	TwoStage: &TwoStage{Scores: hbnScores},
	Design: Design{
		Unit: "hbn", Keys: []string{KeyOrder, KeyPanels}, OnPanels: hbnCoefficients,
		Seconds: func(p Panels) float64 { return 0.008 * p.draws(1./256, 0, 4) * float64(p.Order*p.Order) / 256 },
	},
}

// hbnScores are the posterior scores. Every node of the quadrature takes part.
func hbnScores(prior *neyman.Prior, s Setting) pilot.Scores {
	posterior, work := prior.Pilot(s.M), prior.NewWork()
	return func(counts []int, scores []float64) {
		quadratic := posterior.Scores(counts, work)
		for successes, n := range counts {
			if n != 0 {
				scores[successes] = quadratic.At(successes)
			}
		}
	}
}

// hbnCoefficients estimates HBN's continuation coefficients C = B/(N·v̄) on one
// replicate of panels (paper, Eq. 10).
func hbnCoefficients(ctx context.Context, p Panels, random seed.Stream) ([][][]float64, error) {
	prior, err := neyman.NewPrior(p.Order)
	if err != nil {
		return nil, err
	}
	panels := p.Draws
	if p.Even {
		panels = p.fewer(p.Draws / 4)
	}
	masses, err := pilot.Masses(ctx, prior, p.Candidates, p.Tasks, panels, p.Even, random)
	return [][][]float64{p.normalized(masses, neyman.MeanVariance)}, err
}

// HBNSync is HBN with a barrier after the pilot.
var HBNSync = &Strategy{
	Name: controller.Sync.String(), Label: "HBN-sync",
	Policy: HBN, Controller: controller.Sync,
}

// HBNAsync is HBN that fills the barrier with speculative rollouts.
var HBNAsync = &Strategy{
	Name: controller.Async.String(), Label: "HBN-async",
	Policy: HBN, Controller: controller.Async,
}

// EN is Tuned EN: a continuation by the empirical variances of the pilot (paper,
// Eq. 16), designed in hindsight on the profiles themselves (Eq. 17).
var EN = &Policy{
	Name: "tuned_en", Label: "Tuned EN", Macro: "EN", Donors: None, PaperTable: 1,
	TwoStage: &TwoStage{
		Folded: func(s Setting) []float64 { return enScores(s.M) },
	},
	Design: Design{Unit: "en", Seconds: func(p Panels) float64 { return 9e-6*p.draws(1./16, 0, 1)*float64(20+p.Tasks) + p.ladders() }, OnProfile: enCoefficients},
}

// enScores returns EN's scores S(m−S) for the folded counts S = 0, …, ⌊m/2⌋,
// without the common factor 1/[m(m+1)] (paper, Eq. 16).
func enScores(m int) []float64 {
	var scores []float64
	for j := range m/2 + 1 {
		scores = append(scores, float64(j*(m-j)))
	}
	return scores
}

// enCoefficients estimates EN's continuation coefficient C on one profile
// (paper, Eq. 17) for every candidate and batch of draws: [candidate][batch].
// All candidates share nested paths.
func enCoefficients(ctx context.Context, probabilities []float64, cs pilot.Candidates, draws int, random seed.Stream) ([][]float64, error) {
	tasks, rollouts := len(probabilities), cs.LongestPilot()
	coefficients := make([][]float64, len(cs))
	for k := range coefficients {
		coefficients[k] = make([]float64, Batches(draws))
	}
	var continuation pilot.Symmetric
	err := pilot.EachSweep(ctx, probabilities, draws, rollouts, random, func(sw *pilot.Sweep, first int) error {
		for m := 1; m <= rollouts; m++ {
			sw.Advance()
			which := cs.WithPilot(m)
			continuation.Prepare(enScores(m), tasks, tasks*(cs.LargestBudget()-m))
			for draw := range sw.Draws() {
				batch := batchOf(first+draw, draws)
				for _, k := range which {
					coefficients[k][batch] += continuation.Value(sw, draw, cs[k].Budget)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := 0.0
	for _, p := range probabilities {
		all += p * (1 - p)
	}
	for _, sums := range coefficients {
		for batch := range sums {
			sums[batch] /= all * float64(batchSize(batch, draws))
		}
	}
	return coefficients, nil
}

// batchOf returns the batch of a draw: consecutive draws, in sizes that differ
// by one at most.
func batchOf(draw, draws int) int {
	n := Batches(draws)
	return ((draw+1)*n - 1) / draws
}

// batchSize returns the number of draws in a batch.
func batchSize(batch, draws int) int {
	n := Batches(draws)
	return (batch+1)*draws/n - batch*draws/n
}

// IBN is Tuned IBN: a continuation by posterior variances under independent
// Beta(α, α) priors (paper, Eq. 15), designed on panels of that prior (Eq. 20),
// with α chosen in hindsight (Eq. 22).
var IBN = &Policy{
	Name: "tuned_ibn", Label: "Tuned IBN", Macro: "IBN", Donors: None, PaperTable: 1, Strength: true,
	TwoStage: &TwoStage{
		Folded: func(s Setting) []float64 {
			scores, _ := ibnScores(s.Alpha, s.M)
			return scores
		},
	},
	Design: Design{
		Unit: "ibn", Keys: []string{KeyAlphas, KeyPanels}, OnPanels: ibnCoefficients,
		Seconds: func(p Panels) float64 { return 0.015*p.draws(1./256, 0, 32) + float64(len(p.Alphas))*p.ladders() },
	},
}

// ibnScores returns IBN's scores (S+α)(m−S+α) for the folded counts
// S = 0, …, ⌊m/2⌋ and the unit that turns them into the posterior expectation
// of p(1−p) (paper, Eq. 15). For α with up to three decimals the scores are
// scaled to integers, so that gains that are equal are equal to the last bit.
func ibnScores(alpha float64, m int) (scores []float64, unit float64) {
	scale := 1.0
	for ; scale < 1e4 && alpha*scale != math.Round(alpha*scale); scale *= 10 {
	}
	a, n := alpha*scale, float64(m)*scale
	if scale == 1e4 {
		scale, a, n = 1, alpha, float64(m)
	}
	for j := range m/2 + 1 {
		s := float64(j) * scale
		scores = append(scores, (s+a)*(n-s+a))
	}
	return scores, (n + 2*a) * (n + 2*a + scale)
}

// ibnMeanVariance is E[p(1−p)] under a Beta(α, α) prior.
func ibnMeanVariance(alpha float64) float64 { return alpha / (2 * (2*alpha + 1)) }
