package pilot

import (
	"slices"
	"testing"

	"speceval/internal/seed"
)

// TestCommonPathsAreNested draws two profiles from the same streams: where the
// probability is higher at least the same outcomes pass, where it is equal the
// same, and it does not matter how many draws a sweep takes.
func TestCommonPathsAreNested(t *testing.T) {
	const draws, rollouts = 30, 70
	low, high := []float64{0.25, 0, 0.5, 1, 0.7}, []float64{0.26, 0.01, 0.5, 1, 0.9}
	own := seed.Root(32).Stream()
	path := func(p []float64, first, count int) func(draw, task int) []uint64 {
		sw := newSweep(p, rollouts)
		sw.start(first, count, OwnStreams(own, len(p), rollouts))
		return func(draw, task int) []uint64 {
			if u := slices.Index(sw.uncertain, task); u >= 0 {
				return sw.path(draw-first, u)
			}
			return []uint64{0, 0}
		}
	}
	a, b, tail := path(low, 0, draws), path(high, 0, draws), path(high, 20, draws-20)
	more := 0
	for draw := range draws {
		for _, task := range []int{0, 1, 2, 4} {
			for i, word := range a(draw, task) {
				if word&^b(draw, task)[i] != 0 || task == 2 && word != b(draw, task)[i] {
					t.Fatalf("draw %d, task %d: paths %x and %x", draw, task, a(draw, task), b(draw, task))
				}
				if word != b(draw, task)[i] {
					more++
				}
			}
			if draw >= 20 && !slices.Equal(tail(draw, task), b(draw, task)) {
				t.Fatalf("draw %d, task %d depends on the sweep", draw, task)
			}
		}
	}
	if more == 0 || slices.Equal(a(0, 0), a(1, 0)) {
		t.Errorf("%d paths differ; the first of task 0 are %x and %x", more, a(0, 0), a(1, 0))
	}
}
