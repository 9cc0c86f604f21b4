package estimate_test

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/policy/seed"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// couple draws the rewards of a pair of rollouts of tasks with the probabilities a and b.
type couple func(a, b float64, random *seed.Stream) (x, y float64)

func passes(u, p float64) float64 {
	if u < p {
		return 1
	}
	return 0
}

// couples are ways in which two rollouts depend on each other, with Var(A−B) under each.
var couples = map[string]struct {
	draw     couple
	variance func(a, b float64) float64
}{
	"independent": {
		func(a, b float64, random *seed.Stream) (float64, float64) {
			return passes(random.Float64(), a), passes(random.Float64(), b)
		},
		func(a, b float64) float64 { return a*(1-a) + b*(1-b) },
	},
	"one noise": {
		func(a, b float64, random *seed.Stream) (float64, float64) {
			u := random.Float64()
			return passes(u, a), passes(u, b)
		},
		func(a, b float64) float64 { return math.Abs(a-b) * (1 - math.Abs(a-b)) },
	},
	"opposed": {
		func(a, b float64, random *seed.Stream) (float64, float64) {
			u := random.Float64()
			return passes(u, a), passes(1-u, b)
		},
		func(a, b float64) float64 {
			return a*(1-a) + b*(1-b) - 2*(max(0, a+b-1)-a*b)
		},
	},
}

// twoModels are the pass rates of two models on thirty tasks.
func twoModels() (a, b []float64) {
	for i := range 30 {
		p := float64(i%10) / 9
		a, b = append(a, p), append(b, min(1, max(0, p+0.1*float64(i%3-1))))
	}
	return a, b
}

// contest evaluates two models in pairs, in stages with rollouts per task and weights. It
// returns the difference, and its variance given the sizes.
func contest(t *testing.T, stages []int, weights, a, b []float64, c couple, variance func(a, b float64) float64, random *seed.Stream) (d estimate.Difference, exact float64) {
	t.Helper()
	n := len(a)
	first, second := make([][][]float64, n), make([][][]float64, n)
	for k, size := range stages {
		sizes := make([]int, n)
		for i := range sizes {
			sizes[i] = size
		}
		if k > 0 {
			var err error
			if sizes, err = neyman.Allocate(d.Variances, size*n); err != nil {
				t.Fatal(err)
			}
		}
		var pairs []estimate.Pairs
		sum, so := 0.0, slices.Clone(weights[:k+1])
		for _, w := range so {
			sum += w
		}
		for j := range so {
			so[j] /= sum
		}
		for i := range n {
			var xs, ys []float64
			for range sizes[i] {
				x, y := c(a[i], b[i], random)
				xs, ys = append(xs, x), append(ys, y)
			}
			first[i], second[i] = append(first[i], xs), append(second[i], ys)
			exact += weights[k] * weights[k] / float64(sizes[i]) * variance(a[i], b[i]) / float64(n*n)
			pairs = append(pairs, must(estimate.NewPairs(first[i], second[i], so, 0)))
		}
		d = must(estimate.DifferenceOf(prior, pairs))
	}
	return d, exact
}

