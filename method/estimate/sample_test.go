package estimate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/method/estimate"
)

// TestClustersOfOneSizeAreTheTextbooks is G/(G−1)·Σu² by hand, and without clusters the
// sample variance over N.
func TestClustersOfOneSizeAreTheTextbooks(t *testing.T) {
	values := []float64{1, 0.5, 0, 0.25, 0.75, 0.75}
	m := must(estimate.Sample{Values: values}.Mean())
	mean, squares := 3.25/6, 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if want := math.Sqrt(squares / 5 / 6); math.Abs(m.Value-mean) > 1e-15 || math.Abs(m.StandardError-want) > 1e-15 || m.Clusters != 6 {
		t.Errorf("%+v, want %v ± %v of 6", m, mean, want)
	}
	if least := must(estimate.Sample{Values: []float64{0.5, 0.5}, Own: 0.04}.Mean()); least.StandardError != 0.2 {
		t.Errorf("two tasks alike have an error of %v, and their rollouts one of 0.2", least.StandardError)
	}
	if d := must(estimate.Sample{Values: []float64{0.5, 1}}.Minus(estimate.Sample{Values: []float64{0.5, 1}}, 0.09)); d.StandardError != 0.3 {
		t.Errorf("a difference of two alike has an error of %v, and their rollouts one of 0.3", d.StandardError)
	}
	m = must(estimate.Sample{Values: values, Clusters: []string{"a", "b", "a", "c", "b", "c"}}.Mean())
	want := 0.0
	for _, sum := range []float64{1, 1.25, 1} { // of a, b and c
		u := (sum - 2*mean) / 6
		want += 1.5 * u * u
	}
	if math.Abs(m.StandardError-math.Sqrt(want)) > 1e-15 || m.Clusters != 3 {
		t.Errorf("%+v, want an error of %v of 3", m, math.Sqrt(want))
	}
}

// A benchmark of which every task is there three times is no better known than once,
// if the copies are known as such. Shares do the same as copies.
func TestCopiesAddNothing(t *testing.T) {
	once := estimate.Sample{Values: []float64{0.9, 0.4, 1, 0.6, 0.2}, Shares: []float64{1, 2, 1, 0.5, 3}}
	var copies estimate.Sample
	for i, v := range once.Values {
		for range 3 {
			copies.Values = append(copies.Values, v)
			copies.Shares = append(copies.Shares, 7*once.Shares[i])
			copies.Clusters = append(copies.Clusters, strconv.Itoa(i))
		}
	}
	a, b := must(once.Mean()), must(copies.Mean())
	if math.Abs(a.Value-b.Value) > 1e-15 || math.Abs(a.StandardError-b.StandardError) > 1e-15 || a.Clusters != b.Clusters {
		t.Errorf("%+v once, %+v of copies", a, b)
	}
	copies.Clusters = nil
	if c := must(copies.Mean()); c.StandardError > 0.7*a.StandardError {
		t.Errorf("copies taken for others have the error %v, once %v", c.StandardError, a.StandardError)
	}
}

// Tasks that all agree leave as much doubt as passes and failures of so many would.
func TestEqualValuesAreNotCertain(t *testing.T) {
	last := 1.0
	for _, n := range []int{2, 5, 20, 100} {
		m := must(estimate.Sample{Values: slices.Repeat([]float64{1}, n)}.Mean())
		if m.StandardError != 0 || m.High != 1 || !(m.Low < 1-1/float64(n)) || m.Low < 1-last {
			t.Errorf("%d tasks that pass: %+v", n, m)
		}
		last = 1 - m.Low
		half := must(estimate.Sample{Values: slices.Repeat([]float64{0.5}, n)}.Mean())
		if half.StandardError > 1e-15 || !(half.Low < 0.5-0.9/float64(n) && half.High > 0.5+0.9/float64(n)) {
			t.Errorf("%d tasks of one half: %+v", n, half)
		}
	}
	if last > 0.05 {
		t.Errorf("a hundred tasks that pass leave %v", last)
	}
}

