package systems

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/clock"
	"speceval/internal/coupled"
	"speceval/internal/measurement"
	"speceval/internal/router"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/internal/servers/worker"
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

	// Expect is what the runs of a setting take, for plans; nil: unknown.
	Expect func(p pair.Pair, budget int) []dag.Quantity

	// MaxSequences is how many requests a replica of a model runs at a time; 0,
	// or no entry: as many as there are.
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

// provenance is that of runs on the lease.
func (l Lease) provenance() string {
	if l.Simulated {
		return measurement.Simulated
	}
	return measurement.Measured
}

// measuredRepeatsKey is the key of the configuration for Measured.Repeats.
const measuredRepeatsKey = "systems.measured_repeats"

// measuredRepeats is how often each strategy is run on servers.
func (s *setting) measuredRepeats() int { return s.Measured.Repeats[s.budgetIndex()] }

// measuredUnit executes the setting on servers under coupled rewards.
func (s *setting) measuredUnit() dag.Unit {
	u := s.serverUnit(measuredKind)
	u.Config[measuredRepeatsKey] = strconv.Itoa(s.measuredRepeats())
	return u
}

// serverUnit executes the setting's runs of a kind on servers.
func (s *setting) serverUnit(kind string) dag.Unit {
	u := dag.Unit{
		ID:      kind + "/" + s.id(),
		Config:  s.config("serving.version"),
		Seed:    s.seed().Label(),
		Needs:   []dag.Ref{{Stage: name, Unit: "plan/" + s.id()}},
		Outputs: []string{s.runsFile(kind), s.requestsFile(kind)},
		Run:     func(ctx context.Context, job *dag.Job) error { return s.measure(ctx, job, kind) },
	}
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
	s.feed(&u)
	return u
}

// measure is the unit. Every run that is good is kept as soon as it ends; a
// void one is noted and leaves the unit to be run again, for that run alone.
func (s *setting) measure(ctx context.Context, job *dag.Job, kind string) error {
	p, err := s.readPlan(job)
	if err != nil {
		return err
	}
	if err := s.matchTasks(); err != nil {
		return err
	}
	all, err := s.measuredExecutions(job, p, kind)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return s.writeNothing(job, kind)
	}
	kept, err := openRuns(job)
	if err != nil {
		return err
	}
	if err := s.measureMissing(ctx, job, all, kept); err != nil {
		return err
	}
	s.noteDrawn(job)
	return kept.assemble(job, s, kind, all)
}

// measuredExecutions lists the runs of a kind in the order in which they are
// made.
func (s *setting) measuredExecutions(job *dag.Job, p *plan, kind string) ([]execution, error) {
	if kind == scoredKind {
		return s.scoredExecutions(job, p)
	}
	return s.executions(job, p, s.measuredRepeats())
}

// writeNothing makes the outputs of a setting without runs.
func (s *setting) writeNothing(job *dag.Job, kind string) error {
	job.Provenance("computed")
	if err := writeRows[measurement.Request](job, s.requestsFile(kind), requestSchema, nil); err != nil {
		return err
	}
	return writeRows[measurement.Run](job, s.runsFile(kind), measurement.RunSchema, nil)
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
func (s *setting) measureMissing(ctx context.Context, job *dag.Job, all []execution, kept *runs) error {
	if kept.complete(all) {
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

// requestSchema is that of requests files.
const requestSchema = "systems-requests/1"

// row is the outcome as a row.
func (o outcome) row(provenance string) measurement.Run {
	r := o.record
	useful, wasted := r.Tokens()
	row := measurement.Run{
		Benchmark: o.profile.Benchmark, Model: o.profile.Model, NTasks: int32(o.profile.N()),
		ReferenceBudget: int32(o.budget), Budget: int32(o.accepts()), Pilots: int32(o.Pilots),
		Strategy: o.strategy.Name, Provenance: provenance, Rewards: o.rewards, Repeat: int32(o.repeat),
		Time: r.Time.Seconds(), Pilot: r.PilotReady.Seconds(), Allocated: r.Allocated.Seconds(),
		Released: r.Released.Seconds(), Handling: r.Handling.Seconds(),
		Accepted: int32(r.Count(router.Accepted)), Discarded: int32(r.Count(router.Discarded)),
		Aborted: int32(r.Count(router.AbortedRunning)), Cancelled: int32(r.Count(router.CancelledQueued)),
		Races: int32(r.Races), Updates: int32(r.Updates),
		UsefulTokens: useful.Sequence, UsefulCompletion: useful.Completion, UsefulPairs: useful.Pairs,
		WastedTokens: wasted.Sequence, WastedCompletion: wasted.Completion, WastedPairs: wasted.Pairs,
		Allocation: coupled.AllocationDigest(o.profile.TaskIDs, r.Allocation),
	}
	row.PilotMean, row.ContinuationMean = o.means()
	for i := range r.Requests {
		if r.Requests[i].Prefetched {
			row.Prefetched++
		}
	}
	if gaps := r.Gaps(); len(gaps) > 0 {
		row.Gaps = int32(len(gaps))
		row.GapMedian, row.GapP99 = quantile(gaps, 0.5).Seconds(), quantile(gaps, 0.99).Seconds()
	}
	return row
}

// quantile is the smallest of sorted times that a share of them do not exceed.
func quantile(sorted []time.Duration, share float64) time.Duration {
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// check says what is wrong with an outcome: a run that did not do what its
// strategy says must not become a number.
func (o outcome) check() error {
	accepted, want := o.record.Count(router.Accepted), o.profile.N()*o.accepts()
	switch {
	case accepted != want:
		return fmt.Errorf("%d rollouts were accepted, want %d", accepted, want)
	case o.record.Retries > 0:
		return fmt.Errorf("%d requests were sent again", o.record.Retries)
	case o.record.Time <= 0:
		return fmt.Errorf("it took %v", o.record.Time)
	case o.record.Extra() > 0 && !o.strategy.Speculates():
		return fmt.Errorf("%d rollouts more than accepted, under %s", o.record.Extra(), o.strategy.Name)
	}
	return nil
}

// requests are the outcome's requests as rows, in the order of submission.
// Generated says that they have been generated, under seeds.
func (o outcome) requests(generated bool) []measurement.Request {
	identities := o.identities()
	rows := make([]measurement.Request, len(o.record.Requests))
	for i, q := range o.record.Requests {
		row := &rows[i]
		*row = measurement.Request{
			Strategy: o.strategy.Name, Repeat: int32(o.repeat), ID: identities.Logical(q.ID),
			Task: o.profile.TaskIDs[q.ID.Task], Phase: q.ID.Phase.String(), Ordinal: q.ID.Ordinal, Replica: int32(q.Replica),
			Submitted: q.Submitted.Seconds(), Finished: q.Finished.Seconds(),
			PromptTokens: int32(q.Prompt), State: q.State.String(), Prefetched: q.Prefetched,
		}
		if generated {
			seed := identities.Seed(q.ID)
			row.Seed = &seed
		}
		if q.Started >= 0 {
			row.Started = seconds(q.Started)
		}
		if q.RewardReady >= 0 {
			passed := q.Passed()
			row.RewardReady, row.Passed, row.CompletionTokens = seconds(q.RewardReady), &passed, int32(q.Generated)
		} else {
			seen := int32(q.Generated)
			row.AbortedTokens = &seen
		}
	}
	return rows
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
