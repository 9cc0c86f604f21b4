package replay

import (
	"math"
	"testing"
)

// TestCrossedEstimatesAreUnbiased lists every pair of small tables that can be
// drawn from three kinds of rows and three of columns, whose values have all
// kinds of effects and rests: on average the spread's square is the variance of
// the row effects, and the square of the mean's error is the variance of the
// mean, to the last digits.
func TestCrossedEstimatesAreUnbiased(t *testing.T) {
	values := [3][3]float64{{1, 2, 7}, {0, 5, 1}, {4, 4, -3}}
	rowChance, columnChance := [3]float64{0.2, 0.5, 0.3}, [3]float64{0.6, 0.1, 0.3}
	var effect [3]float64
	grand := 0.0
	for r := range 3 {
		for c := range 3 {
			effect[r] += columnChance[c] * values[r][c]
		}
		grand += rowChance[r] * effect[r]
	}
	want := 0.0
	for r := range 3 {
		want += rowChance[r] * (effect[r] - grand) * (effect[r] - grand)
	}
	for _, shapes := range [][][2]int{{{2, 3}}, {{3, 2}, {2, 2}}} { // rows and columns
		var spread, mean, square, error float64
		eachDraw(shapes, rowChance, columnChance, func(chance float64, kinds [][2][]int) {
			var p pooled
			for _, kind := range kinds {
				c := newCrossed(len(kind[0]), len(kind[1]))
				for i, r := range kind[0] {
					for j, k := range kind[1] {
						c.set(i, j, values[r][k])
					}
				}
				p.add(c)
			}
			m, _ := p.mean()
			spread += chance * (p.between - p.rest) / p.degrees
			mean += chance * m
			square += chance * m * m
			error += chance * p.error / (p.rows * p.rows)
		})
		for what, pair := range map[string][2]float64{
			"square of the spread": {spread, want}, "mean": {mean, grand}, "square of the mean's error": {error, square - mean*mean},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-10 {
				t.Errorf("tables of %v: expected %s %v, want %v", shapes, what, pair[0], pair[1])
			}
		}
	}
}

// eachDraw visits every choice of kinds of rows and columns for tables of the
// given shapes, with its probability.
func eachDraw(shapes [][2]int, rowChance, columnChance [3]float64, visit func(chance float64, kinds [][2][]int)) {
	var kinds [][2][]int
	var slots []*int
	var chances [][3]float64
	for _, shape := range shapes {
		kind := [2][]int{make([]int, shape[0]), make([]int, shape[1])}
		for i := range kind[0] {
			slots, chances = append(slots, &kind[0][i]), append(chances, rowChance)
		}
		for i := range kind[1] {
			slots, chances = append(slots, &kind[1][i]), append(chances, columnChance)
		}
		kinds = append(kinds, kind)
	}
	var fill func(at int, chance float64)
	fill = func(at int, chance float64) {
		if at == len(slots) {
			visit(chance, kinds)
			return
		}
		for k := range 3 {
			*slots[at] = k
			fill(at+1, chance*chances[at][k])
		}
	}
	fill(0, 1)
}

// TestCrossedClipsAtZero has tables without any row effect, where the estimate
// of its square is as often negative as not.
func TestCrossedClipsAtZero(t *testing.T) {
	c := newCrossed(2, 2)
	c.set(0, 0, 1)
	c.set(1, 1, 1)
	var p pooled
	p.add(c)
	if mean, se := p.mean(); p.spread() != 0 || mean != 0.5 || !(se >= 0) {
		t.Errorf("spread %v, mean %v ± %v", p.spread(), mean, se)
	}
}
