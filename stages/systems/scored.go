package systems

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"speceval/internal/coupled"
	"speceval/internal/measurement"
	"speceval/internal/router"
	"speceval/internal/vllm"
	"speceval/method/controller"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Scored is runs under real rewards: what scorers say of the responses, under
// fresh seeds in every run. What such runs estimate spreads as evaluations do.
type Scored struct {
	Repeats []int // runs of each strategy at each of the budgets; 0: none there

	// Scorer is the scorers of a pair's tasks, for as long as a unit needs them.
	Scorer func(ctx context.Context, p pair.Pair) (Scorer, error)
	// Rules names what verdicts on a pair depend on besides the answers: the
	// versions of its scorers.
	Rules func(p pair.Pair) map[string]string
	// Answers are the right answers and tests of a benchmark.
	Answers map[string]dag.Source
}

// Scorer scores responses of one pair. Score is called by many goroutines at a
// time; its error says why there is no verdict.
type Scorer struct {
	Score   func(ctx context.Context, task int, c vllm.Completion) (correct bool, err error)
	Release func()
}

// scoredRepeats is how often each strategy is run under real rewards.
func (s *setting) scoredRepeats() int {
	if s.Measured == nil || s.Measured.Scored == nil {
		return 0
	}
	return s.Measured.Scored.Repeats[s.budgetIndex()]
}

// scoredUnit executes the setting on servers under real rewards.
func (s *setting) scoredUnit() dag.Unit {
	u := s.serverUnit(scoredKind)
	u.Config["systems.scored_repeats"] = strconv.Itoa(s.scoredRepeats())
	for key, value := range s.Measured.Scored.Rules(s.pair) {
		u.Config[key] = value
	}
	u.Sources = append(u.Sources, s.Measured.Scored.Answers[s.pair.Benchmark])
	return u
}

// scoredExecutions lists the runs under real rewards in the order in which they
// are made: the strategies of Section 4.3 in turn, every run under seeds of its
// own.
func (s *setting) scoredExecutions(job *dag.Job, p *plan) ([]execution, error) {
	all, err := s.executions(job, p, s.scoredRepeats())
	var scored []execution
	for _, e := range all {
		if e.strategy.Equivalent {
			continue
		}
		e.rewards, e.replicate = measurement.Scored, 1+len(scored)
		scored = append(scored, e)
	}
	return scored, err
}

// verdicts are what scorers said of the rollouts of one run.
type verdicts struct {
	scorer Scorer
	mu     sync.Mutex
	passed map[controller.ID]bool
}

// take scores the response of a rollout.
func (v *verdicts) take(ctx context.Context, id controller.ID, c vllm.Completion) error {
	correct, err := v.scorer.Score(ctx, int(id.Task), c)
	if err != nil {
		return fmt.Errorf("score the response: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.passed[id] = correct
	return nil
}

// reward is the verdict on a rollout that has been taken.
func (v *verdicts) reward(id controller.ID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.passed[id]
}

// means are those of the pilots and of the continuations, tasks weighing the
// same (paper, Section 3: μ̂₀ and μ̂₁).
func (o outcome) means() (pilots, continuations float64) {
	n := o.profile.N()
	passed := map[controller.Phase][]float64{controller.Pilot: make([]float64, n), controller.Continuation: make([]float64, n)}
	counts := map[controller.Phase][]float64{controller.Pilot: make([]float64, n), controller.Continuation: make([]float64, n)}
	for _, q := range o.record.Requests {
		if q.State != router.Accepted {
			continue
		}
		counts[q.ID.Phase][q.ID.Task]++
		if q.Passed() {
			passed[q.ID.Phase][q.ID.Task]++
		}
	}
	mean := func(phase controller.Phase) float64 {
		sum := 0.0
		for i, count := range counts[phase] {
			if count > 0 {
				sum += passed[phase][i] / count
			}
		}
		return sum / float64(n)
	}
	return mean(controller.Pilot), mean(controller.Continuation)
}

// coupledRewards are those of every run of the setting.
func (e execution) coupledRewards() func(controller.ID) bool {
	return coupled.NewRewards(e.profile, e.digest, e.Seed).Reward
}
