package replay

import (
	"context"
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// evaluation is one whole evaluation of a profile, every rollout of it a
// Bernoulli outcome: it returns the estimate of the benchmark mean.
type evaluation func(random *seed.Stream) float64

// fixed evaluates with an allocation that is known beforehand (paper, Section
// 3.1): the mean over tasks of the share that passed.
func fixed(ps []float64, allocation []int) evaluation {
	return func(random *seed.Stream) float64 {
		sum := 0.0
		for i, n := range allocation {
			sum += float64(pilot.Passes(n, ps[i], random)) / float64(n)
		}
		return sum / float64(len(ps))
	}
}

// continued divides the continuation of a pilot, by the passes of all tasks: the exact
// integer allocation to their scores (paper, Eqs. 6 to 8). It holds until the next call.
func continued(s policy.Setting, rule pilot.Scores) func(passes []int) ([]int, error) {
	counts, byCount, scores := make([]int, s.M+1), make([]float64, s.M+1), make([]float64, s.Tasks)
	var allocator neyman.Allocator
	return func(passes []int) ([]int, error) {
		clear(counts)
		for _, n := range passes {
			counts[n]++
		}
		rule(counts, byCount)
		for i, n := range passes {
			scores[i] = byCount[n]
		}
		return allocator.Allocate(scores, s.Tasks*(s.Budget-s.M))
	}
}

// twoStage evaluates in two stages: a pilot of every task, its continuation in fresh
// rollouts, and the two means with fixed weights (paper, Eq. 4).
func twoStage(ps []float64, s policy.Setting, w float64, rule pilot.Scores) evaluation {
	passes, continuation := make([]int, len(ps)), continued(s, rule)
	return func(random *seed.Stream) float64 {
		first, second, tasks := 0, 0.0, float64(len(ps))
		for i, p := range ps {
			passes[i] = pilot.Passes(s.M, p, random)
			first += passes[i]
		}
		allocation, err := continuation(passes)
		if err != nil { // a design leaves each task a rollout, and no scores are negative
			panic(err)
		}
		for i, n := range allocation {
			second += float64(pilot.Passes(n, ps[i], random)) / float64(n)
		}
		return float64(w*(float64(first)/(tasks*float64(s.M)))) + (1-w)*(second/tasks)
	}
}

// distribution is the sampling distribution of estimates: a histogram with the first two moments.
type distribution struct {
	lattice     float64       // N·b: Uniform's estimates are multiples of 1/lattice
	width       int           // of a bin, in those
	counts      map[int]int64 // by bin
	repetitions int64
	truth       float64
	sum, square float64 // of estimate − truth, against cancellation
}

func (e *distribution) addEstimate(estimate float64) {
	e.counts[int(estimate*e.lattice+0.5)/e.width]++
	e.repetitions++
	d := estimate - e.truth
	e.sum += d
	e.square += d * d
}

// rows are the bins from the first to the last that is not empty. A bin begins
// half a step of Uniform's lattice before a multiple of its width, so that every
// bin has equally many of Uniform's values and none lies on an edge.
func (e *distribution) rows(like variance.Estimates) []variance.Estimates {
	n := float64(e.repetitions)
	like.Repetitions, like.Truth = e.repetitions, e.truth
	like.Mean = e.truth + e.sum/n
	like.SD = math.Sqrt(max(0, e.square-e.sum*e.sum/n) / (n - 1))
	like.MeanSE = like.SD / math.Sqrt(n)
	first, last := math.MaxInt, 0
	for bin := range e.counts {
		first, last = min(first, bin), max(last, bin)
	}
	edge := func(bin int) float64 { return (float64(bin*e.width) - 0.5) / e.lattice }
	var rows []variance.Estimates
	for bin := first; bin <= last; bin++ {
		row := like
		row.Low, row.High, row.Count = edge(bin), edge(bin+1), e.counts[bin]
		rows = append(rows, row)
	}
	return rows
}

// binsPerSD is how many bins a standard deviation of Uniform's estimate has, as
// nearly as its lattice allows. The occupied range is some nine of these.
const binsPerSD = 10

// checkEvery is the number of evaluations between looks at whether to go on.
const checkEvery = 4096

// caseStudy simulates whole evaluations of a profile under the policies of the case study,
// the policies in two stages with the design of the replayed ratio, and compares their
// spread with the spread by the variance formulas (paper, Eqs. 1 and 9).
func caseStudy(ctx context.Context, p profile.Profile, replayed variance.Ratio, prior *neyman.Prior, repetitions int, at seed.Seed) ([]variance.Estimates, error) {
	ps, budget := probabilities(p), int(replayed.Budget)
	spread := math.Sqrt(total(variances(ps))/float64(budget)) / float64(len(ps)) // of Uniform
	lattice := float64(len(ps) * budget)
	var rows []variance.Estimates
	for _, of := range policy.CaseStudy {
		once, ratio, err := evaluations(of, p, replayed, prior)
		if err != nil {
			return nil, err
		}
		e := distribution{
			lattice: lattice, width: max(1, int(math.Round(lattice*spread/binsPerSD))),
			counts: map[int]int64{}, truth: total(ps) / float64(len(ps)),
		}
		random := at.Child(of.Name).Stream()
		for i := range repetitions {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			e.addEstimate(once(&random))
		}
		rows = append(rows, e.rows(variance.Estimates{
			Benchmark: p.Benchmark, Model: p.Model, Budget: replayed.Budget, Policy: of.Name,
			Expected: math.Sqrt(ratio) * spread,
		})...)
	}
	return rows, nil
}

// evaluations is how a policy evaluates a profile, with the variance relative to
// Uniform's. One in two stages has the design and the ratio of the replayed row.
func evaluations(of *policy.Policy, p profile.Profile, replayed variance.Ratio, prior *neyman.Prior) (evaluation, float64, error) {
	ps := probabilities(p)
	switch {
	case of.Fixed != nil:
		r, allocation, err := knownRatio(of, p, replayed.Budget)
		if of == policy.Uniform {
			r.VarianceRatio = 1 // without rounding
		}
		return fixed(ps, allocation), r.VarianceRatio, err
	case of.Key() == replayed.Key():
		s := policy.Setting{Tasks: len(ps), Budget: int(replayed.Budget), M: int(*replayed.M)}
		return twoStage(ps, s, *replayed.W, of.TwoStage.Allocates(prior, s)), replayed.VarianceRatio, nil
	}
	return nil, 0, fmt.Errorf("the case study of %s has no ratio of %s", p.Name(), of.Name)
}

// CaseStudy is the profile that is looked at closely (paper, Appendix C.2).
type CaseStudy struct {
	Profile     string // its name; there is no study where it is not among the pairs
	Budget      int    // rollouts per task of the sampling distributions
	Repetitions int    // simulated evaluations of each policy, at least 2
}

// caseUnits simulate evaluations of one profile at one budget. There are none where the
// profile is not evaluated or the budget not replayed.
func (b *builder) caseUnits(twoStage dag.Unit) []dag.Unit {
	at := slices.IndexFunc(b.pairs, func(p pair.Pair) bool { return p.Name() == b.CaseStudy.Profile })
	if at < 0 || !slices.Contains(b.Budgets, b.CaseStudy.Budget) {
		return nil
	}
	of := b.pairs[at]
	u := b.gather("case_study", []string{keySeed, keyOrder, "replay.case_study.profile", "replay.case_study.budget", "replay.case_study.repetitions"}, []string{variance.EstimatesFile}, twoStage)
	u.Cost = caseSeconds * float64(b.CaseStudy.Repetitions*b.CaseStudy.Budget*of.N())
	b.onProfile(&u, of, policy.None, rowsOf(variance.EstimatesFile, "case_study.v1", func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) ([]variance.Estimates, error) {
		ratios, prior, err := b.underDesigns(job, of)
		i := slices.IndexFunc(ratios, func(r variance.Ratio) bool {
			return r.Policy == policy.HBN.Name && int(r.Budget) == b.CaseStudy.Budget
		})
		if err != nil || i < 0 {
			return nil, err
		}
		return caseStudy(ctx, p, ratios[i], prior, b.CaseStudy.Repetitions, at)
	}))
	return []dag.Unit{u}
}
