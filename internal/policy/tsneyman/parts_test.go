package tsneyman

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"speceval/internal/policy/seed"
)

// TestHazards compares hazards with an incomplete beta function that is not
// ours, to 10⁻¹⁰.
func TestHazards(t *testing.T) {
	for _, alpha := range []float64{0.01, 0.07, 1, 30, 1000} {
		for _, state := range [][2]int32{{1, 0}, {2, 0}, {2, 1}, {5, 1}, {20, 0}, {20, 10}, {300, 3}, {300, 149}, {4000, 1}, {4000, 2000}} {
			n, less := state[0], state[1]
			p := newPosterior(alpha, n, less)
			for depth := 0.0; depth < 60; depth += 0.37 {
				x := depth + p.logGain/math.Ln2 + 2 + 1e-4 // the first just below the largest score
				want := -math.Log(below(p.a, p.b, float64(n), x))
				if want > 50 || math.IsNaN(want) {
					break
				}
				got := float64(p.hazard(p.at(x))) / unit
				if math.Abs(got-want) > 1e-10+1e-9*want {
					t.Errorf("α=%v n=%d less=%d depth %v: hazard %v, want %v", alpha, n, less, x, got, want)
				}
			}
		}
	}
}

// TestHazardsFarDown has scores that no float64 holds: F(x) = q^α there, as good as.
func TestHazardsFarDown(t *testing.T) {
	const alpha = 1e-10
	p := newPosterior(alpha, 5, 0)
	for _, h := range []float64{0.1, 1, 10} {
		depth := h / alpha / math.Ln2
		if got := float64(p.hazard(p.at(depth))) / unit; math.Abs(got/h-1) > 1e-8 {
			t.Errorf("hazard %v at depth %v, want %v", got, depth, h)
		}
	}
}

// TestExponential compares mean, variance and ten cells of equal probability,
// at five standard errors each.
func TestExponential(t *testing.T) {
	z, random := newZiggurat(), seed.Root(2).Stream()
	const n = 1 << 20
	var sum, squares float64
	var cells [10]float64
	beyond := 0.0
	for range n {
		x := float64(z.draw(&random)) / unit
		sum, squares = sum+x, squares+x*x
		cells[int(-math.Expm1(-x)*10)]++
		if x > 9 {
			beyond++
		}
	}
	if math.Abs(sum/n-1) > 5/math.Sqrt(n) || math.Abs(squares/n-2) > 5*math.Sqrt(20.0/n) {
		t.Errorf("mean %v, mean square %v", sum/n, squares/n)
	}
	for i, c := range cells {
		if math.Abs(c-n/10) > 5*math.Sqrt(n*0.09) {
			t.Errorf("cell %d has %v of %d", i, c, n)
		}
	}
	if want := n * math.Exp(-9); math.Abs(beyond-want) > 5*math.Sqrt(want) {
		t.Errorf("%v above 9, want %v", beyond, want)
	}
}

// TestScoresWithinAPart compares scores drawn within bounds with the law of the
// score there: eight cells of equal width, at five standard errors each.
func TestScoresWithinAPart(t *testing.T) {
	random := seed.Root(3).Stream()
	tried := map[string]int{}
	for _, c := range []struct {
		alpha   float64
		n, less int32
	}{{0.07, 5, 0}, {0.07, 20, 0}, {0.07, 30, 15}, {0.07, 100, 20}, {1, 2, 1}, {0.01, 8, 1}, {1000, 4, 2}} {
		p := newPosterior(c.alpha, c.n, c.less)
		top := p.logGain/math.Ln2 + 2
		for _, bounds := range [][2]float64{{math.Inf(-1), top + 0.05}, {math.Inf(-1), top + 3}, {top - 0.01, top + 0.02}, {top + 0.01, top + 0.02}, {top + 0.1, top + 0.15}, {top + 1, top + 1.2}, {top + 1, top + 7}, {top + 3, top + 3.1}, {top + 0.2, top + 40}} {
			high, low := bounds[0], bounds[1]
			mass := below(p.a, p.b, float64(c.n), high) - below(p.a, p.b, float64(c.n), low)
			if mass < 1e-5 {
				continue
			}
			exact := p.flatness(p.at(high), p.at(low))
			for _, flat := range []uint8{uint8(256 * exact), 0} { // both ways
				tried[fmt.Sprint(flat > 0, p.root(low) < middle)]++
				const n = 4000
				var cells [8]float64
				from := max(high, top)
				for range n {
					depth := p.depthWithin(high, low, flat, &random)
					if depth < from-1e-9 || depth > low+1e-9 {
						t.Fatalf("depth %v is not within %v and %v", depth, from, low)
					}
					cells[min(7, max(0, int((depth-from)/(low-from)*8)))]++
				}
				for i, got := range cells {
					a, b := from+(low-from)*float64(i)/8, from+(low-from)*float64(i+1)/8
					want := (below(p.a, p.b, float64(c.n), a) - below(p.a, p.b, float64(c.n), b)) / mass
					if math.Abs(got-n*want) > 5*math.Sqrt(n*want*(1-want))+2 {
						t.Errorf("α=%v n=%d less=%d within %v and %v, flat %d: cell %d has %v, want %.1f", c.alpha, c.n, c.less, high-top, low-top, flat, i, got, n*want)
					}
				}
				if flat == 0 {
					break
				}
			}
		}
	}
	if len(tried) < 3 {
		t.Errorf("tried %v", tried)
	}
}

// TestLogVarianceHasTheLawOfTheScore compares draws of log p(1−p) with
// quantiles, at five standard errors.
func TestLogVarianceHasTheLawOfTheScore(t *testing.T) {
	random := seed.Root(4).Stream()
	for _, c := range [][2]float64{{0.07, 5.07}, {1, 1}, {3.01, 8.01}, {150, 170}, {0.01, 0.01}} {
		const n = 20_000
		var cells [6]float64
		levels := []float64{0, 1e-12, 1e-3, 0.02, 0.1, 0.2, 0.25}
		for range n {
			y := math.Exp(logVariance(c[0], c[1], &random))
			for i := range cells {
				if y > levels[i] && y <= levels[i+1] || i == 0 && y == 0 {
					cells[i]++
				}
			}
		}
		law := func(y float64) float64 {
			q := 2 * y / (1 + math.Sqrt(1-4*y))
			return mathext.RegIncBeta(c[0], c[1], q) + mathext.RegIncBeta(c[1], c[0], q)
		}
		for i, got := range cells {
			want := law(levels[i+1]) - law(levels[i])
			if i == len(cells)-1 {
				want = 1 - law(levels[i])
			}
			if math.Abs(got-n*want) > 5*math.Sqrt(n*want*(1-want))+1e-6 {
				t.Errorf("Beta%v: cell %d has %v, want %v", c, i, got, n*want)
			}
		}
	}
}
