package neyman

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestUpdateIsThatOfPartial holds the two ways against each other, and the mean
// against the definition.
func TestUpdateIsThatOfPartial(t *testing.T) {
	prior := mustPrior(t, 16)
	random := rand.New(rand.NewPCG(1, 2))
	partial, work := prior.Partial(4), prior.NewWork()
	for trial := range 30 {
		n := 1 + random.IntN(60)
		observed, successes, scores := make([]int, n), make([]int, n), make([]float64, n)
		for i := range observed {
			observed[i] = random.IntN([]int{3, 90, 700}[trial%3])
			if observed[i] > 0 {
				successes[i] = random.IntN(observed[i] + 1)
			}
		}
		partial.Scores(observed, successes, work, scores)
		u, err := prior.Update(observed, successes)
		if err != nil {
			t.Fatal(err)
		}
		for i := range observed {
			mean, variance := u.Moments(i)
			if math.Abs(variance/scores[i]-1) > 1e-9 {
				t.Fatalf("trial %d, task %d: variance %v, by Partial %v", trial, i, variance, scores[i])
			}
			if want := directMean(prior, observed, successes, i); math.Abs(mean/want-1) > 1e-9 {
				t.Fatalf("trial %d, task %d: mean %v, want %v", trial, i, mean, want)
			}
		}
	}
}

// TestPartialIsSharedByMany has goroutines whose tasks need ever longer tables.
func TestPartialIsSharedByMany(t *testing.T) {
	prior := mustPrior(t, 4)
	partial := prior.Partial(1)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			shared, own := make([]float64, 2), make([]float64, 2)
			work := prior.NewWork()
			for n := range 60 {
				observed, successes := []int{n + g, 2 * n}, []int{n, n}
				partial.Scores(observed, successes, work, shared)
				prior.Partial(2*n+g).Scores(observed, successes, work, own)
				if !slices.Equal(shared, own) {
					t.Errorf("%v of %v: %v from shared tables, %v from others", successes, observed, shared, own)
				}
			}
		})
	}
	group.Wait()
}

// directMean is E[p] of a task by beta functions.
func directMean(p *Prior, observed, successes []int, task int) float64 {
	logs := make([]float64, len(p.a))
	for k, a := range p.a {
		logs[k] = p.log[k]
		for i, n := range observed {
			s := float64(successes[i])
			logs[k] += lbeta(a+s, p.b[k]+float64(n)-s) - lbeta(a, p.b[k])
		}
	}
	top := largest(logs)
	sum, all := 0.0, 0.0
	for k, l := range logs {
		weight := math.Exp(l - top)
		all += weight
		sum += weight * (p.a[k] + float64(successes[task])) / (p.a[k] + p.b[k] + float64(observed[task]))
	}
	return sum / all
}

