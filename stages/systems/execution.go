package systems

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"speceval/internal/policy"
	"speceval/internal/policy/coupled"
	"speceval/internal/policy/seed"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/router"
	"speceval/internal/store/profile"
	"speceval/method/controller"
	"speceval/method/staged"
	"speceval/pipeline/dag"
)

// execution is one run of a strategy.
type execution struct {
	*setting
	plan
	*subject
	strategy *policy.Strategy
	repeat   int

	rewards   string // measurement.Coupled or measurement.Scored
	replicate int    // of the identities: 0 under coupled rewards, else the run's own

	stages  staged.Plan      // with a prior: what is executed in place of the two stages of the plan
	prior   controller.Prior // nil: the reference prior
	lengths seed.Seed        // of simulated answers
}

// subject is the profile that is executed, and what follows from it.
type subject struct {
	profile profile.Profile
	digest  string // that coupled rewards follow from
	ranks   []int  // of tasks where speculation is tied
}

func (s *setting) subject(job *dag.Job) (*subject, error) {
	p, err := s.pair.Profile(job)
	if err != nil {
		return nil, err
	}
	return &subject{p, s.Releases.Digest(p), coupled.Ranks(p.TaskIDs, s.Seed)}, nil
}

// executions lists the runs of a setting in the order in which they are made.
// Without a plan there are none.
// The order of strategies is drawn once for a profile; every repeat begins it
// with another one, so that none always comes first.
func (s *setting) executions(job *dag.Job, p *plan, repeats int) ([]execution, error) {
	if p == nil {
		return nil, nil
	}
	subject, err := s.subject(job)
	if err != nil {
		return nil, err
	}
	order := slices.Clone(policy.Strategies)
	random := s.seed().Child("order").Stream()
	for i := len(order) - 1; i > 0; i-- {
		j := int(random.Float64() * float64(i+1))
		order[i], order[j] = order[j], order[i]
	}
	var all []execution
	for repeat := range repeats {
		for k := range order {
			strategy := order[(k+repeat)%len(order)]
			all = append(all, execution{
				setting: s, plan: *p, subject: subject, strategy: strategy, repeat: repeat, rewards: measurement.Coupled,
				lengths: s.seed().Index(s.budget).Child(strategy.Name).Index(repeat),
			})
		}
	}
	return all, nil
}

// accepts is the budget that the run spends, b or the equivalent one.
func (e execution) accepts() int {
	if e.strategy.Equivalent {
		return int(e.Equivalent)
	}
	return e.budget
}

// controller is the policy, ready to begin.
func (e execution) controller() (*controller.Controller, error) {
	s := controller.Settings{
		Policy: e.strategy.Controller, Tasks: e.profile.N(), Budget: e.accepts(), Pilots: min(int(e.Pilots), e.accepts()),
		Late: e.AsPublished,
	}
	switch {
	case !e.strategy.HasPilot():
		return controller.New(s)
	case e.prior != nil:
		s.Weight, s.LeaveOneOut, s.Fractions, s.Prior = e.stages.Weight, e.stages.LeaveOneOut, e.stages.Fractions, e.prior
	default:
		var err error
		if s.Prior, err = e.cold(); err != nil {
			return nil, err
		}
	}
	s.Order = e.ranks
	return controller.New(s)
}

// run executes the strategy on the engine, and under the rewards, of the settings.
func (e execution) run(ctx context.Context, s router.Settings) (outcome, error) {
	var err error
	if s.Controller, err = e.controller(); err != nil {
		return outcome{}, err
	}
	s.Sparse = e.AsPublished
	record, err := router.Run(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	return outcome{e, record}, nil
}

// outcome is an execution and its result.
type outcome struct {
	execution
	record *router.Record
}

// identities names the run's rollouts. Under coupled rewards strategies of a
// setting share them, but for the equivalent budget, which is a setting of its
// own; under real ones every run has its own.
func (e execution) identities() coupled.Identities {
	p := coupled.Protocol{
		Profile: e.digest, Budget: e.accepts(), Pilots: int(e.Pilots), Seed: e.Seed, Sampling: e.Sampling(e.profile.Model),
	}
	if e.strategy.Equivalent {
		p.Reference = e.budget
	}
	return coupled.NewIdentities(p.Fingerprint(), e.profile.TaskIDs, e.Seed).Replicate(e.replicate)
}

// row is the outcome as a row.
func (o outcome) row(provenance string) measurement.Run {
	r := o.record
	useful, wasted := r.Tokens()
	row := measurement.Run{
		Benchmark: o.profile.Benchmark, Model: o.profile.Model, NTasks: int32(o.profile.N()),
		ReferenceBudget: int32(o.budget), Budget: int32(o.accepts()), Pilots: o.Pilots,
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

// means are the means of the pilots and of the continuations, tasks weighing the same
// (paper, Section 3: μ̂₀ and μ̂₁).
func (o outcome) means() (pilots, continuations float64) {
	n := o.profile.N()
	counts, passed := make([]float64, 2*n), make([]float64, 2*n) // of the pilots by task, and of the continuations
	for i := range o.record.Requests {
		q := &o.record.Requests[i]
		if q.State != router.Accepted {
			continue
		}
		at := int(q.ID.Phase)*n + int(q.ID.Task)
		counts[at]++
		if q.Passed() {
			passed[at]++
		}
	}
	mean := func(from int) float64 {
		sum := 0.0
		for i := from; i < from+n; i++ {
			if counts[i] > 0 {
				sum += passed[i] / counts[i]
			}
		}
		return sum / float64(n)
	}
	return mean(0), mean(n)
}

// coupledRewards are the rewards of every run of the setting.
func (e execution) coupledRewards() func(controller.ID) float64 {
	return router.PassFail(coupled.NewRewards(e.profile, e.digest, e.Seed).Reward)
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
			row.Seed = new(identities.Seed(q.ID))
		}
		if q.Started >= 0 {
			row.Started = new(q.Started.Seconds())
		}
		if q.RewardReady >= 0 {
			row.RewardReady, row.Passed, row.CompletionTokens = new(q.RewardReady.Seconds()), new(q.Passed()), int32(q.Generated)
		} else {
			row.AbortedTokens = new(int32(q.Generated))
		}
	}
	return rows
}
