package staged_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"speceval/method/staged"
)

// law is the mean of the estimates over every outcome, their variance, and the stated one.
func law(t *testing.T, ps []float64, rebuild func() *staged.Stages, decide func(s *staged.Stages, p past)) (mean, variance, stated float64) {
	t.Helper()
	var square float64
	every(t, ps, rebuild, decide, func(s *staged.Stages, _ past, chance float64) {
		mean += chance * s.Mean()
		square += chance * s.Mean() * s.Mean()
		tasks := 0.0
		for i, q := range ps {
			share := 1 / float64(len(ps))
			if shares := s.Barrier(nil).TaskShares; shares != nil {
				share = shares[i]
			}
			stated += chance * q * (1 - q) * s.Shrinkage()[i] * share * share
			tasks += share * s.Means()[i]
		}
		if math.Abs(tasks-s.Mean()) > 1e-14 {
			t.Fatalf("the tasks' means %v make %v, not %v", s.Means(), tasks, s.Mean())
		}
	})
	return mean, square - mean*mean, stated
}

// TestStoppingByWhatIsSeenIsUnbiased lists every outcome of evaluations whose rest is
// decided at barriers, whose tasks have shares, and that extend one that is complete:
// the mean estimate is the mean of the chances, and its variance the stated one.
func TestStoppingByWhatIsSeenIsUnbiased(t *testing.T) {
	ps := []float64{0.8, 0.35}
	shares := []float64{0.3, 0.7}
	resized := func(s *staged.Stages, p past) {
		_, successes := p.totals(2)
		scores := arbitrary(3)(p, 2)
		if left := s.Barrier(scores).Least + (successes[0]+2*successes[1])%3; s.Stage() == 0 {
			ok(t, s.Resize(left))
		}
		ok(t, s.Decide(scores))
	}
	cases := map[string]struct {
		shares  []float64
		rebuild func() *staged.Stages
	}{
		"two stages": {nil, func() *staged.Stages {
			return begin(t, 2, 3, staged.Plan{Pilots: 1, Weight: 0.3, Fractions: []float64{1}})
		}},
		"three stages": {nil, func() *staged.Stages {
			return begin(t, 2, 3, staged.Plan{Pilots: 1, Weight: 0.3, Fractions: []float64{0.4, 1}})
		}},
		"three with shares": {shares, func() *staged.Stages {
			return begin(t, 2, 3, staged.Plan{Pilots: 1, Weight: 0.3, Fractions: []float64{0.4, 1}, TaskShares: shares})
		}},
	}
	for name, c := range cases {
		want := (ps[0] + ps[1]) / 2
		if c.shares != nil {
			want = c.shares[0]*ps[0] + c.shares[1]*ps[1]
		}
		mean, variance, stated := law(t, ps, c.rebuild, resized)
		if math.Abs(mean-want) > 1e-14 {
			t.Errorf("%s: the mean estimate is off by %g", name, mean-want)
		}
		if math.Abs(variance-stated) > 1e-14 {
			t.Errorf("%s: the variance is %v, stated %v", name, variance, stated)
		}
	}
}

// TestADroppedStageLeavesItsWeight lists every outcome of evaluations whose third stage is
// dropped, where the pilot says so, or always.
func TestADroppedStageLeavesItsWeight(t *testing.T) {
	ps := []float64{0.8, 0.35}
	for name, dropped := range map[string]func(p past) bool{
		"by the pilot": func(p past) bool { return (p.passes[0][0]+p.passes[0][1])%2 == 1 },
		"always":       func(past) bool { return true },
	} {
		mean, variance, stated := law(t, ps, func() *staged.Stages {
			return begin(t, 2, 4, staged.Plan{Pilots: 1, Weight: 0.3, Fractions: []float64{0.4, 1}, TaskShares: []float64{0.3, 0.7}})
		}, func(s *staged.Stages, p past) {
			decide(t, s, arbitrary(3)(p, 2)...)
			if s.Stage() < 2 || !dropped(p) {
				return
			}
			before := s.Barrier(nil).Left
			ok(t, s.Drop())
			if !s.Done() || s.Stage() != 1 || before != 0 || math.Abs(s.Weights()[0]-0.7) > 1e-15 || s.Rest()[0] != 0 {
				t.Fatalf("done %v in stage %d with weights %v, %v left", s.Done(), s.Stage(), s.Weights(), s.Rest())
			}
			if err := s.Drop(); !errors.Is(err, staged.ErrOrder) {
				t.Fatalf("dropped twice: %v", err)
			}
		})
		if math.Abs(mean-(0.3*ps[0]+0.7*ps[1])) > 1e-14 || math.Abs(variance-stated) > 1e-14 {
			t.Errorf("%s: mean %v, variance %v, stated %v", name, mean, variance, stated)
		}
	}
	if err := begin(t, 2, 4, staged.Plan{Pilots: 1, Weight: 0.3, Fractions: []float64{1}}).Drop(); !errors.Is(err, staged.ErrOrder) {
		t.Errorf("the pilot is dropped: %v", err)
	}
}

