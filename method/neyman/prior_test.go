package neyman

import (
	"fmt"
	"math"
	"testing"

	"speceval/internal/seed"
)

func mustPrior(t testing.TB, order int) *Prior {
	t.Helper()
	p, err := NewPrior(order)
	if err != nil {
		t.Fatal(err)
	}
	return p
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

// TestQuadratureHasConverged compares order 16 with order 64 on ordinary
// pilots: the paper's order is enough for three digits of every score.
func TestQuadratureHasConverged(t *testing.T) {
	coarse, fine := mustPrior(t, 16), mustPrior(t, 64)
	for _, counts := range [][]int{{20, 5, 5, 10}, {10, 3, 3, 3, 11}, {0, 2, 8, 8, 2}} {
		m := len(counts) - 1
		a := coarse.Pilot(m).Scores(counts, coarse.NewWork())
		b := fine.Pilot(m).Scores(counts, fine.NewWork())
		for s := range counts {
			if x, y := a.At(s), b.At(s); math.Abs(x-y) > 1e-2*y {
				t.Errorf("counts %v, S = %d: %v with order 16, %v with 64", counts, s, x, y)
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
