package pilot

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"speceval/internal/policy/seed"
)

// TestFoldCountsTheSmallerSide checks every path of up to 12 outcomes, and long
// random ones across words, against the definition.
func TestFoldCountsTheSmallerSide(t *testing.T) {
	for rollouts := 1; rollouts <= 12; rollouts++ {
		for path := range uint64(1) << rollouts {
			checkFold(t, []uint64{path}, rollouts)
		}
	}
	random := seed.Root(1).Stream()
	for range 2000 {
		rollouts := 1 + int(random.Uint64()%300)
		path := make([]uint64, PathWords(rollouts))
		NewArranger(rollouts).Draw(path, int(random.Uint64()%uint64(rollouts+1)), &random)
		checkFold(t, path, rollouts)
	}
}

func checkFold(t *testing.T, path []uint64, rollouts int) {
	t.Helper()
	events := make([]uint64, len(path))
	events[0] = ^uint64(0) // must be cleared
	Fold(path, rollouts, events)
	for m := 1; m <= rollouts; m++ {
		s := Successes(path, m)
		if want, got := min(s, m-s), Successes(events, m); got != want {
			t.Fatalf("path %x of %d: folded count after %d is %d, want %d", path, rollouts, m, got, want)
		}
	}
	if all := Successes(events, 64*len(events)); all != Successes(events, rollouts) {
		t.Fatalf("path %x of %d: events beyond the end", path, rollouts)
	}
}

// TestOrdersAreEquallyLikely draws paths of 7 outcomes with 3 successes, in one
// call or in two: a chi-squared test over the 35 orders, false alarm 1e-6.
func TestOrdersAreEquallyLikely(t *testing.T) {
	const draws = 35 * 2000
	const limit = 97.6 // chi-squared with 34 degrees of freedom, upper 1e-7 (scipy 1.11 chi2.isf)
	a := NewArranger(7)
	random := seed.Root(2).Stream()
	for name, draw := range map[string]func(path []uint64){
		"one call":   func(path []uint64) { a.Draw(path, 3, &random) },
		"two calls":  func(path []uint64) { path[0] = 0; a.Add(path, 1, &random); a.Add(path, 2, &random) },
		"complement": func(path []uint64) { a.Draw(path, 4, &random); path[0] ^= 127 },
	} {
		seen := map[uint64]float64{}
		path := make([]uint64, 1)
		for range draws {
			draw(path)
			if bits.OnesCount64(path[0]) != 3 || path[0] >= 128 {
				t.Fatalf("%s: path %b", name, path[0])
			}
			seen[path[0]]++
		}
		chi := 0.0
		for _, n := range seen {
			chi += (n - 2000) * (n - 2000) / 2000
		}
		if len(seen) != 35 || chi > limit {
			t.Errorf("%s: %d orders, chi-squared %.1f, want 35 and at most %.1f", name, len(seen), chi, limit)
		}
	}
}

// TestPrefixesHaveTheLawOfShorterPilots draws beta-binomial paths of 63 and
// 130 outcomes and compares the successes in their prefixes with the urn run
// step by step: mean and second moment, at 5 standard errors.
func TestPrefixesHaveTheLawOfShorterPilots(t *testing.T) {
	const draws = 200_000
	const a, b = 0.3, 0.8
	for _, rollouts := range []int{63, 130} {
		random := seed.Root(uint64(rollouts)).Stream()
		var totals Totals
		totals.BetaBinomial(rollouts, a, b)
		arranger := NewArranger(rollouts)
		path := make([]uint64, PathWords(rollouts))
		prefixes := []int{1, 2, 5, 17, 63, rollouts}
		sums, squares := make([]float64, len(prefixes)), make([]float64, len(prefixes))
		for range draws {
			arranger.Draw(path, totals.Invert(random.Float64()), &random)
			for i, m := range prefixes {
				s := float64(Successes(path, m))
				sums[i] += s
				squares[i] += s * s
			}
		}
		for i, m := range prefixes {
			p := urn(m, a, b)
			mean, second, fourth := moment(p, 1), moment(p, 2), moment(p, 4)
			if e := math.Abs(sums[i]/draws-mean) / math.Sqrt((second-mean*mean)/draws); e > 5 {
				t.Errorf("%d of %d: mean is %.1f standard errors off", m, rollouts, e)
			}
			if e := math.Abs(squares[i]/draws-second) / math.Sqrt((fourth-second*second)/draws); e > 5 {
				t.Errorf("%d of %d: second moment is %.1f standard errors off", m, rollouts, e)
			}
		}
	}
}

// urn is the distribution of successes after m steps of a Pólya urn.
func urn(m int, a, b float64) []float64 {
	p := []float64{1}
	for n := range m {
		next := make([]float64, n+2)
		for s, q := range p {
			rise := (a + float64(s)) / (a + b + float64(n))
			next[s+1] += q * rise
			next[s] += q * (1 - rise)
		}
		p = next
	}
	return p
}

