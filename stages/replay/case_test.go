package replay

import (
	"context"
	"errors"
	"math"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/policytest"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/method/neyman"
)

// TestEvaluationsHaveTheExactLaw simulates a profile whose evaluations can all
// be listed: every bin must be as frequent as it is probable, at five standard
// errors each, and mean and spread those of the law.
func TestEvaluationsHaveTheExactLaw(t *testing.T) {
	p := profileOf(8, 2, 5, 8)
	prior := must(neyman.NewPrior(16))
	m, w := int32(2), 0.35
	hbn := variance.Ratio{Subject: variance.Subject{NTasks: 3, Budget: 4, Policy: policy.HBN.Name, Donors: "none"}, M: &m, W: &w}
	hbn.VarianceRatio = exactRatio(t, p, hbn, policytest.ByTask(t, policy.HBN.Name, 0))
	const repetitions = 100_000
	rows := must(caseStudy(t.Context(), p, hbn, prior, repetitions, seed.Root(41)))
	ps := probabilities(p)
	oracle := must(neyman.Allocate([]float64{ps[0] * (1 - ps[0]), ps[1] * (1 - ps[1]), 0}, 12))
	laws := map[string]map[float64]float64{
		policy.Uniform.Name: fixedLaw(ps, []int{4, 4, 4}),
		policy.Oracle.Name:  fixedLaw(ps, oracle),
		policy.HBN.Name:     twoStageLaw(t, ps, 2, 4, w),
	}
	covered := map[string]float64{}
	for i, r := range rows {
		law := laws[r.Policy]
		want, mean, square := 0.0, 0.0, 0.0
		for x, chance := range law {
			if r.Low <= x && x < r.High {
				want += chance
			}
			mean, square = mean+chance*x, square+chance*x*x
		}
		covered[r.Policy] += want
		got := float64(r.Count) / repetitions
		if math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/repetitions) {
			t.Errorf("%s: [%v, %v) has frequency %v, want %v", r.Policy, r.Low, r.High, got, want)
		}
		if i > 0 && rows[i-1].Policy == r.Policy {
			if rows[i-1].High != r.Low {
				t.Errorf("%s: a bin ends at %v, the next begins at %v", r.Policy, rows[i-1].High, r.Low)
			}
			continue
		}
		sd := math.Sqrt(square - mean*mean)
		if math.Abs(r.Expected-sd) > 1e-12 || math.Abs(r.Truth-mean) > 1e-12 || r.Repetitions != repetitions || r.Budget != 4 {
			t.Errorf("%s: expected spread %v, exactly %v; truth %v, exactly %v", r.Policy, r.Expected, sd, r.Truth, mean)
		}
		if math.Abs(r.Mean-mean) > 5*r.MeanSE || math.Abs(r.SD/sd-1) > 5/math.Sqrt(2*repetitions) { // no longer tails than normal
			t.Errorf("%s: mean %v ± %v, spread %v; exactly %v and %v", r.Policy, r.Mean, r.MeanSE, r.SD, mean, sd)
		}
	}
	for policy := range laws {
		if covered[policy] < 1-100.0/repetitions {
			t.Errorf("%s: bins cover %v of the law", policy, covered[policy])
		}
	}
}

// fixedLaw is the law of the estimate under a fixed allocation, by value.
func fixedLaw(ps []float64, allocation []int) map[float64]float64 {
	law := map[float64]float64{}
	var visit func(task int, sum, chance float64)
	visit = func(task int, sum, chance float64) {
		if task == len(ps) {
			law[sum/float64(len(ps))] += chance
			return
		}
		n := allocation[task]
		for s := range n + 1 {
			visit(task+1, sum+float64(s)/float64(n), chance*policytest.Binomial(n, s, ps[task]))
		}
	}
	visit(0, 0, 1)
	return law
}

// twoStageLaw is that of HBN's estimate.
func twoStageLaw(t *testing.T, ps []float64, m, budget int, w float64) map[float64]float64 {
	t.Helper()
	law := map[float64]float64{}
	successes := make([]int, len(ps))
	var visit func(task, passed int, chance float64)
	visit = func(task, passed int, chance float64) {
		if task < len(ps) {
			for s := range m + 1 {
				successes[task] = s
				visit(task+1, passed+s, chance*policytest.Binomial(m, s, ps[task]))
			}
			return
		}
		if chance == 0 {
			return
		}
		allocation := must(neyman.Allocate(policytest.ByTask(t, policy.HBN.Name, 0)(t, successes, m), len(ps)*(budget-m)))
		for x, more := range fixedLaw(ps, allocation) {
			law[w*float64(passed)/float64(len(ps)*m)+(1-w)*x] += chance * more
		}
	}
	visit(0, 0, 1)
	return law
}

// TestBinsSuitTheSpread looks at bins over narrow and wide lattices: at least
// half of ten a standard deviation of Uniform where the lattice is finer than
// that, and one step of the lattice where it is not.
func TestBinsSuitTheSpread(t *testing.T) {
	prior := must(neyman.NewPrior(8))
	for _, tasks := range []int{4, 30, 100, 400} {
		p := benchProfile(tasks)
		m, w := int32(3), 0.4
		rows := must(caseStudy(t.Context(), p, variance.Ratio{Subject: variance.Subject{Policy: policy.HBN.Name, Donors: "none", Budget: 20}, M: &m, W: &w, VarianceRatio: 0.8}, prior, 50, seed.Root(42)))
		step := 1 / float64(20*tasks)
		steps := (rows[0].High - rows[0].Low) / step
		perSD := rows[0].Expected / (rows[0].High - rows[0].Low)
		if math.Abs(steps-math.Round(steps)) > 1e-6 || steps > 1.5 && (perSD < 7 || perSD > 15) || steps < 1.5 && perSD > 15 {
			t.Errorf("%d tasks: a bin of %v steps, %v bins a standard deviation", tasks, steps, perSD)
		}
		if phase := (rows[0].Low/step + 0.5) / steps; math.Abs(phase-math.Round(phase)) > 1e-6 {
			t.Errorf("%d tasks: bins begin at %v of their width", tasks, phase)
		}
	}
}

func TestCaseStudyStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	prior, err := neyman.NewPrior(2)
	if err != nil {
		t.Fatal(err)
	}
	m, w := int32(1), 0.5
	_, err = caseStudy(ctx, benchProfile(5), variance.Ratio{Subject: variance.Subject{Policy: policy.HBN.Name, Donors: "none", Budget: 2}, M: &m, W: &w}, prior, 1<<30, seed.Root(43))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
