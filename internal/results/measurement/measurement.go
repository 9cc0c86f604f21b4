// Package measurement holds the cost of running a benchmark under a strategy:
// time, compute and rollouts, in the Parquet form of the published measurements
// and of the systems stage, and the ratios over
// many runs that the paper reports (Tables 2 to 4).
package measurement

import (
	"fmt"
	"math"

	"speceval/internal/policy"
	"speceval/internal/servers/flops"
)

// Files of the output folder that the systems stage writes, with the rows that they hold. File
// has one for every profile, budget, strategy and provenance: the mean over repeats, extra
// rollouts rounded. RunsFile has every execution: under coupled and under real rewards, on
// servers and under the virtual clock. BenefitFile has the executions of the policies in stages,
// and of the Uniforms that they are held against: at their budget, and at the budgets that their
// variances are worth.
const (
	File            = "systems/measurements.parquet" // Measurement
	RepeatsFile     = "systems/repeats.parquet"      // Repeat
	RunsFile        = "systems/runs.parquet"         // Run
	BenefitFile     = "systems/benefit.parquet"      // Benefit
	PredictionsFile = "systems/predictions.parquet"  // Prediction
	SpeedsFile      = "systems/speeds.parquet"       // Speed
)

// Schemas are the values of the footer key speceval.schema of these files and of their parts.
const (
	Schema           = "measurements/1"
	RunSchema        = "systems-runs/4"
	BenefitSchema    = "systems-benefit/1"
	PredictionSchema = "systems-predictions/2"
	SpeedSchema      = "systems-speeds/2"
)

// Names of strategies, for readers that know one by its name alone.
var (
	Uniform           = policy.UniformAtBudget.Name
	HBNSync           = policy.HBNSync.Name
	HBNAsync          = policy.HBNAsync.Name
	UniformEquivalent = policy.UniformEquivalent.Name
)

// Provenance of a measurement. Nothing simulated may be shown as measured.
const (
	Published = "published" // from the paper's data release
	Simulated = "simulated" // from the simulated fleet
	Measured  = "measured"  // from real servers
)

// Measurement is one run of one benchmark and model.
type Measurement struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	NTasks    int32  `parquet:"n_tasks"`

	// ReferenceBudget is the budget b of the setting that the run belongs to,
	// and Budget the rollouts per task that it accepted. They differ for
	// equivalent strategies alone.
	ReferenceBudget int32  `parquet:"reference_budget"`
	Budget          int32  `parquet:"budget"`
	Strategy        string `parquet:"strategy"`
	Provenance      string `parquet:"provenance"`

	TimeSeconds      float64 `parquet:"time_seconds"`      // first dispatch to last selected reward
	UsefulFLOPs      float64 `parquet:"useful_flops"`      // of accepted rollouts, by the proxy of Appendix B.5
	WastedFLOPs      float64 `parquet:"wasted_flops"`      // of discarded and aborted rollouts
	AcceptedRollouts int32   `parquet:"accepted_rollouts"` // n_tasks × budget
	ExtraRollouts    int32   `parquet:"extra_rollouts"`    // completed and discarded, or aborted while running
}

// Repeat is one of several executions of the same setting and strategy.
type Repeat struct {
	Measurement
	Repeat int32 `parquet:"repeat"` // from 0
}

// Check says what is wrong with a measurement, if anything.
func (m *Measurement) Check() error {
	s := policy.FindStrategy(m.Strategy)
	switch {
	case m.Benchmark == "" || m.Model == "":
		return fmt.Errorf("benchmark or model is empty")
	case m.NTasks < 1 || m.Budget < 1 || m.ReferenceBudget < 1:
		return fmt.Errorf("n_tasks %d, budget %d or reference_budget %d is not positive", m.NTasks, m.Budget, m.ReferenceBudget)
	case s == nil:
		return fmt.Errorf("strategy %q is unknown", m.Strategy)
	case !s.Equivalent && m.Budget != m.ReferenceBudget:
		return fmt.Errorf("budget %d differs from reference_budget %d under %s", m.Budget, m.ReferenceBudget, m.Strategy)
	case m.Provenance != Published && m.Provenance != Simulated && m.Provenance != Measured:
		return fmt.Errorf("provenance %q is unknown", m.Provenance)
	case !positive(m.TimeSeconds) || !positive(m.UsefulFLOPs) || !(m.WastedFLOPs == 0 || positive(m.WastedFLOPs)):
		return fmt.Errorf("time %v s, useful %v or wasted %v FLOPs is out of range", m.TimeSeconds, m.UsefulFLOPs, m.WastedFLOPs)
	case int64(m.AcceptedRollouts) != int64(m.NTasks)*int64(m.Budget):
		return fmt.Errorf("accepted_rollouts %d is not n_tasks × budget = %d", m.AcceptedRollouts, int64(m.NTasks)*int64(m.Budget))
	case m.ExtraRollouts < 0:
		return fmt.Errorf("extra_rollouts %d is negative", m.ExtraRollouts)
	case !s.Speculates() && (m.ExtraRollouts > 0 || m.WastedFLOPs > 0):
		return fmt.Errorf("%d extra rollouts or %v wasted FLOPs under %s, which discards nothing", m.ExtraRollouts, m.WastedFLOPs, m.Strategy)
	}
	return nil
}

