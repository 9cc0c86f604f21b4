package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"speceval/data"
	"speceval/internal/clock"
	"speceval/internal/coupled"
	"speceval/internal/fleet/virtual"
	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/internal/process"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/servers/serving"
	"speceval/internal/servers/vllm"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/systems"
)

// simulatedRepeats are executions of each strategy in a setting of the simulated
// fleet where the configuration leaves it open: they cost next to nothing.
const simulatedRepeats = 8

// uncalibrated are the pairs that the simulated fleet does not know.
func uncalibrated(s *systems.Simulated, pairs []pair.Pair) []string {
	var names []string
	for _, p := range pairs {
		if !s.Knows(p) {
			names = append(names, p.Name())
		}
	}
	return names
}

// systemsStage is the systems stage for the pairs to evaluate, with what the
// user should know of it. Timed is nil with the simulated engine.
func systemsStage(cfg *config.Config, pairs []pair.Pair, timed *timing) (dag.Stage, []string, error) {
	s := systems.Settings{
		Seed: cfg.Experiment.Seed, Budgets: cfg.Experiment.Budgets, QuadratureOrder: cfg.Replay.QuadratureOrder,
		Pairs: pairs, AsPublished: cfg.Systems.Protocol == config.ProtocolPublished,
		Sampling: func(model string) map[string]string { return samplingText(cfg, model) },
		Slice:    cfg.Slice,
	}
	s.ReleasesSource = dag.Source{Name: data.ProfileSHA256Name, SHA256: digest(data.ProfileSHA256())}
	var err error
	if s.Architectures, err = architectures(cfg); err != nil {
		return dag.Stage{}, nil, err
	}
	if s.Releases, err = releases(); err != nil {
		return dag.Stage{}, nil, err
	}
	if s.Simulated, err = simulatedFleet(cfg); err != nil {
		return dag.Stage{}, nil, err
	}
	if timed != nil {
		if s.Measured, err = measuredRuns(cfg, pairs, timed); err != nil {
			return dag.Stage{}, nil, err
		}
	}
	unknown := uncalibrated(s.Simulated, pairs)
	if timed == nil && len(unknown) == len(pairs) {
		return systems.Satisfied(`the simulated fleet was calibrated for other profiles; set systems.engine = "vllm" to measure these`), nil, nil
	}
	var notes []string
	if len(unknown) > 0 {
		notes = append(notes, fmt.Sprintf("the simulated fleet was not calibrated for %s: simulated runs leave them out", strings.Join(unknown, ", ")))
	}
	if s.Measured != nil {
		notes = append(notes, madePrompts(cfg, s.Measured)...)
	}
	stage, err := systems.Stage(s)
	return stage, notes, err
}

// architectures are the architectures of the configuration's own models, and then the
// paper's.
func architectures(cfg *config.Config) ([]flops.Architecture, error) {
	var all []flops.Architecture
	for _, m := range cfg.Models {
		if m.ThetaCore > 0 {
			all = append(all, flops.Architecture{
				Model: m.ID, ThetaCore: int64(m.ThetaCore), ThetaHead: int64(m.ThetaHead),
				FullAttentionLayers: int64(m.FullAttentionLayers), AttentionWidth: int64(m.AttentionWidth),
			})
		}
	}
	papers, err := flops.Parse(data.Architectures(), data.ArchitecturesName)
	return append(all, papers...), err
}

// samplingText is how rollouts of a model are generated, for their identities.
func samplingText(cfg *config.Config, model string) map[string]string {
	text := cfg.Asked()
	if i := slices.IndexFunc(cfg.Models, func(m config.Model) bool { return m.ID == model }); i >= 0 {
		text["model"] = ModelText(cfg.Models[i])
	}
	return text
}

// timing is the servers of timed runs.
type timing struct {
	workers *serving.Servers
	// vacate ends the servers that rollouts were sampled from, which may hold the
	// same devices; nil: there are none. Timed runs begin after the profiles of
	// all rollouts are there, so that no sampling is in flight.
	vacate  func(ctx context.Context) error
	judges  *serving.Servers // that score free answers of runs under real rewards
	outside Outside          // of the scorers of those
}

// acquire waits for a worker that serves a model and is not in use.
func (t *timing) acquire(ctx context.Context, m serving.Model) (*serving.Lease, error) {
	if t.vacate != nil {
		if err := t.vacate(ctx); err != nil {
			return nil, err
		}
	}
	return t.workers.Acquire(ctx, m)
}

// end stops what was started, if anything was.
func (t *timing) end(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return errors.Join(t.workers.Close(ctx), t.judges.Close(ctx))
}

// timedWorkers are the workers of the experiment, for timed runs.
func timedWorkers(cfg *config.Config, o Outside) *serving.Servers {
	return serving.NewWorkers(servingSettings(cfg, o))
}

