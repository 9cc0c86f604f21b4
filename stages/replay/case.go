package replay

import (
	"context"
	"math"

	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
)

// evaluation is one whole evaluation of a profile, every rollout of it a
// Bernoulli outcome: it returns the estimate of the benchmark mean.
type evaluation func(random *seed.Stream) float64

// rollouts are outcomes of a task, of which only the number passed is kept.
type rollouts struct{ path []uint64 }

func (r *rollouts) passed(n int, p float64, random *seed.Stream) int {
	r.path = sized(r.path, pilot.Words(n))
	pilot.Bernoulli(r.path, n, p, random)
	return pilot.Successes(r.path, n)
}

// fixed evaluates with an allocation that is known beforehand (paper, Section
// 3.1): the mean over tasks of the share that passed.
func fixed(ps []float64, allocation []int) evaluation {
	var r rollouts
	return func(random *seed.Stream) float64 {
		sum := 0.0
		for i, n := range allocation {
			sum += float64(r.passed(n, ps[i], random)) / float64(n)
		}
		return sum / float64(len(ps))
	}
}

// twoStage evaluates by HBN: a pilot of every task, the exact integer allocation
// of the continuation to its posterior scores, fresh rollouts, and the two
// means with fixed weights (paper, Eqs. 4 and 6 to 8).
func twoStage(ps []float64, d variance.Design, prior *neyman.Prior) evaluation {
	m, tasks := int(d.M), float64(len(ps))
	posterior, work := prior.Pilot(m), prior.NewWork()
	counts, successes, scores := make([]int, m+1), make([]int, len(ps)), make([]float64, len(ps))
	var r rollouts
	return func(random *seed.Stream) float64 {
		clear(counts)
		first, second := 0, 0.0
		for i, p := range ps {
			successes[i] = r.passed(m, p, random)
			counts[successes[i]]++
			first += successes[i]
		}
		byCount := posterior.Scores(counts, work)
		for i, s := range successes {
			scores[i] = byCount.At(s)
		}
		allocation, err := neyman.Allocate(scores, len(ps)*(int(d.Budget)-m))
		if err != nil { // a design leaves each task a rollout, and posterior scores are positive
			panic(err)
		}
		for i, n := range allocation {
			second += float64(r.passed(n, ps[i], random)) / float64(n)
		}
		return float64(d.W*(float64(first)/(tasks*float64(m)))) + (1-d.W)*(second/tasks)
	}
}

// estimates is a sampling distribution: a histogram with the first two moments.
type estimates struct {
	lattice     float64       // N·b: Uniform's estimates are multiples of 1/lattice
	width       int           // of a bin, in those
	counts      map[int]int64 // by bin
	repetitions int64
	truth       float64
	sum, square float64 // of estimate − truth, against cancellation
}

func (e *estimates) add(estimate float64) {
	e.counts[int(estimate*e.lattice+0.5)/e.width]++
	e.repetitions++
	d := estimate - e.truth
	e.sum += d
	e.square += d * d
}

// rows are the bins from the first to the last that is not empty. A bin begins
// half a step of Uniform's lattice before a multiple of its width, so that every
// bin has equally many of Uniform's values and none lies on an edge.
func (e *estimates) rows(like variance.Estimates) []variance.Estimates {
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

// caseStudy simulates whole evaluations of a profile under Uniform, HBN with the
// design of its replayed ratio, and the Oracle, and holds their spread beside
// that of the variance formulas (paper, Eqs. 1 and 9).
func caseStudy(ctx context.Context, p profile.Profile, replayed variance.Ratio, prior *neyman.Prior, repetitions int, at seed.Seed) ([]variance.Estimates, error) {
	ps, budget := probabilities(p), int(replayed.Budget)
	variances, uniform := make([]float64, len(ps)), make([]int, len(ps))
	for i, x := range ps {
		variances[i], uniform[i] = x*(1-x), budget
	}
	oracle, err := neyman.Allocate(variances, len(ps)*budget)
	if err != nil {
		return nil, err
	}
	design := variance.Design{Budget: replayed.Budget, M: *replayed.M, W: *replayed.W}
	spread := math.Sqrt(total(variances)/float64(budget)) / float64(len(ps)) // of Uniform
	lattice := float64(len(ps) * budget)
	var rows []variance.Estimates
	for _, policy := range []struct {
		name  string
		once  evaluation
		ratio float64
	}{
		{variance.Uniform, fixed(ps, uniform), 1},
		{variance.HBN, twoStage(ps, design, prior), replayed.VarianceRatio},
		{variance.Oracle, fixed(ps, oracle), neyman.VarianceRatio(variances, oracle, budget)},
	} {
		e := estimates{
			lattice: lattice, width: max(1, int(math.Round(lattice*spread/binsPerSD))),
			counts: map[int]int64{}, truth: total(ps) / float64(len(ps)),
		}
		random := at.Child(policy.name).Stream()
		for i := range repetitions {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			e.add(policy.once(&random))
		}
		rows = append(rows, e.rows(variance.Estimates{
			Benchmark: p.Benchmark, Model: p.Model, Budget: replayed.Budget, Policy: policy.name,
			Expected: math.Sqrt(policy.ratio) * spread,
		})...)
	}
	return rows, nil
}
