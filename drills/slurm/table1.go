package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	undisturbed "speceval/drills/lab"
)

// mostCPU is how much CPU time a run through Slurm may take, of that of a local
// run.
const mostCPU = 1.10

// fewDraws are settings for a minute's run of all units.
var fewDraws = []string{
	"replay.draws=128", "replay.replicates=2", "replay.resamples=4", "replay.resample_draws=4",
	"replay.case_study.repetitions=2000", "replay.ibn_alphas=[0.1, 0.2]", "replay.quadrature_order=8",
	"replay.ts_neyman.alphas=[0.1, 0.2]", "replay.ts_neyman.race_draws=2", "replay.ts_neyman.final_draws=4", "report.pdf=never",
}

// table1 runs replay and report locally and through Slurm, and compares.
func table1(ctx context.Context, o options, dir string, stdout io.Writer) (err error) {
	l, err := newLab(ctx, o, dir, stdout)
	if err != nil {
		return err
	}
	defer func() { err = l.end(err) }()
	var keys []string
	if l.small {
		keys = fewDraws
	}
	local, localCPU := l.local, l.localCPU
	if local == "" {
		local = l.path("local")
		words := slices.Concat([]string{"run", "replay", "report", "-j", "2", "--config", l.config, "--out", local}, sets(keys...))
		c, took, err := l.timed(ctx, words)
		if err != nil {
			return err
		}
		localCPU = c.CPU()
		l.printf("local: %v, CPU %v", took.Round(time.Second), localCPU.Round(100*time.Millisecond))
	}
	out := l.path("slurm")
	keys = append([]string{"executor.element_minutes=2"}, keys...)
	words := slices.Concat([]string{"run", "replay", "report", "--config", l.config, "--out", out}, throughSlurm(keys...))
	c, took, err := l.timed(ctx, words)
	if err != nil {
		return err
	}
	w, err := worked(out)
	if err != nil {
		return err
	}
	jobs := time.Duration(w.cpu * float64(time.Second))
	l.printf("Slurm: %v, CPU %v: %v of the jobs' processes, %v of the coordinator with Slurm's commands", took.Round(time.Second),
		(jobs + c.CPU()).Round(100*time.Millisecond), jobs.Round(100*time.Millisecond), c.CPU().Round(100*time.Millisecond))
	l.printf("%d units in %d elements of %d arrays; CPU of the units' threads alone: %.1f s", w.units, w.elements, w.arrays, w.unitCPU)
	var faults []error
	if w.ends != w.elements {
		faults = append(faults, fmt.Errorf("%d of %d elements ended by themselves: something was retried, and the CPU time is not whole", w.ends, w.elements))
	}
	if localCPU > 0 {
		faults = append(faults, l.compareCPU(localCPU, jobs+c.CPU()))
	}
	return errors.Join(append(faults, l.compareBytes(local, out))...)
}

// timed runs a command to its end, which must be good, and tells how long it took.
func (l *lab) timed(ctx context.Context, words []string) (*command, time.Duration, error) {
	start := time.Now()
	c, err := l.do(ctx, 0, words...)
	return c, time.Since(start), err
}

// compareCPU compares what both took. Runs with few draws consist of starts of
// processes, of which Slurm has more: they are not held to it.
func (l *lab) compareCPU(local, slurm time.Duration) error {
	ratio := slurm.Seconds() / local.Seconds()
	l.printf("CPU through Slurm: %.3f times that of the local run", ratio)
	if ratio > mostCPU && !l.small {
		return fmt.Errorf("want %.2f at most", mostCPU)
	}
	return nil
}

// compareBytes holds every result through Slurm to the local one.
func (l *lab) compareBytes(local, slurm string) error {
	files, err := undisturbed.Results(local)
	if err != nil {
		return err
	}
	found, err := undisturbed.Compare(local, slurm)
	if err != nil {
		return err
	}
	for _, d := range found {
		l.printf("%v", d)
	}
	l.printf("%d files compared, %d bytes differ; report.html, manifests' times and the logs of jobs are not compared, which tell when and where units ran",
		len(files), undisturbed.Total(found))
	if len(found) > 0 {
		return fmt.Errorf("%d files differ", len(found))
	}
	return nil
}
