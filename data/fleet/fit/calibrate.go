package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/workload"
)

// calibration is what the fit has found.
type calibration struct {
	workload workload.Workload
	cells    []*cell
	fits     map[*cell][]fitted
}

// likeliestBase is the factor of the base that makes what was published likeliest;
// README.md beside it has the others that were tried.
const likeliestBase = 0.97

// starts are where the search begins: close to what a GPU of this kind can do. The
// base of thinking models is what reading the weights takes at the rate of the others,
// whose looping answers say it well: 1.17 ms, and 0.665 ms for a billion parameters.
var starts = []workload.Model{
	start("qwen2_5_32b", 128, 22000, 160, 125, 550),
	start("qwen2_5_3b", 256, 3500, 70, 17, 60),
	start("qwen2_5_7b", 192, 5000, 120, 30, 130),
	start("qwen3_5_27b", 64, 18200, 300, 80, 560),
	start("qwen3_5_4b", 128, 3970, 135, 20, 90),
	start("qwen3_5_9b", 128, 6450, 145, 28, 180),
}

// start is a model by its time per step and sequence in µs, context token in
// ns, prompt token in µs.
func start(model string, sequences, base, sequence, context, prompt int) workload.Model {
	m := workload.Model{
		Model: model, MaxSequences: sequences, MaxTokens: 16384, Handling: 645, Computation: 50 * time.Millisecond,
		Timing: fleet.Timing{
			Base: time.Duration(base) * time.Microsecond, Sequence: time.Duration(sequence) * time.Microsecond,
			Context: time.Duration(context), Prompt: time.Duration(prompt) * time.Microsecond, Graphs: true,
		},
	}
	if model[:7] == "qwen3_5" {
		m.ThinkingTokens = 8192
		m.Timing.Late, m.Timing.After = 15, m.ThinkingTokens
	}
	return m
}

// calibrate fits model after model and measures what is left unexplained.
func calibrate(ctx context.Context, facts []*fact, o options, log io.Writer) (*calibration, error) {
	c := &calibration{fits: map[*cell][]fitted{}}
	for _, m := range starts {
		if len(o.models) > 0 && !slices.Contains(o.models, m.Model) {
			continue
		}
		s := newSearch(m, facts, o, log)
		if err := s.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Model, err)
		}
		c.workload.Models = append(c.workload.Models, s.model)
		c.cells = append(c.cells, s.cells...)
	}
	if err := c.measure(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(c.cells, func(a, b *cell) int { return compareNames(a, b) })
	for _, cell := range c.cells {
		c.workload.Lengths = append(c.workload.Lengths, cell.final())
	}
	c.summary(log)
	return c, nil
}

// final are the lengths of a profile as they go into the file.
func (c *cell) final() workload.Lengths {
	l := c.lengths
	l.Loop, l.Pace = c.loop, math.Exp(c.pace)
	return l
}
