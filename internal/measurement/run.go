package measurement

import (
	"speceval/internal/flops"
	"speceval/internal/policy"
)

// RunsFile holds every execution of the systems stage, a Run each: under
// coupled and under real rewards, on servers and under the virtual clock.
const RunsFile = "systems/runs.parquet"

// RunSchema is the value of the footer key speceval.schema of files of runs.
const RunSchema = "systems-runs/4"

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

// PredictionsFile holds what a timing model that has seen the runs of Uniform
// alone says of all strategies, a Prediction each.
const PredictionsFile = "systems/predictions.parquet"

// PredictionSchema is the value of the footer key speceval.schema of
// PredictionsFile.
const PredictionSchema = "systems-predictions/2"

// Prediction is the predicted time of a strategy in a setting beside the
// measured one. Of Uniform and its equivalent it says how well the model fits
// what it has seen.
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

// SpeedsFile holds the speed of each model's replicas as fitted to the runs of
// Uniform, a Speed each: what predictions are made with.
const SpeedsFile = "systems/speeds.parquet"

// SpeedSchema is the value of the footer key speceval.schema of SpeedsFile.
const SpeedSchema = "systems-speeds/2"

// Speed is how fast the replicas of a model were. A step of n sequences takes
// Base + Sequence·n, and Prompt longer for every prompt token that it reads.
type Speed struct {
	Model    string  `parquet:"model"`
	Base     float64 `parquet:"base_seconds"`
	Sequence float64 `parquet:"sequence_seconds"`
	Prompt   float64 `parquet:"prompt_seconds"`
	Latency  float64 `parquet:"latency_seconds"`  // of a request, beside the steps
	Handling float64 `parquet:"handling_seconds"` // of the router, for a completion
	Runs     int32   `parquet:"runs"`             // that were fitted
	Requests int32   `parquet:"requests"`
	Residual float64 `parquet:"residual"` // root mean square of the requests' durations, as a fraction
}
