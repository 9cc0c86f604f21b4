package undisturbed

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"speceval/drills/process"
)

// Serve starts the fleet of the experiment by the built program, at so many times
// its speed, and waits until every server is healthy.
func (e *Experiment) Serve(ctx context.Context, program string, speed float64) (*process.Process, error) {
	fleet, err := process.Start(filepath.Join(e.dir, "fleet.txt"), nil, program,
		"fleet", "--config", e.Configuration(), "--speed", strconv.FormatFloat(speed, 'g', -1, 64))
	if err != nil {
		return nil, err
	}
	for _, url := range e.URLs {
		if err := fleet.Until(ctx, func() (bool, error) { return process.Healthy(ctx, url), nil }); err != nil {
			fleet.Kill()
			return nil, fmt.Errorf("the fleet, of which %s is to be healthy: %w", url, err)
		}
	}
	return fleet, nil
}

// Start starts a command of the built program on the experiment, with an output
// folder. What it says goes to the new file log.
func (e *Experiment) Start(program, out, log string, words ...string) (*process.Process, error) {
	return process.Start(log, nil, program, slices.Concat(words, []string{"--config", e.Configuration(), "--out", out})...)
}
