package neyman

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"speceval/internal/policy/seed"
)

func mustPrior(t testing.TB, order int) *Prior {
	t.Helper()
	return must(NewPrior(order))
}

// lbeta is the log of the beta function, by another way than the package's.
func lbeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}

// directScores is Eq. 7 of the paper word for word, task by task.
func directScores(p *Prior, successes []int, m int) []float64 {
	logs := make([]float64, len(p.a))
	top := math.Inf(-1)
	for k := range p.a {
		logs[k] = p.log[k]
		for _, s := range successes {
			logs[k] += lbeta(p.a[k]+float64(s), p.b[k]+float64(m-s)) - lbeta(p.a[k], p.b[k])
		}
		top = max(top, logs[k])
	}
	scores := make([]float64, len(successes))
	sum := 0.0
	for k, l := range logs {
		weight := math.Exp(l - top)
		sum += weight
		n := p.a[k] + p.b[k] + float64(m)
		for i, s := range successes {
			scores[i] += weight * (p.a[k] + float64(s)) * (p.b[k] + float64(m-s)) / (n * (n + 1))
		}
	}
	for i := range scores {
		scores[i] /= sum
	}
	return scores
}

func TestScoresAreThoseOfTheFormula(t *testing.T) {
	p := mustPrior(t, 16)
	random := seed.Root(6).Stream()
	for range 200 {
		m := 1 + int(random.Uint64()%63)
		successes := make([]int, 1+random.Uint64()%100)
		counts := make([]int, m+1)
		center := random.Float64()
		for i := range successes {
			switch u := random.Float64(); {
			case u < 0.3:
				successes[i] = 0
			case u < 0.5:
				successes[i] = m
			default:
				successes[i] = int(math.Round(center * float64(m)))
			}
			counts[successes[i]]++
		}
		got := p.Pilot(m).Scores(counts, p.NewWork())
		for i, want := range directScores(p, successes, m) {
			if s := got.At(successes[i]); math.Abs(s-want) > 1e-9*want {
				t.Fatalf("m = %d, S = %d of %v: score %v, want %v", m, successes[i], counts, s, want)
			}
		}
	}
}

func TestMeanVarianceIsThePriors(t *testing.T) {
	p := mustPrior(t, 16)
	sum := 0.0
	for k, log := range p.log {
		n := p.a[k] + p.b[k]
		sum += math.Exp(log) * p.a[k] * p.b[k] / (n * (n + 1))
	}
	if math.Abs(sum-MeanVariance) > 1e-14 {
		t.Errorf("E[p(1−p)] is %v by quadrature, MeanVariance is %v", sum, MeanVariance)
	}
}

// TestNarrowChangesNothing follows paths drawn from the prior and compares the
// scores with and without the nodes that have been given up.
func TestNarrowChangesNothing(t *testing.T) {
	p := mustPrior(t, 16)
	random := seed.Root(7).Stream()
	narrowed := 0
	for range 60 {
		xi, delta := random.Float64(), random.Float64()
		a, b := xi*(1-delta)/delta, (1-xi)*(1-delta)/delta
		successes := make([]int, 100)
		work := p.NewWork()
		for m := 1; m <= 40; m++ {
			counts := make([]int, m+1)
			for i, s := range successes {
				if random.Float64() < (a+float64(s))/(a+b+float64(m-1)) { // Pólya urn
					successes[i]++
				}
				counts[successes[i]]++
			}
			post := p.Pilot(m)
			got, want := post.Scores(counts, work), post.Scores(counts, p.NewWork())
			for s, n := range counts {
				if x, y := got.At(s), want.At(s); n > 0 && math.Abs(x-y) > 1e-9*y {
					t.Fatalf("m = %d, S = %d: %v narrowed, %v in full", m, s, x, y)
				}
			}
			work.Narrow(p, 30)
		}
		if work.hi-work.lo < len(p.a) {
			narrowed++
		}
	}
	if narrowed < 30 {
		t.Errorf("only %d of 60 paths were narrowed at all", narrowed)
	}
}

func TestOrderZeroIsRefused(t *testing.T) {
	if _, err := NewPrior(0); err == nil {
		t.Error("no error")
	}
}

// BenchmarkScores times the posterior of one panel of 100 tasks.
func BenchmarkScores(b *testing.B) {
	p := mustPrior(b, 16)
	for _, m := range []int{4, 16, 63} {
		random := seed.Root(1).Stream()
		counts := make([]int, m+1)
		for range 100 {
			counts[int(float64(m+1)*math.Pow(random.Float64(), 2))]++
		}
		post, work := p.Pilot(m), p.NewWork()
		b.Run(fmt.Sprintf("m=%d", m), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				post.Scores(counts, work)
			}
			perSecond(b, "panels/s")
		})
	}
}

// TestUpdateIsThatOfPartial holds the two ways against each other, and the mean
// against the definition.
func TestUpdateIsThatOfPartial(t *testing.T) {
	prior := mustPrior(t, 16)
	random := rand.New(rand.NewPCG(1, 2))
	partial, work := prior.Partial(4), prior.NewWork()
	for trial := range 30 {
		n := 1 + random.IntN(60)
		observed, successes, rewards, scores := make([]int, n), make([]int, n), make([]float64, n), make([]float64, n)
		for i := range observed {
			observed[i] = random.IntN([]int{3, 90, 700}[trial%3])
			if observed[i] > 0 {
				successes[i] = random.IntN(observed[i] + 1)
			}
			rewards[i] = float64(successes[i])
		}
		partial.Scores(observed, successes, work, scores)
		u := must(prior.Update(observed, rewards))
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

// TestGradedRewardsCountByPart holds the update by sums of rewards against the
// definition: Beta functions at every node, of the sum and of what is missing.
func TestGradedRewardsCountByPart(t *testing.T) {
	prior := mustPrior(t, 4)
	observed, rewards := []int{3, 40, 0, 2}, []float64{1.25, 39.5, 0, 2}
	u := must(prior.Update(observed, rewards))
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
	for _, bad := range [][]float64{{-0.1, 0, 0, 0}, {3.1, 0, 0, 0}, {math.NaN(), 0, 0, 0}, {1, 1}, nil} {
		if _, err := prior.Update(observed, bad); err == nil {
			t.Errorf("%v of %v rollouts: no error", bad, observed)
		}
	}
	if _, err := prior.Update(nil, nil); err == nil {
		t.Error("no tasks: no error")
	}
}

// TestPowersAgreeWithMoments: E[p] and E[p(1−p)] are powers, too; and without rollouts a
// task's p² has the prior's expectation by its nodes.
func TestPowersAgreeWithMoments(t *testing.T) {
	prior := must(NewPrior(16))
	u := must(prior.Update([]int{0, 7, 300}, []float64{0, 7, 120}))
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
	u := must(mustPrior(t, 8).Update([]int{6, 6, 2, 40}, []float64{6, 2, 0, 31}))
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

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}
