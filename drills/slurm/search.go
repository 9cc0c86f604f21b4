package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	undisturbed "speceval/drills/lab"
)

// slice is a part of the exhaustive search of TS-Neyman: the shipped precision for
// one model on benchmarks of three sizes, at two of the prior strengths.
const slice = `[[model]]
id = "qwen3_5_4b"

[[benchmark]]
id = "gpqa_diamond__domain_biology"
[[benchmark]]
id = "aime24"
[[benchmark]]
id = "math_100"

[replay]
draws = 128
replicates = 2
resamples = 4
resample_draws = 4
ibn_alphas = [0.1]

[replay.ts_neyman]
search = "exhaustive"
alphas = [0.05, 0.20]
draws = %d

[replay.case_study]
repetitions = 2000
`

// search plans the whole exhaustive search, runs a slice of it as an array, and
// prints what it took beside the estimate.
func search(ctx context.Context, o options, dir string, stdout io.Writer) (err error) {
	l, err := newLab(ctx, o, dir, stdout)
	if err != nil {
		return err
	}
	defer func() { err = l.end(err) }()
	whole, err := l.plan(ctx, l.config, "replay.ts_neyman.search=exhaustive")
	if err != nil {
		return err
	}
	l.printf("the whole search with what replay does besides: %.1f core-hours are planned", whole/3600)
	draws := 8192
	if l.small {
		draws = 256
	}
	file := l.path("slice.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, slice, draws), 0o666); err != nil {
		return err
	}
	planned, err := l.plan(ctx, file)
	if err != nil {
		return err
	}
	out := l.path("slice")
	words := slices.Concat([]string{"run", "replay", "--config", file, "--out", out}, throughSlurm("executor.element_minutes=1"))
	if _, err := l.do(ctx, 0, words...); err != nil {
		return err
	}
	return l.measure(out, draws, planned)
}

// measure prints what a slice took.
func (l *lab) measure(out string, draws int, planned float64) error {
	w, err := worked(out)
	if err != nil {
		return err
	}
	units, err := undisturbed.Units(out, "replay")
	if err != nil {
		return err
	}
	n := 0
	for _, m := range units {
		if strings.HasPrefix(m.Parts.Unit, "ts_neyman/exhaustive/") {
			n++
		}
	}
	l.printf("a slice, %d units of the search with %d trajectories and %d others, in %d elements of %d arrays: planned %.0f core-seconds, measured %.0f in the units and %.0f in the jobs' processes",
		n, draws, w.units-n, w.elements, w.arrays, planned, w.unitCPU, w.cpu)
	if n == 0 {
		return errors.New("no unit of the exhaustive search has run")
	}
	return nil
}

// plan prints what a run would do, and returns its estimate in core-seconds.
func (l *lab) plan(ctx context.Context, config string, keys ...string) (float64, error) {
	words := slices.Concat([]string{"plan", "replay", "-j", "1", "--config", config, "--out", l.path("none")}, sets(keys...))
	c := exec.CommandContext(ctx, l.binary, words...)
	var stderr bytes.Buffer
	c.Env, c.Stderr = l.environment, &stderr
	text, err := c.Output()
	if err != nil {
		return 0, fmt.Errorf("speceval %v: %w: %s", words, err, stderr.String())
	}
	l.printf("$ speceval plan replay -j 1 %s\n%s", strings.Join(sets(keys...), " "), bytes.TrimRight(text, "\n"))
	return estimate(string(text))
}

// amount is a number with its unit of time, as the program writes it.
var amount = regexp.MustCompile(`([\d.]+) (h|min|s)\b`)

// estimate reads the time of a plan's last line, in seconds.
func estimate(plan string) (float64, error) {
	lines := strings.Split(strings.TrimSpace(plan), "\n")
	last, _, _ := strings.Cut(lines[len(lines)-1], " by ")
	found := amount.FindAllStringSubmatch(last, -1)
	if len(found) == 0 {
		return 0, fmt.Errorf("the plan does not say how long it takes: %s", last)
	}
	seconds := 0.0
	for _, part := range found {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, err
		}
		seconds += n * map[string]float64{"h": 3600, "min": 60, "s": 1}[part[2]]
	}
	return seconds, nil
}
