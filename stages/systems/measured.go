package systems

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/machine/clock"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/router"
	"speceval/internal/servers/vllm"
	"speceval/method/controller"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Measured is real servers.
type Measured struct {
	Repeats  []int                    // executions of every strategy at each of the budgets, at least 1
	Replicas int                      // of a worker
	Window   int                      // outstanding requests per replica
	Tasks    map[string]Tasks         // by benchmark: what is asked
	Models   map[string]vllm.Sampling // by id: who is asked
	Drawn    *Drawn                   // lengths of prompts without tasks, and of answers; nil: the models'

	// Expect returns the expected use of the runs of a setting, for plans; nil: unknown.
	Expect func(p pair.Pair, budget int) []dag.Quantity

	// MaxSequences is the number of requests that a replica of a model runs at a time; 0, or
	// no entry: any number.
	MaxSequences map[string]int

	// Acquire waits for a worker that serves a model and is not in use.
	Acquire func(ctx context.Context, model string) (Lease, error)
	Return  time.Duration // longest wait for a replica that is out
	Clock   clock.Clock
	CPU     func() time.Duration // of this process so far
	Cores   int                  // of this machine

	Scored *Scored // runs under real rewards as well; nil: none
}

// Tasks are the tasks of a benchmark, in profile order.
type Tasks struct {
	Tasks  []benchmark.Task
	Source dag.Source
}

// Lease is one worker's replicas, alone.
type Lease struct {
	*pool.Pool
	Simulated bool // they are simulated ones
	Release   func()
}

// provenance is the provenance of runs on the lease.
func (l Lease) provenance() string {
	if l.Simulated {
		return measurement.Simulated
	}
	return measurement.Measured
}

// warmUpWindows is how often the window of a replica is filled before the first timed run. A
// GPU compiles kernels when it first sees a batch: after a single request, as in the
// published runs, the first run on a fresh H100 took 14.4 s where the same requests took
// 10.5 s later.
const warmUpWindows = 2

// measuredRepeatsKey is the key of the configuration for Measured.Repeats.
const measuredRepeatsKey = "systems.measured_repeats"

// measuredRepeats is how often each strategy is run on servers.
func (s *setting) measuredRepeats() int { return s.Measured.Repeats[s.index] }

// measuredUnit executes the setting on servers under coupled rewards.
func (s *setting) measuredUnit() dag.Unit {
	u := s.serverUnit(measuredKind, func(job *dag.Job, p *plan) ([]execution, error) {
		return s.executions(job, p, s.measuredRepeats())
	})
	u.Config[measuredRepeatsKey] = strconv.Itoa(s.measuredRepeats())
	return u
}

// serverUnit executes the setting's runs of a kind on servers. Every run that is good is
// kept as soon as it ends; a void one is noted and leaves the unit to be run again, for
// that run alone.
func (s *setting) serverUnit(kind string, list func(*dag.Job, *plan) ([]execution, error)) dag.Unit {
	u := s.unit(kind, s.ref("plan"), "serving.version")
	if s.asks() {
		u.Sources = append(u.Sources, s.Measured.Tasks[s.pair.Benchmark].Source)
	}
	if s.Measured.Drawn != nil {
		u.Config[drawnKey] = s.Slice(drawnKey)[drawnKey]
		u.Sources = append(u.Sources, s.Measured.Drawn.Source)
	}
	if s.Measured.Expect != nil {
		u.Expect = s.Measured.Expect(s.pair, s.budget)
	}
	u.Run = func(ctx context.Context, job *dag.Job) error {
		p, err := s.readPlan(job)
		if err != nil {
			return err
		}
		if err := s.matchTasks(); err != nil {
			return err
		}
		all, err := list(job, p)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			job.Provenance("computed")
			return s.write(job, kind, nil, nil)
		}
		scratch, err := job.Scratch()
		if err != nil {
			return err
		}
		kept := runs(scratch)
		if err := s.measureMissing(ctx, job, all, kept); err != nil {
			return err
		}
		s.noteDrawn(job)
		return kept.assemble(job, s, kind, all)
	}
	return u
}

// matchTasks compares the tasks that are asked, if any, with the profile's.
func (s *setting) matchTasks() error {
	if !s.asks() && s.Measured.Drawn != nil {
		return nil
	}
	tasks := s.Measured.Tasks[s.pair.Benchmark].Tasks
	if len(tasks) != s.pair.N() {
		return fmt.Errorf("the task file of %s has %d tasks, the profile %s has %d", s.pair.Benchmark, len(tasks), s.pair.Name(), s.pair.N())
	}
	for i, t := range tasks {
		if t.ID != s.pair.TaskIDs[i] {
			return fmt.Errorf("task %d of %s is %q in the task file and %q in the profile %s: they must be the same, in the same order", i, s.pair.Benchmark, t.ID, s.pair.TaskIDs[i], s.pair.Name())
		}
	}
	return nil
}

