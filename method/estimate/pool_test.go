package estimate_test

import (
	"math"
	"testing"

	"speceval/method/estimate"
)

// A pool has the weighted mean of the estimates, and the variance that its rollouts
// have with their weights.
func TestPools(t *testing.T) {
	prior := reference(t)
	a := []estimate.Task{two(4, 1, 10, 4, 0.3), two(4, 4, 2, 1, 0.3)}
	b := []estimate.Task{one(8, 3), one(8, 7)}
	m, weights, err := estimate.Pool(prior, estimate.Part{Tasks: a, Precision: 30}, estimate.Part{Tasks: b, Precision: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(weights) != 2 || weights[0] != 0.75 || weights[1] != 0.25 {
		t.Errorf("weights %v", weights)
	}
	ma, errA := estimate.Of(prior, a)
	mb, errB := estimate.Of(prior, b)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
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
	prior := reference(t)
	good := estimate.Part{Tasks: []estimate.Task{one(8, 3), one(8, 7)}, Precision: 1}
	heavy := estimate.Part{Tasks: []estimate.Task{one(8, 3), one(8, 7)}, Precision: 1}
	heavy.Tasks[1].Share = 2
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