func TestSamplesThatAreNone(t *testing.T) {
	for want, s := range map[string]estimate.Sample{
		"0 independent tasks":              {},
		"1 independent tasks":              {Values: []float64{0.5}},
		"1 independent":                    {Values: []float64{0.5, 1}, Clusters: []string{"a", "a"}},
		"task 1 has an estimate":           {Values: []float64{0.5, 1.1}},
		"task 0 has an estimate":           {Values: []float64{math.NaN(), 1}},
		"task 1 has no cluster":            {Values: []float64{0.5, 1, 0}, Clusters: []string{"a", "", "b"}},
		"2 values, 1 shares":               {Values: []float64{0.5, 1}, Shares: []float64{1}},
		"0 shares and 3 clusters":          {Values: []float64{0.5, 1}, Clusters: []string{"a", "b", "c"}},
		"task 0 has a share of -1":         {Values: []float64{0.5, 1}, Shares: []float64{-1, 2}},
		"task 1 has a share of NaN":        {Values: []float64{0.5, 1}, Shares: []float64{1, math.NaN()}},
		"1 independent tasks or clusters ": {Values: []float64{0.5, 1}, Shares: []float64{1, 0}},
	} {
		if _, err := s.Mean(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", s, err, want)
		}
	}
	s := estimate.Sample{Values: []float64{0.5, 1}}
	for _, others := range [][]float64{nil, {1}, {1, -1}} {
		if _, err := s.Minus(estimate.Sample{Values: others}, 0); err == nil {
			t.Errorf("a difference from %v", others)
		}
	}
}

// population is tasks that evaluations are drawn from, in clusters: the probabilities
// of two models. The first is better by gap, on average.
func population(random *rand.Rand, clusters int, gap float64) (a, b [][]float64) {
	for range clusters {
		hard := random.NormFloat64() * 2
		var as, bs []float64
		for range 1 + random.IntN(6) {
			x := hard + random.NormFloat64()
			as = append(as, 1/(1+math.Exp(-x-gap)))
			bs = append(bs, 1/(1+math.Exp(-x+0.5*random.NormFloat64())))
		}
		a, b = append(a, as), append(b, bs)
	}
	return a, b
}

// TestSampledTasksAreCovered draws clusters of unequal size from a population, lets HBN
// evaluate both models on them, and holds the intervals of a mean and of a difference to
// the population's. HBN gives its tasks rollouts of very different numbers.
func TestSampledTasksAreCovered(t *testing.T) {
	plan := plan{Budget: 8, Pilots: 3, Weight: 0.3}
	const evaluations = 500
	for _, drawn := range []int{5, 12, 30} {
		random := rand.New(rand.NewPCG(21, uint64(drawn)))
		pa, pb := population(random, 400, 0.7)
		var all, ta, tb float64
		for g := range pa {
			for i := range pa[g] {
				all, ta, tb = all+1, ta+pa[g][i], tb+pb[g][i]
			}
		}
		ta, tb = ta/all, tb/all
		var covered, differs int
		var seen, stated, paired, unpaired float64
		for range evaluations {
			var as, bs []float64
			var names []string
			for k := range drawn {
				g := random.IntN(len(pa))
				as, bs = append(as, pa[g]...), append(bs, pb[g]...)
				names = append(names, slices.Repeat([]string{strconv.Itoa(k)}, len(pa[g]))...)
			}
			s := estimate.Sample{Values: values(evaluate(as, plan, random)), Clusters: names}
			m := must(s.Mean())
			d := must(s.Minus(estimate.Sample{Values: values(evaluate(bs, plan, random))}, 0))
			if m.Low <= ta && ta <= m.High {
				covered++
			}
			if d.Low <= ta-tb && ta-tb <= d.High {
				differs++
			}
			seen += (d.Value - ta + tb) * (d.Value - ta + tb)
			stated += d.StandardError * d.StandardError
			paired += d.StandardError
			unpaired += d.Unpaired
		}
		for name, hits := range map[string]int{"mean": covered, "difference": differs} {
			if share := float64(hits) / evaluations; share < 0.93-4*math.Sqrt(0.07*0.93/evaluations) || share > 0.995 && drawn > 5 {
				t.Errorf("%d clusters: the %s is covered in %.3f of evaluations", drawn, name, share)
			}
		}
		// Clusters of unequal size make this a ratio estimate, biased in the order of 1/G.
		if ratio := stated / seen; drawn > 5 && math.Abs(ratio-1) > 0.2 {
			t.Errorf("%d clusters: the stated variance of the difference is %.2f of what is seen", drawn, ratio)
		}
		if paired > 0.7*unpaired {
			t.Errorf("%d clusters: paired %v, unpaired %v: these models find the same tasks hard", drawn, paired/evaluations, unpaired/evaluations)
		}
	}
}

// values are what an evaluation finds of its tasks.
func values(tasks []estimate.Task) []float64 {
	m := must(estimate.Of(prior, tasks))
	return m.Sample(nil, nil).Values
}