func moment(p []float64, k int) float64 {
	sum := 0.0
	for s, q := range p {
		sum += q * math.Pow(float64(s), float64(k))
	}
	return sum
}

func TestTotalsMatchTheUrn(t *testing.T) {
	for _, rollouts := range []int{1, 2, 7, 63, 200, 1500} {
		for _, ab := range [][2]float64{{1, 1}, {0.01, 0.01}, {1e-9, 3}, {50, 2}, {1e6, 1e6}, {1e7, 1}, {1e-30, 1e-30}} {
			var totals Totals
			totals.BetaBinomial(rollouts, ab[0], ab[1])
			compare(t, fmt.Sprint("beta-binomial ", rollouts, ab), totals, urn(rollouts, ab[0], ab[1]))
		}
	}
}

func compare(t *testing.T, name string, totals Totals, want []float64) {
	t.Helper()
	sum := 0.0
	for s, p := range want[:len(want)-1] {
		sum += p
		if got := totals.cdf[s]; math.Abs(min(got, 1)-sum) > 1e-11 {
			t.Fatalf("%s: P(total ≤ %d) = %v, want %v", name, s, got, sum)
		}
	}
}

// TestBernoulliOutcomesAreIndependent compares the successes of paths, in total
// and at the first and last place, with the binomial distribution: mean and
// second moment, at 5 standard errors; 0 and 1 are certain.
func TestBernoulliOutcomesAreIndependent(t *testing.T) {
	const draws, rollouts = 100_000, 70
	path := make([]uint64, PathWords(rollouts))
	for i, p := range []float64{1.0 / 1024, 0.1, 1.0 / 3, 0.5, 0.999, 1 - 0x1p-53} {
		random := seed.Root(11).Index(i).Stream()
		var sum, squares, first, last float64
		for range draws {
			Bernoulli(path, rollouts, p, &random)
			s := float64(Successes(path, 64*len(path))) // none beyond the end
			sum, squares = sum+s, squares+s*s
			first += float64(path[0] & 1)
			last += float64(path[1] >> 5 & 1)
		}
		law := make([]float64, rollouts+1)
		for s := range law {
			x, _ := math.Lgamma(rollouts + 1)
			y, _ := math.Lgamma(float64(s + 1))
			z, _ := math.Lgamma(float64(rollouts - s + 1))
			law[s] = math.Exp(x - y - z + float64(s)*math.Log(p) + float64(rollouts-s)*math.Log1p(-p))
		}
		mean, second, fourth := moment(law, 1), moment(law, 2), moment(law, 4)
		check := func(what string, got, want, variance float64) {
			if math.Abs(got/draws-want) > 5*math.Sqrt(max(variance, 1.0/draws)/draws) {
				t.Errorf("p = %v: %s is %v, want %v", p, what, got/draws, want)
			}
		}
		check("mean", sum, mean, second-mean*mean)
		check("second moment", squares, second, fourth-second*second)
		check("first outcome", first, p, p*(1-p))
		check("last outcome", last, p, p*(1-p))
	}
	random := seed.Root(12).Stream()
	if Bernoulli(path, rollouts, 1, &random); Successes(path, 64*len(path)) != rollouts {
		t.Error("an outcome of probability 1 failed")
	}
	if Bernoulli(path, rollouts, 0, &random); Successes(path, 64*len(path)) != 0 {
		t.Error("an outcome of probability 0 happened")
	}
}

func TestFoldedIsTheDistributionOfTheSmallerSide(t *testing.T) {
	for _, rollouts := range []int{1, 2, 3, 8, 63} {
		var totals Totals
		totals.BetaBinomial(rollouts, 0.7, 0.7)
		p := urn(rollouts, 0.7, 0.7)
		want := make([]float64, rollouts/2+1)
		for s, q := range p {
			want[min(s, rollouts-s)] += q
		}
		compare(t, fmt.Sprint("folded ", rollouts), totals.Folded(), want)
	}
}

func TestInversionFindsTheStep(t *testing.T) {
	var totals Totals
	totals.BetaBinomial(20, 0.2, 0.4)
	random := seed.Root(4).Stream()
	for i := range 5000 {
		u := random.Float64()
		if i == 0 {
			u = 0
		} else if i == 1 {
			u = math.Nextafter(1, 0)
		}
		want := 0
		for totals.cdf[want] <= u {
			want++
		}
		if got := totals.Invert(u); got != want {
			t.Fatalf("Invert(%v) = %d, want %d", u, got, want)
		}
		if got := totals.InvertFrom(u, int(random.Uint64()%21)); got != want {
			t.Fatalf("InvertFrom(%v) = %d, want %d", u, got, want)
		}
	}
}
