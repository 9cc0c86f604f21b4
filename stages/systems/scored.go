package systems

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync"
	"time"

	"speceval/internal/coupled"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/router"
	"speceval/internal/rowfile"
	"speceval/internal/seed"
	"speceval/internal/servers/sampler"
	"speceval/internal/servers/vllm"
	"speceval/internal/servers/worker"
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

// Drawn is where the lengths of answers come from if not from the models.
type Drawn struct {
	// Lengths gives every rollout of a profile the tokens of its prompt and of its
	// answer, from a branch of the seed tree and the rollout's ID alone.
	Lengths func(p profile.Profile, branch seed.Seed) (Lengths, error)
	// Prompt makes a user's turn for a task, where there is no task file, that
	// makes a prompt of so many tokens.
	Prompt func(model string, task, tokens int) string
	Source dag.Source // what the lengths follow from
}

// Lengths are the tokens of rollouts.
type Lengths func(id controller.ID) (prompt, tokens int)

// drawnKey is the key of the configuration that asks for drawn lengths. Without
// it runs depend on no such key, and stay fresh.
const drawnKey = "systems.lengths"

// lengths are the tokens of the run's rollouts; nil if the models end their
// answers. Strategies of a setting share them, as they do seeds: but for the
// equivalent budget, which is a setting of its own.
func (e execution) lengths() (Lengths, error) {
	if e.Measured.Drawn == nil {
		return nil, nil
	}
	branch := e.seed().Child("lengths").Index(e.budget)
	if e.strategy.Equivalent {
		branch = branch.Child(e.strategy.Name)
	}
	return e.Measured.Drawn.Lengths(e.profile, branch)
}

// asks is whether the prompts are those of a task file.
func (s *setting) asks() bool {
	_, there := s.Measured.Tasks[s.pair.Benchmark]
	return there
}

// askDrawn is the question of a rollout whose answer has its drawn length.
func (e execution) askDrawn(id controller.ID, lengths Lengths) vllm.Request {
	prompt, tokens := lengths(id)
	var r vllm.Request
	if e.asks() {
		r = e.ask(int(id.Task))
	} else {
		r = e.Measured.Models[e.pair.Model].Request("", e.Measured.Drawn.Prompt(e.pair.Model, int(id.Task), prompt))
	}
	r.MaxTokens, r.IgnoreEOS = tokens, true
	return r
}

// checkLengths holds the requests of a run to what was drawn for them: a server
// that does otherwise has been timed on something else.
func (o outcome) checkLengths(lengths Lengths) error {
	if lengths == nil {
		return nil
	}
	for _, q := range o.record.Requests {
		if q.State != router.Accepted && q.State != router.Discarded {
			continue
		}
		prompt, tokens := lengths(q.ID)
		if q.Generated != tokens {
			return fmt.Errorf("%s has %d tokens, and %d were drawn: the server must honour ignore_eos and max_tokens", q.ID, q.Generated, tokens)
		}
		if !o.asks() && q.Prompt != prompt {
			return fmt.Errorf("the prompt of %s has %d tokens, and %d were drawn: serve the model folders that weights = \"dummy\" makes, whose tokenizer is byte-level, or give %s a task file", q.ID, q.Prompt, prompt, o.pair.Benchmark)
		}
	}
	return nil
}

// noteDrawn says in a manifest that lengths were drawn.
func (s *setting) noteDrawn(job *dag.Job) {
	if s.Measured.Drawn == nil {
		return
	}
	prompts := "a task file"
	if !s.asks() {
		prompts = "filler of the length model's tokens"
	}
	job.Note("systems.lengths = \"drawn\": every answer has the length that the length model draws for its rollout, whatever the model would write; prompts are %s", prompts)
}

// drawn reports whether runs on servers had drawn lengths.
func (g gathering) drawn() bool { return len(g.measured) > 0 && g.measured[0].Measured.Drawn != nil }

// writeMeasurements writes rows, and whether runs on servers had drawn lengths.
func writeMeasurements[T any](job *dag.Job, output string, rows []T, drawn bool) error {
	footer := job.Footer(measurement.Schema)
	if drawn {
		footer[measurement.LengthsKey] = measurement.LengthsDrawn
	}
	return job.Write(output, len(rows), func(w io.Writer) error { return rowfile.Write(w, rows, footer) })
}

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
	w := worker.Worker{
		Pool: b.Pool, Request: e.requester(lengths), Replicas: e.Measured.Replicas, Return: e.Measured.Return, Clock: e.Measured.Clock,
	}
	reward := e.coupledRewards()
	if e.rewards == measurement.Scored {
		v := &verdicts{scorer: b.scorer, passed: make(map[controller.ID]bool)}
		w.Answer, reward = v.take, v.reward
	}
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
	return sampler.Asked(e.Measured.Models[e.pair.Model], &e.Measured.Tasks[e.pair.Benchmark].Tasks[task])
}

// warmUp is the first task, under the master seed.
func (e execution) warmUp(lengths Lengths) vllm.Request {
	r := e.question(controller.ID{}, lengths)
	r.ID, r.Seed = "warm-up", int64(e.Seed&(1<<62-1))
	return r
}

// Benefit is the unit that writes measurement.BenefitFile.
var Benefit = dag.Ref{Stage: name, Unit: "benefit"}

// benefitUnit gathers the executions of the timed policies, and of Uniform in the same
// settings.
func (g gathering) benefitUnit() dag.Unit {
	u := dag.Unit{
		ID:         Benefit.Unit,
		Sources:    []dag.Source{{Name: "coefficients of the FLOP proxy", SHA256: gathering{simulated: g.simulated}.coefficients()}},
		Outputs:    []string{measurement.BenefitFile},
		Provenance: measurement.Simulated,
		Run:        g.gatherBenefit,
	}
	for _, s := range g.simulated {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: simulatedKind + "/" + s.id()}, dag.Ref{Stage: name, Unit: stagedKind + "/" + s.id()})
	}
	return u
}

func (g gathering) gatherBenefit(_ context.Context, job *dag.Job) error {
	var all []measurement.Benefit
	for _, s := range g.simulated {
		architecture, err := s.architecture(s.pair.Model)
		if err != nil {
			return err
		}
		uniform, err := readRows[measurement.Run](job, s.runsFile(simulatedKind))
		if err != nil {
			return err
		}
		for _, r := range uniform {
			if r.Strategy == policy.UniformAtBudget.Name && int(r.Repeat) < s.stagedRepeats() {
				of := measurement.Of{Policy: policy.Uniform.Name, Donors: policy.Uniform.Donors.Name, Equivalent: r.Budget}
				all = append(all, measurement.Benefit{Of: of, Repeat: r.Costs(architecture)})
			}
		}
		rows, err := readRows[measurement.PolicyRun](job, s.runsFile(stagedKind))
		if err != nil {
			return err
		}
		for _, r := range rows {
			all = append(all, measurement.Benefit{Of: r.Of, Repeat: r.Costs(architecture)})
		}
	}
	return writeRows(job, measurement.BenefitFile, measurement.BenefitSchema, all)
}
