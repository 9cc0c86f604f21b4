package workload

import (
	"fmt"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/profile"
)

// Workload is a calibration of the simulated fleet.
type Workload struct {
	Models  []Model   // in file order
	Lengths []Lengths // in file order
}

// Model is how a model is served.
type Model struct {
	Model          string
	Timing         fleet.Timing // of a replica
	MaxSequences   int          // that a replica runs at a time
	MaxTokens      int          // of an answer
	ThinkingTokens int          // budget of the thinking; 0 if the model does not think

	// Handling is for how many nanoseconds the router is busy with a completion
	// per rollout of the execution, N·b of them: the published one looked through
	// all of them every time. Computation is how long a provisional allocation
	// takes it in the background.
	Handling    float64
	Computation time.Duration
}

// Lengths are how long a profile's prompts and answers are, see Law, and how fast it
// is served.
type Lengths struct {
	Benchmark, Model string

	Pace       float64 // that the profile's steps take so many times as long as the model's
	Prompt     int     // tokens
	Location   float64 // mean logarithm of an easy, sure task's body
	Hard       float64 // how the mean rises with 1−p
	Noisy      float64 // and with 4p(1−p)
	TaskSpread float64 // standard deviation between tasks, and
	Spread     float64 // within a task
	Closing    float64 // mean tokens of the answer after the thinking
	Endless    float64 // probability that an answer goes to the limit once its thinking was cut
	Loop       float64 // probability that an answer goes to the limit by itself
}

// HandlingOf is how long the router is busy with a completion of an execution of
// n tasks with so many rollouts each.
func (m Model) HandlingOf(n, budget int) time.Duration {
	return time.Duration(m.Handling * float64(n) * float64(budget))
}

// Model is a model by its id.
func (w *Workload) Model(id string) (Model, bool) {
	for _, m := range w.Models {
		if m.Model == id {
			return m, true
		}
	}
	return Model{}, false
}

// Knows reports whether there are parameters for a profile.
func (w *Workload) Knows(benchmark, model string) bool {
	_, known := w.lengths(benchmark, model)
	return known
}

func (w *Workload) lengths(benchmark, model string) (Lengths, bool) {
	for _, l := range w.Lengths {
		if l.Benchmark == benchmark && l.Model == model {
			return l, true
		}
	}
	return Lengths{}, false
}

// Law is how a profile's model is served and how long its answers are.
func (w *Workload) Law(p profile.Profile) (Model, *Law, error) {
	m, known := w.Model(p.Model)
	if !known {
		return Model{}, nil, fmt.Errorf("the simulated fleet has not been calibrated for model %s", p.Model)
	}
	l, known := w.lengths(p.Benchmark, p.Model)
	if !known {
		return Model{}, nil, fmt.Errorf("the simulated fleet has not been calibrated for profile %s", p.Name())
	}
	m.Timing.Pace = l.Pace
	return m, NewLaw(m, l, p), nil
}