// positive reports whether v is a positive, finite number.
func positive(v float64) bool { return v > 0 && v <= math.MaxFloat64 }

// Profile is the profile that was run, as the paper's files spell it.
func (m *Measurement) Profile() string { return m.Benchmark + "__model=" + m.Model }

// What the rewards of a run's rollouts are.
const (
	Coupled = "coupled" // drawn by hash with the probabilities of the profile (paper, Section 4.3)
	Scored  = "scored"  // verdicts of scorers on the responses
)

// Run is one execution of a strategy. Times are seconds since the first
// dispatch. Tokens are the sums that the FLOP proxy is made of: what it says of
// a model can change without a new run.
type Run struct {
	Benchmark       string `parquet:"benchmark"`
	Model           string `parquet:"model"`
	NTasks          int32  `parquet:"n_tasks"`
	ReferenceBudget int32  `parquet:"reference_budget"`
	Budget          int32  `parquet:"budget"`
	Pilots          int32  `parquet:"pilots"` // m
	Strategy        string `parquet:"strategy"`
	Provenance      string `parquet:"provenance"`
	Rewards         string `parquet:"rewards"` // Coupled or Scored
	Repeat          int32  `parquet:"repeat"`
	Started         string `parquet:"started"` // by the wall clock, RFC 3339; empty under the virtual one

	Time      float64 `parquet:"time_seconds"`      // to the last selected reward
	Pilot     float64 `parquet:"pilot_seconds"`     // to the last pilot reward
	Allocated float64 `parquet:"allocated_seconds"` // to the final allocation
	Released  float64 `parquet:"released_seconds"`  // to the end of the last aborted request
	Handling  float64 `parquet:"handling_seconds"`  // that the router was at work, of time_seconds
	CPU       float64 `parquet:"cpu_seconds"`       // of the whole process during the run; 0 under the virtual clock
	Cores     int32   `parquet:"cores"`             // of the machine that the process runs on; 0 under the virtual clock

	// From the end of a request to the submission that took its place, where no
	// other place was free: work was waiting. 0 without any such submission.
	Gaps      int32   `parquet:"gaps"` // how many there were
	GapMedian float64 `parquet:"gap_median_seconds"`
	GapP99    float64 `parquet:"gap_p99_seconds"`

	Accepted   int32 `parquet:"accepted_rollouts"`
	Prefetched int32 `parquet:"prefetched"` // submitted before the barrier
	Discarded  int32 `parquet:"completed_discarded"`
	Aborted    int32 `parquet:"aborted_running"`
	Cancelled  int32 `parquet:"cancelled_queued"`
	Races      int32 `parquet:"races"`   // completed although they were to be aborted
	Updates    int32 `parquet:"updates"` // provisional allocations that came into force

	UsefulTokens     int64 `parquet:"useful_tokens"` // of prompts and completions
	UsefulCompletion int64 `parquet:"useful_completion_tokens"`
	UsefulPairs      int64 `parquet:"useful_pairs"` // Σ Q(Q+1), Q being a rollout's tokens
	WastedTokens     int64 `parquet:"wasted_tokens"`
	WastedCompletion int64 `parquet:"wasted_completion_tokens"`
	WastedPairs      int64 `parquet:"wasted_pairs"`

	Allocation string `parquet:"allocation_sha256"`

	// By the accepted rollouts, tasks weighing the same: the mean of the pilots, and
	// of the continuations.
	PilotMean        float64 `parquet:"pilot_mean"`        // μ̂₀
	ContinuationMean float64 `parquet:"continuation_mean"` // μ̂₁

	// What Weigh sets: only RunsFile has it.
	Weight   float64 `parquet:"weight"`   // of the pilots in the estimate: w, of Uniform their share
	Estimate float64 `parquet:"estimate"` // of the benchmark's mean
}

// Weigh sets the estimate by the stage weight of HBN's design (paper, Section 3).
// What a run measures does not depend on the weight, and is kept when it changes.
func (r *Run) Weigh(design float64) {
	r.Weight = design
	if s := policy.FindStrategy(r.Strategy); s != nil && !s.HasPilot() {
		r.Weight = float64(min(r.Pilots, r.Budget)) / float64(r.Budget)
	}
	r.Estimate = float64(r.Weight*r.PilotMean) + float64((1-r.Weight)*r.ContinuationMean)
}

