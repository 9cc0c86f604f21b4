package replay

import (
	"speceval/internal/pilot"
	"speceval/method/neyman"
)

// hbn values HBN's continuation allocations on the draws of a sweep.
type hbn struct {
	posterior *neyman.Posterior
	work      *neyman.Work

	counts    []int     // tasks by pilot successes
	masses    []float64 // Σ p(1−p) by pilot successes
	of        *sweep    // whose draws it values
	successes []uint16  // by task
	classes   neyman.Classes
	label     []int     // pilot successes of each class
	drops     []float64 // by pilot successes: what a tied task's next rollout saves
}

func newHBN(prior *neyman.Prior, m int) *hbn {
	return &hbn{
		posterior: prior.Pilot(m), work: prior.NewWork(),
		counts: make([]int, m+1),
		masses: make([]float64, m+1),
		drops:  make([]float64, m+1),
	}
}

// value returns Σ p(1−p)/L over the tasks for the allocation of budget − m
// continuation rollouts a task after the pilot of a draw. Every node of the
// quadrature takes part, and ties go to the tasks first in order.
func (h *hbn) value(sw *sweep, draw, budget int) float64 {
	h.observe(sw, draw)
	scores := h.posterior.Scores(h.counts, h.work)
	h.classes.Reset()
	h.label = h.label[:0]
	for s, n := range h.counts {
		if n != 0 {
			h.classes.Add(n, scores.At(s))
			h.label = append(h.label, s)
		}
	}
	gain, extra := h.classes.Settle(len(sw.variances) * (budget - sw.m))
	sum := 0.0
	for class, s := range h.label {
		l := float64(h.classes.Units(class))
		sum += h.masses[s] / l
		if h.classes.Gain(class) == gain {
			h.drops[s] = 1 / (l * (l + 1))
		}
	}
	sum -= savings(extra, h.drops, h.successes, sw.variances)
	clear(h.drops)
	return sum
}

// observe counts the pilot successes of a draw.
func (h *hbn) observe(sw *sweep, draw int) {
	if h.of != sw {
		h.of = sw
		h.successes = make([]uint16, len(sw.variances))
		for _, task := range sw.passing {
			h.successes[task] = uint16(sw.m)
		}
	}
	clear(h.counts)
	clear(h.masses)
	h.counts[0], h.counts[sw.m] = len(sw.failing), len(sw.passing)
	for u, task := range sw.uncertain {
		s := pilot.Successes(sw.path(draw, u), sw.m)
		h.successes[task] = uint16(s)
		h.counts[s]++
		h.masses[s] += sw.variances[task]
	}
}