// Drawn profiles have the moments of the posterior.
func TestDrawsHaveThePosteriorsMoments(t *testing.T) {
	prior := mustPrior(t, 16)
	u, err := prior.Update([]int{8, 8, 4, 0, 40}, []int{8, 3, 0, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	const draws = 20000
	source := rand.NewPCG(3, 4)
	ps := make([]float64, 5)
	var means, variances, squares [5]float64
	for range draws {
		u.Mixture().Draw(source, ps)
		for i, p := range ps {
			if !(p >= 0 && p <= 1) {
				t.Fatalf("task %d has the probability %v", i, p)
			}
			means[i] += p / draws
			squares[i] += p * p / draws
			variances[i] += p * (1 - p) / draws
		}
	}
	for i := range ps {
		mean, variance := u.Moments(i)
		se := math.Sqrt((squares[i] - means[i]*means[i]) / draws)
		if math.Abs(means[i]-mean) > 5*se || math.Abs(variances[i]-variance) > 5*se {
			t.Errorf("task %d: drawn mean %v and variance %v, want %v and %v within %v", i, means[i], variances[i], mean, variance, 5*se)
		}
	}
}

func TestUpdateRefusesWhatIsNoCount(t *testing.T) {
	prior := mustPrior(t, 2)
	for _, tt := range []struct{ observed, successes []int }{
		{nil, nil}, {[]int{2}, nil}, {[]int{2}, []int{3}}, {[]int{2}, []int{-1}}, {[]int{-1}, []int{-1}},
	} {
		if _, err := prior.Update(tt.observed, tt.successes); err == nil {
			t.Errorf("%v of %v is taken", tt.successes, tt.observed)
		}
	}
}

// TestGradedRewardsCountByPart holds the update by sums of rewards against the
// definition: Beta functions at every node, of the sum and of what is missing.
func TestGradedRewardsCountByPart(t *testing.T) {
	prior := mustPrior(t, 4)
	observed, rewards := []int{3, 40, 0, 2}, []float64{1.25, 39.5, 0, 2}
	u, err := prior.UpdateGraded(observed, rewards)
	if err != nil {
		t.Fatal(err)
	}
	beta := func(a, b float64) float64 { return math.Gamma(a) * math.Gamma(b) / math.Gamma(a+b) }
	for i, n := range observed {
		var total, mean, variance float64
		for k, a := range prior.a {
			b, weight := prior.b[k], math.Exp(prior.log[k])
			for j, n := range observed {
				weight *= beta(a+rewards[j], b+float64(n)-rewards[j]) / beta(a, b)
			}
			x, y := a+rewards[i], b+float64(n)-rewards[i]
			total += weight
			mean += weight * x / (x + y)
			variance += weight * x * y / ((x + y) * (x + y + 1))
		}
		m, v := u.Moments(i)
		if math.Abs(m*total/mean-1) > 1e-9 || math.Abs(v*total/variance-1) > 1e-9 {
			t.Errorf("task %d: %v and %v, want %v and %v", i, m, v, mean/total, variance/total)
		}
	}
	for _, bad := range [][]float64{{-0.1, 0, 0, 0}, {3.1, 0, 0, 0}, {math.NaN(), 0, 0, 0}, {1, 1}} {
		if _, err := prior.UpdateGraded(observed, bad); err == nil {
			t.Errorf("%v of %v rollouts: no error", bad, observed)
		}
	}
}

// TestPowersAgreeWithMoments: E[p] and E[p(1−p)] are powers, too; and without rollouts a
// task's p² has the prior's expectation by its nodes.
func TestPowersAgreeWithMoments(t *testing.T) {
	prior, err := NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	u, err := prior.Update([]int{0, 7, 300}, []int{0, 7, 120})
	if err != nil {
		t.Fatal(err)
	}
	for task := range 3 {
		mean, variance := u.Moments(task)
		powers := u.Powers(task, 4)
		if len(powers) != 5 || math.Abs(powers[0]-1) > 1e-12 || math.Abs(powers[1]-mean) > 1e-12 || math.Abs(powers[1]-powers[2]-variance) > 1e-12 {
			t.Errorf("task %d: powers %v, mean %v, variance %v", task, powers, mean, variance)
		}
		for d := 1; d < 4; d++ { // logarithms of moments are convex
			if powers[d] >= powers[d-1] || powers[d]*powers[d] > powers[d-1]*powers[d+1]*(1+1e-12) {
				t.Errorf("task %d: powers %v", task, powers)
			}
		}
	}
}

// TestSumsHaveTheMomentsOfDraws holds expectations and covariances of sums against
// draws from the joint posterior, and against the moments of single tasks.
func TestSumsHaveTheMomentsOfDraws(t *testing.T) {
	u, err := mustPrior(t, 8).Update([]int{6, 6, 2, 40}, []int{6, 2, 0, 31})
	if err != nil {
		t.Fatal(err)
	}
	sums := []Sum{{P: []float64{1, 2, 3, 4}}, {V: []float64{5, 1, 0, 2}}, {P: []float64{0, 1, 0, 0}, V: []float64{0, 0, 3, 0}}}
	means, covariances := u.Mixture().Joint(sums...)
	p1, _ := u.Moments(1)
	if _, v2 := u.Moments(2); math.Abs(means[2]/(p1+3*v2)-1) > 1e-9 {
		t.Errorf("expectation %v, by single tasks %v", means[2], p1+3*v2)
	}
	const draws = 200_000
	source, ps := rand.NewPCG(5, 6), make([]float64, 4)
	seen, products := make([]float64, len(sums)), map[[2]int][2]float64{}
	for range draws {
		u.Mixture().Draw(source, ps)
		values := make([]float64, len(sums))
		for j, s := range sums {
			for i, p := range ps {
				a, b := s.at(i)
				values[j] += a*p + b*p*(1-p)
			}
			seen[j] += values[j] / draws
		}
		for j := range sums {
			for l := range sums {
				x := (values[j] - means[j]) * (values[l] - means[l])
				at := products[[2]int{j, l}]
				products[[2]int{j, l}] = [2]float64{at[0] + x/draws, at[1] + x*x/draws}
			}
		}
	}
	for j := range sums {
		if se := math.Sqrt(covariances[j][j] / draws); math.Abs(seen[j]-means[j]) > 4.5*se {
			t.Errorf("sum %d has the mean %v, expectation %v ± %v", j, seen[j], means[j], se)
		}
		for l := range sums {
			at := products[[2]int{j, l}]
			if se := math.Sqrt((at[1] - at[0]*at[0]) / draws); math.Abs(at[0]-covariances[j][l]) > 4.5*se {
				t.Errorf("sums %d and %d have the covariance %v, expectation %v ± %v", j, l, at[0], covariances[j][l], se)
			}
		}
	}
}