// TestPairingOnTheseTasks holds two models to the same tasks, many times: for the mean
// difference on these tasks nothing cancels, since their rollouts are independent; only
// over samples of tasks it does.
func TestPairingOnTheseTasks(t *testing.T) {
	plan := plan{Budget: 8, Pilots: 3, Weight: 0.3}
	random := rand.New(rand.NewPCG(31, 1))
	pa, pb := population(random, 40, 0)
	as, bs := slices.Concat(pa...), slices.Concat(pb...)
	const evaluations = 800
	var sums [5]float64 // a, b, a², b², ab
	var se, paired float64
	for range evaluations {
		ma := must(estimate.Of(prior, evaluate(as, plan, random)))
		mb := must(estimate.Of(prior, evaluate(bs, plan, random)))
		for k, x := range []float64{ma.Value, mb.Value, ma.Value * ma.Value, mb.Value * mb.Value, ma.Value * mb.Value} {
			sums[k] += x / evaluations
		}
		d := must(ma.Sample(nil, nil).Minus(mb.Sample(nil, nil), 0))
		se += ma.Bounded().Minus(mb.Bounded()).StandardError / evaluations
		paired += d.StandardError / evaluations
	}
	va, vb, cov := sums[2]-sums[0]*sums[0], sums[3]-sums[1]*sums[1], sums[4]-sums[0]*sums[1]
	if r := cov / math.Sqrt(va*vb); math.Abs(r) > 4/math.Sqrt(evaluations) {
		t.Errorf("on the same tasks the means of two models have the correlation %v", r)
	}
	if seen := math.Sqrt(va + vb); math.Abs(se/seen-1) > 0.12 || paired < se {
		t.Errorf("the difference has the error %v on these tasks, stated %v; over tasks %v", seen, se, paired)
	}
}

// A pool has the weighted mean of the estimates, and the variance that its rollouts
// have with their weights.
func TestPools(t *testing.T) {
	a := []estimate.Task{two(4, 1, 10, 4, 0.3), two(4, 4, 2, 1, 0.3)}
	b := []estimate.Task{one(8, 3), one(8, 7)}
	m, weights, err := estimate.Pool(prior, estimate.Part{Tasks: a, Precision: 30}, estimate.Part{Tasks: b, Precision: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(weights) != 2 || weights[0] != 0.75 || weights[1] != 0.25 {
		t.Errorf("weights %v", weights)
	}
	ma, mb := must(estimate.Of(prior, a)), must(estimate.Of(prior, b))
	if want := 0.75*ma.Value + 0.25*mb.Value; math.Abs(m.Value-want) > 1e-15 {
		t.Errorf("estimate %v, want %v", m.Value, want)
	}
	posterior, sampled := 0.0, 0.0
	for i, shrinkage := range []float64{
		0.75*0.75*(0.09/4+0.49/10) + 0.25*0.25/8,
		0.75*0.75*(0.09/4+0.49/2) + 0.25*0.25/8,
	} {
		posterior += m.Tasks[i].Variance * shrinkage / 4
	}
	for _, s := range []struct{ weight, n, passes float64 }{{0.75 * 0.3, 4, 1}, {0.75 * 0.7, 10, 4}, {0.25, 8, 3}, {0.75 * 0.7, 2, 1}, {0.25, 8, 7}} {
		sampled += s.weight * s.weight / s.n * s.passes * (s.n - s.passes) / s.n / (s.n - 1) / 4
	}
	if want := math.Sqrt(max(posterior, sampled)); math.Abs(m.StandardError-want) > 1e-12 {
		t.Errorf("standard error %v, want %v", m.StandardError, want)
	}
	if m.StandardError >= ma.StandardError || m.Uniform.Value <= ma.Uniform.Value {
		t.Errorf("the pool is no better than a part of it: %+v, %+v", m, ma)
	}
	alone, _, err := estimate.Pool(prior, estimate.Part{Tasks: a, Precision: 3})
	if err != nil || alone.Value != ma.Value || alone.StandardError != ma.StandardError || alone.Low != ma.Low || alone.Uniform != ma.Uniform {
		t.Errorf("alone %+v, %v, want %+v", alone, err, ma)
	}
}

func TestPoolsOfWhatDoesNotFit(t *testing.T) {
	good := estimate.Part{Tasks: []estimate.Task{one(8, 3), one(8, 7)}, Precision: 1}
	heavy := estimate.Part{Tasks: []estimate.Task{one(8, 3), {Stages: one(8, 7).Stages, Share: 2}}, Precision: 1}
	for name, parts := range map[string][]estimate.Part{
		"none":              nil,
		"no precision":      {good, {Tasks: good.Tasks}},
		"endless":           {good, {Tasks: good.Tasks, Precision: math.Inf(1)}},
		"not a number":      {good, {Tasks: good.Tasks, Precision: math.NaN()}},
		"fewer tasks":       {good, {Tasks: good.Tasks[:1], Precision: 1}},
		"other shares":      {good, heavy},
		"task that is none": {good, {Tasks: []estimate.Task{one(8, 3), one(8, 9)}, Precision: 1}},
	} {
		if m, _, err := estimate.Pool(prior, parts...); err == nil {
			t.Errorf("%s: no error, %+v", name, m)
		}
	}
}
