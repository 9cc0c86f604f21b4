package main

import (
	"context"
	"fmt"
	"io"

	"speceval/drills/evaluated"
	drill "speceval/drills/lab"
	"speceval/internal/profile"
)

// uncertain is a benchmark of few tasks, all of them uncertain: a good part of its
// rollouts is under way at any moment, and what is lost of them weighs.
func uncertain() profile.Profile {
	p := profile.Profile{Benchmark: "uncertain", Model: modelID, TestedK: 1024}
	for i := range 12 {
		p.TaskIDs = append(p.TaskIDs, fmt.Sprint("task-", i))
		p.PassCounts = append(p.PassCounts, 280+42*i)
	}
	return p
}

// The evaluations of the part losses.
const (
	lossBudget = 8
	lossKills  = 2 // at most, one at least
	lossPauses = 3 // at most: both servers may have crashed when a process looks for them
	lossFaults = "crash=0.004,cut=0.1"
	lossSpeed  = 10 // of the fleet: an evaluation takes about a second
)

// losses kills evaluations on servers that do not repeat themselves, and sees what
// comes of the means: where answers that are lost can be continued, and where they
// have to be asked for again.
func losses(ctx context.Context, o options, stdout io.Writer) error {
	return drill.InFolder(o.dir, stdout, func(dir string) error {
		l, err := newLab(o, dir, stdout, []profile.Profile{uncertain()}, []int{lossBudget})
		if err != nil {
			return err
		}
		n := o.sizes().losses
		fmt.Fprintf(stdout, "losses: %d tasks at b = %d, %d places; every evaluation is killed once or twice by SIGKILL and resumed; servers have the faults %s, never repeat an answer, and make wrong ones %d times as long\n",
			l.profiles[0].N(), lossBudget, replicas*places, lossFaults, slowWrong)
		before, err := l.lose(ctx, n, "servers that cannot continue: asked again", "--plain")
		if err != nil {
			return err
		}
		after, err := l.lose(ctx, n, "servers that continue")
		if err != nil {
			return err
		}
		if err := lossTable(stdout, before, after); err != nil {
			return err
		}
		return checkLosses(stdout, before, after)
	})
}

// lose makes an arm of evaluations on a fleet of some flags.
func (l *lab) lose(ctx context.Context, n int, what string, flags ...string) (*arm, error) {
	flags = append(flags, "--unrepeatable", "--fail", lossFaults, "--restart", "50ms", "--speed", fmt.Sprint(lossSpeed))
	if err := l.serve(ctx, flags...); err != nil {
		return nil, err
	}
	defer l.fleet.Kill()
	a := &arm{series: series{profile: l.profiles[0], policy: evaluated.Async, budget: lossBudget}, what: what, out: l.out(), kills: lossKills, pauses: lossPauses, quiet: 1}
	return a, l.killed(ctx, a, n)
}