// measuredRuns are runs on the servers of workers.
func measuredRuns(cfg *config.Config, pairs []pair.Pair, timed *timing) (*systems.Measured, error) {
	m := &systems.Measured{
		Repeats: measuredRepeats(cfg), Replicas: cfg.Systems.Replicas, Window: cfg.Systems.Window, Clock: clock.Wall{}, CPU: processCPU, Cores: runtime.NumCPU(),
		Return: time.Duration(cfg.Serving.OutageSeconds) * time.Second,
		Tasks:  make(map[string]systems.Tasks), Models: make(map[string]vllm.Sampling),
		MaxSequences: make(map[string]int),
	}
	var err error
	if m.Drawn, err = drawnLengths(cfg, pairs); err != nil {
		return nil, err
	}
	read := readTasks
	if m.Drawn != nil { // where there is no task file, prompts are made
		read = presentTasks
	}
	all, err := read(cfg)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		m.Tasks[b.ID] = systems.Tasks{Tasks: b.Tasks, Source: b.Prompts()}
	}
	if len(cfg.Systems.ScoredRepeats) > 0 {
		if m.Scored, err = scoredRuns(cfg, all, timed); err != nil {
			return nil, err
		}
	}
	served := make(map[string]serving.Model)
	for _, model := range cfg.Models {
		served[model.ID] = ServedModel(cfg, model)
		m.Models[model.ID], m.MaxSequences[model.ID] = Sampling(cfg, model), model.MaxSequences
	}
	if m.Expect, err = expectedSuites(cfg.Experiment.Budgets, m.Repeats); err != nil {
		return nil, err
	}
	faults := []error{checkShapes(cfg)}
	for _, p := range pairs {
		_, asked := m.Tasks[p.Benchmark]
		asked = asked || m.Drawn != nil
		_, known := m.Models[p.Model]
		if !asked || !known {
			faults = append(faults, fmt.Errorf("profile %s: list its benchmark and its model in the configuration, to run it on servers", p.Name()))
		}
	}
	m.Acquire = func(ctx context.Context, model string) (systems.Lease, error) {
		lease, err := timed.acquire(ctx, served[model])
		if err != nil {
			return systems.Lease{}, err
		}
		return systems.Lease{
			Pool: lease.Pool, Release: lease.Release,
			Simulated: strings.Contains(strings.Join(lease.Versions(), " "), "simulated"),
		}, nil
	}
	return m, errors.Join(faults...)
}

// scoredRuns are timed runs under real rewards, by the scorers of the score
// stage.
func scoredRuns(cfg *config.Config, tasks []TaskFile, timed *timing) (*systems.Scored, error) {
	scoring, _, err := ScoreSettings(cfg, timed.outside, timed.judges, tasks)
	if err != nil {
		return nil, err
	}
	s := &systems.Scored{
		Repeats: cfg.Systems.ScoredRepeats,
		Rules:   func(p pair.Pair) map[string]string { return scoring.Rules(p.Benchmark, p.Model) },
		Answers: make(map[string]dag.Source),
	}
	for _, b := range scoring.Benchmarks {
		if err := b.PassFail(); err != nil {
			return nil, err
		}
		s.Answers[b.ID] = b.Answers
	}
	s.Scorer = func(ctx context.Context, p pair.Pair) (systems.Scorer, error) {
		open, err := scoring.Open(ctx, p.Benchmark, p.Model)
		if err != nil {
			return systems.Scorer{}, err
		}
		score := func(ctx context.Context, task int, c vllm.Completion) (bool, error) {
			v, err := open.Score(ctx, task, c.Text, c.Finish)
			return v.Correct(), err
		}
		return systems.Scorer{Score: score, Release: open.Release}, nil
	}
	return s, nil
}

// measuredRepeats are the repeats on servers, by budget.
func measuredRepeats(cfg *config.Config) []int {
	if len(cfg.Systems.MeasuredRepeats) > 0 {
		return cfg.Systems.MeasuredRepeats
	}
	return slices.Repeat([]int{1}, len(cfg.Experiment.Budgets))
}

// processCPU is the CPU time of this process so far.
func processCPU() time.Duration {
	return time.Duration(process.Used().CPUSeconds * float64(time.Second))
}

// Of our own router, in the simulated fleet: BENCHMARKS.md has what they really
// are, which is less.
const (
	ownHandling    = 10 * time.Microsecond  // of a completion
	ownComputation = 100 * time.Microsecond // of a provisional allocation
)

