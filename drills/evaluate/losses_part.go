package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"speceval/drills/drill"
	"speceval/drills/evaluated"
	"speceval/internal/profile"
	"speceval/internal/seed"
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
	lossKills  = 2  // at most, one at least
	lossSpeed  = 10 // of the fleet: an evaluation takes about a second
)

// arm is evaluations on one kind of servers, all of them killed.
type arm struct {
	series
	what   string
	killed int // processes
	// Means over evaluations: rollouts that count, of each kind, and the bounds.
	continued, again         float64
	tooHigh, tooLow, seconds float64
}

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
		fmt.Fprintf(stdout, "losses: %d tasks at b = %d, %d places; every evaluation is killed once or twice by SIGKILL and resumed; servers never repeat an answer, wrong ones are %d times as long\n",
			l.profiles[0].N(), lossBudget, replicas*places, slowWrong)
		before, err := l.killed(ctx, n, "servers that cannot continue: asked again", "--plain")
		if err != nil {
			return err
		}
		after, err := l.killed(ctx, n, "servers that continue")
		if err != nil {
			return err
		}
		if err := lossTable(stdout, before, after); err != nil {
			return err
		}
		return checkLosses(stdout, before, after)
	})
}

// killed makes evaluations on a fleet of some flags, each of which is killed.
func (l *lab) killed(ctx context.Context, n int, what string, flags ...string) (*arm, error) {
	flags = append(flags, "--unrepeatable", "--speed", fmt.Sprint(lossSpeed))
	if err := l.serve(ctx, flags...); err != nil {
		return nil, err
	}
	defer l.fleet.Kill()
	begin := time.Now()
	a := &arm{series: series{profile: l.profiles[0], policy: evaluated.Async, budget: lossBudget}, what: what}
	a.results = make([]*evaluated.Result, n)
	a.fast, a.slow = make([]float64, n), make([]float64, n)
	if err := l.one(ctx, &a.series, 0, 0); err != nil { // undisturbed, for the design and the time that it takes
		return nil, err
	}
	usual := a.results[0].Seconds
	killed := make([]int, n)
	streams := seed.Root(l.seed).Child("drill").Child("losses").Stream()
	err := l.inParallel(ctx, 0, n, func(ctx context.Context, job, i int) error {
		random := streams.At(uint64(i))
		program, order := l.program(a.profile, l.out()), l.order(&a.series, job, i)
		for range 1 + int(random.Float64()*lossKills) {
			hit, err := program.Strike(ctx, order, random.Float64()*usual)
			if err != nil {
				return err
			}
			if hit {
				killed[i]++
			}
		}
		r, err := program.Run(ctx, order)
		if err != nil {
			return err
		}
		a.results[i] = r
		return l.inspect(program.Folder(order), &a.series, r)
	})
	if err != nil {
		return nil, err
	}
	a.sum(killed)
	fmt.Fprintf(l.stdout, "%s: %d evaluations with %d kills in %.0f s\n", what, n, a.killed, time.Since(begin).Seconds())
	return a, nil
}

// sum works out the means of an arm.
func (a *arm) sum(killed []int) {
	n := float64(len(a.results))
	for i, r := range a.results {
		a.killed += killed[i]
		a.continued += float64(r.Losses.Continued) / n
		a.again += float64(r.Losses.AskedAgain) / n
		a.tooHigh += r.Losses.TooHigh / n
		a.tooLow += r.Losses.TooLow / n
		a.seconds += r.Seconds / n
	}
}