// measureMissing makes the runs that are not kept yet.
func (s *setting) measureMissing(ctx context.Context, job *dag.Job, all []execution, kept runs) error {
	if row, _, err := kept.read(all[0]); err == nil && len(kept.missing(all, row.Provenance)) == 0 {
		return nil
	}
	b := bench{kept: kept}
	var err error
	if all[0].rewards == measurement.Scored {
		if b.scorer, err = s.Measured.Scored.Scorer(ctx, s.pair); err != nil {
			return err
		}
		defer b.scorer.Release()
	}
	if b.Lease, err = s.acquire(ctx, job); err != nil {
		return err
	}
	defer b.Lease.Release()
	missing := kept.missing(all, b.provenance())
	var voids []error
	warm := false
	for i, e := range missing {
		select {
		case <-job.Draining():
			return dag.ErrDrained
		default:
		}
		job.Advance(dag.Progress{Done: len(all) - len(missing) + i, Total: len(all), Stored: len(all) - len(missing), What: "runs", Detail: e.strategy.Name})
		err := e.measure(ctx, b, warm)
		warm = err == nil // what voids a run may leave a replica cold
		switch {
		case errors.Is(err, router.ErrVoid):
			voids = append(voids, err)
			if err := kept.void(s.Measured.Clock.Now(), err); err != nil {
				return err
			}
		case err != nil:
			return errors.Join(err, tellVoids(voids, len(all)))
		}
	}
	return tellVoids(voids, len(all))
}

// tellVoids is the error of void runs; nil if there are none.
func tellVoids(voids []error, all int) error {
	if len(voids) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d runs are void; the others are kept, and running again makes those alone: %w", len(voids), all, errors.Join(voids...))
}

// acquire waits for a worker as long as the run goes on.
func (s *setting) acquire(ctx context.Context, job *dag.Job) (Lease, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-job.Draining():
			cancel(dag.ErrDrained)
		case <-ctx.Done():
		}
	}()
	lease, err := s.Measured.Acquire(ctx, s.pair.Model)
	if err != nil && errors.Is(context.Cause(ctx), dag.ErrDrained) {
		return lease, dag.ErrDrained
	}
	return lease, err
}

// bench is the means of a unit's runs.
type bench struct {
	Lease
	scorer Scorer // of runs under real rewards
	kept   runs
}

// measure executes the strategy on a worker, which is warmed up unless it is
// warm, and keeps the outcome.
func (e execution) measure(ctx context.Context, b bench, warm bool) error {
	lengths, err := e.drawn()
	if err != nil {
		return err
	}
	w := router.Worker{
		Pool: b.Pool, Request: e.requester(lengths), Replicas: e.Measured.Replicas, Return: e.Measured.Return, Clock: e.Measured.Clock,
	}
	reward := e.coupledRewards()
	if e.rewards == measurement.Scored {
		var verdicts sync.Map // by rollout
		w.Answer = func(ctx context.Context, id controller.ID, c vllm.Completion) error {
			correct, err := b.scorer.Score(ctx, int(id.Task), c)
			if err != nil {
				return fmt.Errorf("score the response: %w", err)
			}
			verdicts.Store(id, correct)
			return nil
		}
		reward = router.PassFail(func(id controller.ID) bool {
			correct, _ := verdicts.Load(id)
			return correct == true
		})
	}
	if !warm {
		each := warmUpWindows * e.Measured.Window
		if e.AsPublished {
			each = 1
		}
		first := e.question(controller.ID{}, lengths)
		first.ID, first.Seed = "warm-up", int64(e.Seed&(1<<62-1))
		if err := w.WarmUp(ctx, first, each); err != nil {
			return err
		}
	}
	engine, err := w.Begin(ctx)
	if err != nil {
		return err
	}
	started, cpu := e.Measured.Clock.Now(), e.Measured.CPU()
	o, err := e.run(ctx, router.Settings{Engine: engine, Reward: reward})
	cpu = e.Measured.CPU() - cpu
	if closed := engine.Close(ctx); err == nil {
		err = closed
	}
	if err == nil {
		if fault := o.check(); fault != nil {
			err = fmt.Errorf("%w: %w", router.ErrVoid, fault)
		}
	}
	if err == nil {
		err = o.checkLengths(lengths)
	}
	if err != nil {
		return fmt.Errorf("%s, repeat %d: %w", e.strategy.Name, e.repeat, err)
	}
	row := o.row(b.provenance())
	row.Started, row.CPU, row.Cores = started.UTC().Format(time.RFC3339Nano), cpu.Seconds(), int32(e.Measured.Cores)
	return b.kept.keep(e, row, o.requests(true))
}