// simulatedFleet is the calibrated fleet, with our own router or, by the
// protocol of the configuration, with the published one.
func simulatedFleet(cfg *config.Config) (*systems.Simulated, error) {
	w, err := calibration()
	if err != nil {
		return nil, err
	}
	s := &systems.Simulated{
		Repeats: cfg.Systems.Repeats,
		Source:  dag.Source{Name: data.FleetName, SHA256: digest(data.FleetModels(), data.FleetLengths())},
		Knows:   func(p pair.Pair) bool { return w.Knows(p.Benchmark, p.Model) },
	}
	if s.Repeats == 0 {
		s.Repeats = simulatedRepeats
	}
	s.Worker = func(p profile.Profile, budget int, lengths seed.Seed) (virtual.Settings, error) {
		model, law, err := w.Law(p)
		if err != nil {
			return virtual.Settings{}, err
		}
		v := virtual.Settings{
			Timing: model.Timing, Replicas: cfg.Systems.Replicas, Window: cfg.Systems.Window, MaxSequences: model.MaxSequences,
			Lengths: law.Sampler(lengths), Handling: ownHandling, Computation: ownComputation,
		}
		if cfg.Systems.Protocol == config.ProtocolPublished {
			v.Handling, v.Computation = model.HandlingOf(p.N(), budget), model.Computation
		}
		return v, nil
	}
	return s, nil
}

// digest is the SHA-256 of files, one after the other.
func digest(files ...[]byte) string {
	h := sha256.New()
	for _, f := range files {
		h.Write(f)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// releases are the digests of the published profiles' own files.
func releases() (coupled.Releases, error) {
	published, err := publishedProfiles()
	if err != nil {
		return nil, err
	}
	return coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, published)
}

// cost is the cost of a rollout in the published timing runs, on eight H20 GPUs.
type cost struct{ tokens, gpuHours float64 }

const (
	publishedGPUs  = 8 // that a published run had
	secondsPerHour = 3600
)

type costs map[[2]string]cost // by benchmark and model

// publishedCosts derives costs from the longest run of each benchmark and
// model under Uniform.
func publishedCosts() (costs, error) {
	runs, err := measurement.Parse(data.Measurements(), data.MeasurementsName)
	if err != nil {
		return nil, err
	}
	architectures, err := flops.Parse(data.Architectures(), data.ArchitecturesName)
	if err != nil {
		return nil, err
	}
	longest := make(map[[2]string]int)
	all := make(costs)
	for _, run := range runs {
		at := slices.IndexFunc(architectures, func(a flops.Architecture) bool { return a.Model == run.Model })
		key, n := [2]string{run.Benchmark, run.Model}, int(run.AcceptedRollouts)
		if run.Strategy != measurement.Uniform || at < 0 || n <= longest[key] {
			continue
		}
		longest[key] = n
		all[key] = cost{
			tokens:   tokensOf(architectures[at], run.UsefulFLOPs/float64(n)),
			gpuHours: run.TimeSeconds * publishedGPUs / secondsPerHour / float64(n),
		}
	}
	return all, nil
}

// tokensOf inverts the FLOP proxy: tokens of prompt and answer, all counted as
// if they were the answer's. Where prompts are the most of it that is too few,
// by θ_head/(θ_core + θ_head), 15% at most (paper, Table 7).
func tokensOf(a flops.Architecture, work float64) float64 {
	low, high := 0, 1<<20
	for low < high {
		if mid := (low + high) / 2; a.Request(0, mid) < work {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return float64(low)
}

// expect is the expected use of a number of requests.
func (c costs) expect(benchmark, model string, requests, maxTokens int) []dag.Quantity {
	n := float64(requests)
	known, ok := c[[2]string{benchmark, model}]
	if !ok {
		return []dag.Quantity{{Name: "requests", Amount: n}, {Name: "tokens at most of what no published run covers", Amount: n * float64(maxTokens)}}
	}
	return []dag.Quantity{
		{Name: "requests", Amount: n}, {Name: "tokens of prompts and answers", Amount: n * known.tokens},
		{Name: "GPU-hours as in the published runs on H20", Amount: n * known.gpuHours},
	}
}

// expectedSuites is what the runs of all strategies in a setting take, each so
// many times at each of the budgets: as they did in the published runs, where those have the setting.
func expectedSuites(budgets, repeats []int) (func(pair.Pair, int) []dag.Quantity, error) {
	runs, err := measurement.Parse(data.Measurements(), data.MeasurementsName)
	if err != nil {
		return nil, err
	}
	type setting struct {
		profile string
		budget  int
	}
	requests, hours := make(map[setting]float64), make(map[setting]float64)
	for _, run := range runs {
		key := setting{run.Profile(), int(run.ReferenceBudget)}
		at := slices.Index(budgets, key.budget)
		if at < 0 {
			continue
		}
		requests[key] += float64(repeats[at]) * float64(run.AcceptedRollouts+run.ExtraRollouts)
		hours[key] += float64(repeats[at]) * run.TimeSeconds * publishedGPUs / secondsPerHour
	}
	return func(p pair.Pair, budget int) []dag.Quantity {
		key := setting{p.Name(), budget}
		if requests[key] == 0 {
			return nil
		}
		return []dag.Quantity{
			{Name: "requests", Amount: requests[key]},
			{Name: "GPU-hours as in the published runs on H20", Amount: hours[key]},
		}
	}, nil
}
