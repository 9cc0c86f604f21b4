package systems

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/clock"
	"speceval/internal/controller"
	"speceval/internal/measurement"
	"speceval/internal/pool"
	"speceval/internal/vllm"
	"speceval/internal/worker"
	"speceval/pipeline/dag"
)

// Measured is real servers.
type Measured struct {
	Repeats  int                      // executions of every strategy in a setting
	Replicas int                      // of a worker
	Tasks    map[string]Tasks         // by benchmark: what is asked
	Models   map[string]vllm.Sampling // by id: who is asked

	// Acquire waits for a worker that serves a model and that nobody else uses.
	Acquire func(ctx context.Context, model string) (Lease, error)
	Return  time.Duration // longest wait for a replica that is out
	Clock   clock.Clock
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

// provenance is that of runs on the lease.
func (l Lease) provenance() string {
	if l.Simulated {
		return measurement.Simulated
	}
	return measurement.Measured
}

// measuredUnit executes the setting on servers.
func (s *setting) measuredUnit() dag.Unit {
	tasks := s.Measured.Tasks[s.pair.Benchmark]
	u := dag.Unit{
		ID:      measuredKind + "/" + s.id(),
		Config:  s.config("serving.version"),
		Seed:    s.seed().Label(),
		Sources: []dag.Source{tasks.Source},
		Needs:   []dag.Ref{{Stage: name, Unit: "plan/" + s.id()}},
		Outputs: []string{s.runsFile(measuredKind), s.requestsFile(measuredKind)},
		Run:     s.measure,
	}
	s.feed(&u)
	return u
}

// measure is the unit. Every run that is good is kept as soon as it ends; a
// void one is noted and leaves the unit to be run again, for that run alone.
func (s *setting) measure(ctx context.Context, job *dag.Job) error {
	p, err := s.readPlan(job)
	if err != nil {
		return err
	}
	if err := s.matchTasks(); err != nil {
		return err
	}
	all, err := s.executions(job, p, s.Measured.Repeats)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return s.writeNothing(job)
	}
	kept, err := openRuns(job)
	if err != nil {
		return err
	}
	if err := s.measureMissing(ctx, job, all, kept); err != nil {
		return err
	}
	return kept.assemble(job, s, all)
}

// writeNothing makes the outputs of a setting without runs.
func (s *setting) writeNothing(job *dag.Job) error {
	job.Provenance("computed")
	if err := writeRows[requestRow](job, s.requestsFile(measuredKind), requestSchema, nil); err != nil {
		return err
	}
	return writeRows[runRow](job, s.runsFile(measuredKind), runSchema, nil)
}

// readPlan reads what planUnit has kept.
func (s *setting) readPlan(job *dag.Job) (*plan, error) {
	path, err := job.Input(s.planFile())
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p *plan
	err = json.Unmarshal(text, &p)
	if err == nil && p != nil && (p.Pilots < 1 || p.Pilots >= s.budget || p.Equivalent < 1) {
		err = fmt.Errorf("a pilot of %d and an equivalent budget of %d do not fit budget %d", p.Pilots, p.Equivalent, s.budget)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; it has changed meanwhile: run again, and it is made again", path, err)
	}
	return p, nil
}

// matchTasks compares the tasks that are asked with the profile's.
func (s *setting) matchTasks() error {
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
func (s *setting) measureMissing(ctx context.Context, job *dag.Job, all []execution, kept *runs) error {
	if kept.complete(all) {
		return nil
	}
	lease, err := s.acquire(ctx, job)
	if err != nil {
		return err
	}
	defer lease.Release()
	missing := kept.missing(all, lease.provenance())
	var voids []error
	warm := false
	for i, e := range missing {
		select {
		case <-job.Draining():
			return dag.ErrDrained
		default:
		}
		job.Advance(dag.Progress{Done: len(all) - len(missing) + i, Total: len(all), Stored: len(all) - len(missing), What: "runs", Detail: e.strategy})
		err := e.measure(ctx, lease, kept, warm)
		warm = err == nil // what voids a run may leave a replica cold
		switch {
		case errors.Is(err, worker.ErrVoid):
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

// measure executes the strategy on a worker, which is warmed up unless it is
// warm, and keeps the outcome.
func (e execution) measure(ctx context.Context, lease Lease, kept *runs, warm bool) error {
	w := worker.New(lease.Pool, worker.Settings{
		Request: e.requester(), Replicas: e.Measured.Replicas, Return: e.Measured.Return, Clock: e.Measured.Clock,
	})
	if !warm {
		if err := w.WarmUp(ctx, e.warmUp()); err != nil {
			return err
		}
	}
	engine, err := w.Begin(ctx)
	if err != nil {
		return err
	}
	started := e.Measured.Clock.Now()
	o, err := e.run(ctx, engine)
	if closed := engine.Close(ctx); err == nil {
		err = closed
	}
	if err == nil {
		if fault := o.check(); fault != nil {
			err = fmt.Errorf("%w: %w", worker.ErrVoid, fault)
		}
	}
	if err != nil {
		return fmt.Errorf("%s, repeat %d: %w", e.strategy, e.repeat, err)
	}
	row := o.row(lease.provenance())
	row.Started = started.UTC().Format(time.RFC3339Nano)
	return kept.keep(e, row, o.requests(true))
}

// requester makes the request of a rollout: its task, under its seed and
// identity.
func (e execution) requester() func(controller.ID) vllm.Request {
	identities := e.identities()
	return func(id controller.ID) vllm.Request {
		r := e.ask(int(id.Task))
		r.ID, r.Seed = url.PathEscape(identities.Logical(id)), identities.Seed(id)
		return r
	}
}

// ask is the question of a task.
func (e execution) ask(task int) vllm.Request {
	t := &e.Measured.Tasks[e.pair.Benchmark].Tasks[task]
	return e.Measured.Models[e.pair.Model].Request(t.SystemPrompt, t.UserPrompt)
}

// warmUp is the first task, under the master seed.
func (e execution) warmUp() vllm.Request {
	r := e.ask(0)
	r.ID, r.Seed = "warm-up", int64(e.Seed&(1<<62-1))
	return r
}
