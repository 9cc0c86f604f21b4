package figure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNoPointOfASwarmCoversAnother(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ys := make([]float64, 107)
	for i := range ys {
		ys[i] = 60 + 15*random.NormFloat64()
	}
	const diameter, half = 2.6, 24
	aside := swarm(ys, diameter, half)
	sum := 0.0
	for i := range ys {
		sum += aside[i]
		if math.Abs(aside[i]) > half+1e-9 {
			t.Errorf("point %d is %v aside", i, aside[i])
		}
		for j := range i {
			if d := math.Hypot(aside[i]-aside[j], ys[i]-ys[j]); d < diameter-1e-5 {
				t.Errorf("points %d and %d are %v apart", i, j, d)
			}
		}
	}
	if lean := math.Abs(sum) / float64(len(ys)); lean > 1 {
		t.Errorf("the swarm leans by %v", lean)
	}
}

func TestTooManyPointsStayInTheirPlace(t *testing.T) {
	for _, half := range []float64{0, 1, 5} {
		aside := swarm(make([]float64, 300), 2, half)
		if least, most := slices.Min(aside), slices.Max(aside); least < -half || most > half {
			t.Errorf("half %v: from %v to %v", half, least, most)
		}
	}
}

func TestLabelsAreMovedApart(t *testing.T) {
	for _, c := range []struct{ ys, want []float64 }{
		{nil, nil},
		{[]float64{5}, []float64{5}},
		{[]float64{0, 10, 30}, []float64{0, 10, 30}},
		{[]float64{0, 0}, []float64{-4, 4}},
		{[]float64{10, 12, 14}, []float64{4, 12, 20}},
		{[]float64{0, 1, 40, 41}, []float64{-3.5, 4.5, 36.5, 44.5}},
		{[]float64{0, 9, 10}, []float64{-5.0 / 3, 19.0 / 3, 43.0 / 3}},
	} {
		got := apart(c.ys, 8)
		for i := range c.want {
			if math.Abs(got[i]-c.want[i]) > 1e-9 {
				t.Errorf("%v become %v, want %v", c.ys, got, c.want)
				break
			}
		}
	}
}

func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		log       bool
		want      []string
	}{
		{0, 1, false, []string{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{-0.04, 1.04, false, []string{"0.0", "0.5", "1.0"}},
		{0, 3.8, false, []string{"0", "1", "2", "3"}},
		{-2, 2, false, []string{"−2", "−1", "0", "1", "2"}},
		{0.63, 1.02, false, []string{"0.7", "0.8", "0.9", "1.0"}},
		{7, 70, true, []string{"8", "16", "32", "64"}},
	} {
		var got []string
		for _, tick := range niceTicks(c.low, c.high, c.log) {
			got = append(got, tick.Label)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

func TestAMachinesRoundingDoesNotShow(t *testing.T) {
	for _, v := range []float64{0.125, 10.005, 3.0049999999999999, -0.005, 117.345} {
		if rounded(v) != rounded(math.Nextafter(v, 1e9)) || rounded(v) != rounded(math.Nextafter(v, -1e9)) {
			t.Errorf("%v is written in two ways", v)
		}
	}
	if v := rounded(-1e-9); math.Signbit(v) {
		t.Error("minus zero")
	}
}

func TestTextIsBrokenWhereItMust(t *testing.T) {
	if got := wrapped("one two three", 10, lineWidth("one two", 10)+0.1); got != "one two\nthree" {
		t.Errorf("%q", got)
	}
	if got := wrapped("unbreakable", 10, 1); got != "unbreakable" {
		t.Errorf("%q", got)
	}
}

func TestWidthsAreTheFonts(t *testing.T) {
	loaded, err := faces()
	if err != nil {
		t.Fatal(err)
	}
	// Liberation Sans is as wide as Helvetica, whose widths are known; a character
	// that it lacks is a box.
	for text, mils := range map[string]float64{"": 0, "0": 556, "i": 222, "W": 944, "b = 8": 556 + 278 + 584 + 278 + 556, "é": 556, "−": 584, "中": 750, "\U0001F600": 750} {
		if got := 1000 * loaded[upright].width(text); math.Abs(got-mils) > 0.5 {
			t.Errorf("%q is %.1f wide, want %v", text, got, mils)
		}
	}
}