// Costs is the run with its compute, by the FLOP proxy.
func (r *Run) Costs(a flops.Architecture) Repeat {
	return Repeat{
		Measurement: Measurement{
			Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks,
			ReferenceBudget: r.ReferenceBudget, Budget: r.Budget, Strategy: r.Strategy, Provenance: r.Provenance,
			TimeSeconds:      r.Time,
			UsefulFLOPs:      a.Total(flops.Tokens{Sequence: r.UsefulTokens, Completion: r.UsefulCompletion, Pairs: r.UsefulPairs}),
			WastedFLOPs:      a.Total(flops.Tokens{Sequence: r.WastedTokens, Completion: r.WastedCompletion, Pairs: r.WastedPairs}),
			AcceptedRollouts: r.Accepted, ExtraRollouts: r.Discarded + r.Aborted,
		},
		Repeat: r.Repeat,
	}
}

// Prediction is the predicted and the measured time of a strategy in a setting, by a timing
// model that has seen the runs of Uniform alone. For Uniform and its equivalent it shows how
// well the model fits the data that it was fitted to.
type Prediction struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	NTasks    int32  `parquet:"n_tasks"`
	Budget    int32  `parquet:"budget"` // b
	Strategy  string `parquet:"strategy"`
	Runs      int32  `parquet:"runs"`  // measured ones
	Draws     int32  `parquet:"draws"` // executions under the virtual clock

	Measured    float64 `parquet:"measured_seconds"`  // mean of the runs
	MeasuredSE  float64 `parquet:"measured_se"`       // of the mean, by the spread of runs; NaN of a single one
	Predicted   float64 `parquet:"predicted_seconds"` // with the scales of the repeats
	PredictedSD float64 `parquet:"predicted_sd"`      // of one execution, by the lengths that Uniform did not see: all runs share them

	// DifferenceSE is of Measured minus Predicted: by PredictedSD, and by how far
	// single runs of HBN were from what was predicted of them, a relative spread that
	// all settings of the model have in common. NaN if none has two runs.
	DifferenceSE float64 `parquet:"difference_se"`
	// Scale is of the fitted speed's times: in each repeat as much that Uniform's
	// come out in sum, and here the mean of that.
	Scale float64 `parquet:"scale"`
}

// Speed is how fast the replicas of a model were, as fitted to the runs of Uniform: what
// predictions are made with. A step of n sequences takes Base + Sequence·n, and Prompt longer
// for every prompt token that it reads.
type Speed struct {
	Model    string  `parquet:"model"`
	Base     float64 `parquet:"base_seconds"`
	Sequence float64 `parquet:"sequence_seconds"`
	Prompt   float64 `parquet:"prompt_seconds"`
	Latency  float64 `parquet:"latency_seconds"`  // of a request, in addition to the steps
	Handling float64 `parquet:"handling_seconds"` // of the router, for a completion
	Runs     int32   `parquet:"runs"`             // that were fitted
	Requests int32   `parquet:"requests"`
	Residual float64 `parquet:"residual"` // root mean square of the requests' durations, as a fraction
}

// Request is one request of a run, as the requests files of the systems stage
// keep it. Times are seconds since the first dispatch of its run.
type Request struct {
	Strategy string `parquet:"strategy"`
	Repeat   int32  `parquet:"repeat"`
	ID       string `parquet:"id"`
	Seed     *int64 `parquet:"seed"` // of its generation; null where nothing is generated
	Task     string `parquet:"task"`
	Phase    string `parquet:"phase"`
	Ordinal  int32  `parquet:"ordinal"`
	Replica  int32  `parquet:"replica"`

	Submitted   float64  `parquet:"submitted"`
	Started     *float64 `parquet:"started"` // null if no replica was seen to begin
	Finished    float64  `parquet:"finished"`
	RewardReady *float64 `parquet:"reward_ready"` // null without a reward

	PromptTokens     int32  `parquet:"prompt_tokens"`
	CompletionTokens int32  `parquet:"completion_tokens"` // 0 if it was aborted
	AbortedTokens    *int32 `parquet:"aborted_tokens"`    // seen before the abort; null if it completed

	State      string `parquet:"state"`
	Passed     *bool  `parquet:"passed"` // its reward; null without one
	Prefetched bool   `parquet:"prefetched"`
}

// Of says which policy an execution is of, by the columns that tell policies apart.
type Of struct {
	Policy string `parquet:"policy"`
	Donors string `parquet:"donors"`

	// Equivalent is ⌊b/r⌋ of the policy's variance ratio r on the profile: the budget
	// of the execution of Uniform that it is held against. Of Uniform it is its own.
	Equivalent int32 `parquet:"equivalent_budget"`
}

// PolicyRun is an execution of a policy in stages, or of Uniform.
type PolicyRun struct {
	Of
	Run
}

// Benefit is the same with its compute.
type Benefit struct {
	Of
	Repeat
}

// LengthsKey is the footer key of File that says, with the value LengthsDrawn,
// that requests set the lengths of answers. Without it models ended them.
const (
	LengthsKey   = "speceval.lengths"
	LengthsDrawn = "drawn"
)