// Differences of pairs are unbiased and have the stated error, whatever couples the pairs, in
// stages whose sizes follow from the pairs before. The factor is the ratio of variances.
func TestPairsHaveTheirError(t *testing.T) {
	a, b := twoModels()
	truth, apart := 0.0, 0.0
	for i := range a {
		truth += (a[i] - b[i]) / float64(len(a))
		apart += a[i]*(1-a[i]) + b[i]*(1-b[i])
	}
	const draws = 300
	for name, c := range couples {
		var sum, squares, stated, exact, factor, covered, wanted, scores float64
		for k := range draws {
			random := seed.Root(3).Child(name).Index(k).Stream()
			d, variance := contest(t, []int{2, 2, 4}, []float64{0.2, 0.3, 0.5}, a, b, c.draw, c.variance, &random)
			sum, squares = sum+d.Value-truth, squares+(d.Value-truth)*(d.Value-truth)
			stated, exact, factor = stated+d.StandardError*d.StandardError, exact+variance, factor+d.Factor/draws
			if d.Low <= truth && truth <= d.High {
				covered++
			}
			for _, v := range d.Variances {
				scores += v / draws
			}
		}
		for i := range a {
			wanted += c.variance(a[i], b[i]) / apart
		}
		if bias, se := sum/draws, math.Sqrt(squares)/draws; math.Abs(bias) > 3*se {
			t.Errorf("%s: a bias of %v ± %v", name, bias, se)
		}
		if r := squares / exact; math.Abs(r-1) > 0.25 { // ± .08
			t.Errorf("%s: squared errors are %v of the variance", name, r)
		}
		if r := stated / exact; r < 0.93 || r > 1.2 {
			t.Errorf("%s: stated variances are %v of the true ones", name, r)
		}
		if covered /= draws; covered < 0.915 || covered > 0.985 { // .95 ± .013
			t.Errorf("%s: a coverage of %v", name, covered)
		}
		if r := scores / (wanted * apart); r < 0.9 || r > 1.15 {
			t.Errorf("%s: scores are %v of the variances", name, r)
		}
		if math.Abs(factor-wanted) > 0.05 {
			t.Errorf("%s: a factor of %v, want about %v", name, factor, wanted)
		}
	}
}

// Rewards that always agree have no difference, and an error that falls with the pairs. The
// other way round the difference is the same but for its sign.
func TestPairsOfTwins(t *testing.T) {
	last := 1.0
	for _, n := range []int{2, 8, 32} {
		var twins, graded, turned []estimate.Pairs
		for i := range 20 {
			var xs, ys []float64
			for j := range n {
				xs, ys = append(xs, float64((i+j)%2)), append(ys, float64((i*j)%3)/2)
			}
			twins = append(twins, must(estimate.NewPairs([][]float64{xs}, [][]float64{xs}, []float64{1}, 0)))
			graded = append(graded, must(estimate.NewPairs([][]float64{xs}, [][]float64{ys}, []float64{1}, 0)))
			turned = append(turned, must(estimate.NewPairs([][]float64{ys}, [][]float64{xs}, []float64{1}, 0)))
		}
		d := must(estimate.DifferenceOf(prior, twins))
		if d.Value != 0 || d.Factor != 0 || math.Abs(d.Correlation-1) > 1e-12 || d.StandardError <= 0 || d.StandardError >= last || math.Abs(d.Low+d.High) > 1e-12 {
			t.Errorf("twins by %d: %+v", n, d)
		}
		last = d.StandardError
		for i := range twins {
			twins[i] = must(estimate.NewPairs([][]float64{slices.Repeat([]float64{1}, n)}, [][]float64{slices.Repeat([]float64{1}, n)}, []float64{1}, 0))
		}
		if d := must(estimate.DifferenceOf(prior, twins)); d.Factor != 1 || d.Correlation != 0 {
			t.Errorf("rewards that do not vary by %d: %+v", n, d)
		}
		x, y := must(estimate.DifferenceOf(prior, graded)), must(estimate.DifferenceOf(prior, turned))
		if math.Abs(x.Value+y.Value) > 1e-12 || math.Abs(x.Low+y.High) > 1e-12 || math.Abs(x.StandardError-y.StandardError) > 1e-12 || math.Abs(x.Factor-y.Factor) > 1e-12 {
			t.Errorf("graded by %d: %+v, turned %+v", n, x, y)
		}
	}
}

func TestPairsThatAreNone(t *testing.T) {
	one, two := [][]float64{{1}}, [][]float64{{1, 0}}
	for name, err := range map[string]error{
		"more of one":   second(estimate.NewPairs(one, two, []float64{1}, 0)),
		"fewer stages":  second(estimate.NewPairs(one, nil, []float64{1}, 0)),
		"more weights":  second(estimate.NewPairs(one, one, []float64{0.5, 0.5}, 0)),
		"no tasks":      second(estimate.DifferenceOf(prior, nil)),
		"half a weight": second(estimate.DifferenceOf(prior, []estimate.Pairs{must(estimate.NewPairs(one, one, []float64{0.5}, 0))})),
		"no reward":     second(estimate.DifferenceOf(prior, []estimate.Pairs{must(estimate.NewPairs(one, [][]float64{{math.NaN()}}, []float64{1}, 0))})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }
