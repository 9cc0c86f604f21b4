package systems

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"speceval/internal/measurement"
	"speceval/internal/vllm"
	"speceval/internal/worker"
	"speceval/method/controller"
)

// bench is what runs of a unit are made with.
type bench struct {
	Lease
	scorer Scorer // of runs under real rewards
	kept   *runs
}

// measure executes the strategy on a worker, which is warmed up unless it is
// warm, and keeps the outcome.
func (e execution) measure(ctx context.Context, b bench, warm bool) error {
	lengths, err := e.lengths()
	if err != nil {
		return err
	}
	settings := worker.Settings{
		Request: e.requester(lengths), Replicas: e.Measured.Replicas, Return: e.Measured.Return, Clock: e.Measured.Clock,
	}
	reward := e.coupledRewards()
	if e.rewards == measurement.Scored {
		v := &verdicts{scorer: b.scorer, passed: make(map[controller.ID]bool)}
		settings.Answer, reward = v.take, v.reward
	}
	w := worker.New(b.Pool, settings)
	if !warm {
		if err := w.WarmUp(ctx, e.warmUp(lengths)); err != nil {
			return err
		}
	}
	engine, err := w.Begin(ctx)
	if err != nil {
		return err
	}
	started, cpu := e.Measured.Clock.Now(), e.Measured.CPU()
	o, err := e.run(ctx, engine, reward)
	cpu = e.Measured.CPU() - cpu
	if closed := engine.Close(ctx); err == nil {
		err = closed
	}
	if err == nil {
		if fault := o.check(); fault != nil {
			err = fmt.Errorf("%w: %w", worker.ErrVoid, fault)
		}
	}
	if err != nil {
		return fmt.Errorf("%s, repeat %d: %w", e.strategy.Name, e.repeat, err)
	}
	if err := o.checkLengths(lengths); err != nil {
		return fmt.Errorf("%s, repeat %d: %w", e.strategy.Name, e.repeat, err)
	}
	row := o.row(b.provenance())
	row.Started, row.CPU, row.Cores = started.UTC().Format(time.RFC3339Nano), cpu.Seconds(), int32(e.Measured.Cores)
	return b.kept.keep(e, row, o.requests(true))
}

// requester makes the request of a rollout: its task, under its seed and
// identity, with an answer of its length if lengths are drawn.
func (e execution) requester(lengths Lengths) func(controller.ID) vllm.Request {
	identities := e.identities()
	return func(id controller.ID) vllm.Request {
		r := e.question(id, lengths)
		r.ID, r.Seed = url.PathEscape(identities.Logical(id)), identities.Seed(id)
		return r
	}
}

// question is what is asked for a rollout.
func (e execution) question(id controller.ID, lengths Lengths) vllm.Request {
	if lengths != nil {
		return e.askDrawn(id, lengths)
	}
	return e.ask(int(id.Task))
}

// ask is the question of a task.
func (e execution) ask(task int) vllm.Request {
	t := &e.Measured.Tasks[e.pair.Benchmark].Tasks[task]
	return e.Measured.Models[e.pair.Model].Request(t.SystemPrompt, t.UserPrompt)
}

// warmUp is the first task, under the master seed.
func (e execution) warmUp(lengths Lengths) vllm.Request {
	r := e.question(controller.ID{}, lengths)
	r.ID, r.Seed = "warm-up", int64(e.Seed&(1<<62-1))
	return r
}