// TestAnExtensionIsUnbiased lists every outcome of an evaluation and of its extension by
// stages that are decided by all that was seen before.
func TestAnExtensionIsUnbiased(t *testing.T) {
	ps := []float64{0.8, 0.35}
	first := func() *staged.Stages {
		return begin(t, 2, 2, staged.Plan{Pilots: 1, Weight: 0.3, Fractions: []float64{1}})
	}
	var mean, square, stated float64
	every(t, ps, first, func(s *staged.Stages, p past) { ok(t, s.Decide(arbitrary(5)(p, 2))) }, func(s *staged.Stages, p past, chance float64) {
		was := staged.Past{Means: s.Means(), Shrinkage: s.Shrinkage()}
		m, v, st := law(t, ps, func() *staged.Stages {
			x := must(staged.Extend(was, 3, staged.Plan{Weight: 0.4, Fractions: []float64{0.5, 1}}))
			ok(t, x.Decide(arbitrary(7)(p, 2)))
			return x
		}, func(x *staged.Stages, q past) {
			ok(t, x.Decide(arbitrary(9)(past{append(slices.Clone(p.sizes), q.sizes...), append(slices.Clone(p.passes), q.passes...)}, 2)))
		})
		mean += chance * m
		square += chance * (v + m*m)
		stated += chance * st
	})
	if want := (ps[0] + ps[1]) / 2; math.Abs(mean-want) > 1e-14 {
		t.Errorf("the mean estimate is off by %g", mean-want)
	}
	if math.Abs(square-mean*mean-stated) > 1e-14 {
		t.Errorf("the variance is %v, stated %v", square-mean*mean, stated)
	}
}

// TestRewardsMayBeGraded is a mean by hand.
func TestRewardsMayBeGraded(t *testing.T) {
	s := begin(t, 2, 4, staged.Plan{Pilots: 2, Weight: 0.25, Fractions: []float64{1}})
	if err := s.ObserveRewards([]float64{2.1, 1}); err == nil {
		t.Error("a reward above 1 goes through")
	}
	if err := s.ObserveRewards([]float64{0.5, math.NaN()}); err == nil {
		t.Error("a reward that is no number goes through")
	}
	ok(t, s.ObserveRewards([]float64{1.5, 0.5}))
	ok(t, s.Decide([]float64{1, 1}))
	ok(t, s.ObserveRewards([]float64{0.5, 1}))
	if got, want := s.Mean(), (0.25*0.75+0.75*0.25+0.25*0.25+0.75*0.5)/2; math.Abs(got-want) > 1e-15 {
		t.Errorf("the mean is %v, want %v", got, want)
	}
}

// TestReachingIsTheLeast compares the number that reaches a variance with those beside
// it.
func TestReachingIsTheLeast(t *testing.T) {
	s := begin(t, 3, 40, staged.Plan{Pilots: 4, Weight: 0.1, Fractions: []float64{0.5, 1}})
	ok(t, s.Observe([]int{1, 2, 4}))
	b := s.Barrier([]float64{0.2, 0.25, 0.05})
	if b.Stages != 1 || b.Least != 3 || b.Left != 3*36 {
		t.Fatalf("the barrier is %+v", b)
	}
	variance := func(rollouts int) (sum float64) {
		root := 0.0
		for i, v := range b.Scores {
			sum += v * b.Shrinkage[i] / 9
			root += b.Rest[i] * math.Sqrt(v) / 3
		}
		return sum + root*root/float64(rollouts)
	}
	for _, target := range []float64{0.01, 0.003, 0.001} {
		n, ok := b.Reaching(target)
		if !ok || variance(n) > target || n > b.Least && variance(n-1) <= target {
			t.Errorf("%d rollouts, %v, have the variance %v, one less %v, for %v", n, ok, variance(n), variance(n-1), target)
		}
	}
	if n, ok := b.Reaching(1e-5); ok {
		t.Errorf("%d rollouts undo the variance of the pilot", n)
	}
	if n, ok := b.Reaching(1); !ok || n != 3 {
		t.Errorf("a variance that is there already takes %d rollouts, %v", n, ok)
	}
	for target, want := range map[float64]func(n int) bool{
		0.01: func(n int) bool { reaching, _ := b.Reaching(0.01); return n == reaching },
		1:    func(n int) bool { return n == 3 },
		1e-5: func(n int) bool {
			return variance(n)-variance(math.MaxInt) <= 1e-6 && variance(n-1)-variance(math.MaxInt) > 1e-6
		},
		1e-99: func(n int) bool { return n == math.MaxInt32 },
		variance(math.MaxInt) * 1.001: func(n int) bool {
			reaching, _ := b.Reaching(variance(math.MaxInt) * 1.001)
			return n < reaching/50 && variance(n) < 1.12*variance(math.MaxInt)
		},
	} {
		if n := b.Toward(target); !want(n) {
			t.Errorf("%d rollouts toward %v", n, target)
		}
	}
	if err := s.Resize(2); err == nil {
		t.Error("two rollouts do for three tasks")
	}
	if err := s.Resize(50); err != nil || s.Left() != 50 {
		t.Error(err, s.Left())
	}
	ok(t, s.Decide(b.Scores))
	if err := s.Resize(60); !errors.Is(err, staged.ErrOrder) {
		t.Errorf("a rest that is changed within a stage: %v", err)
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
