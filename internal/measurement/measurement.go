// Package measurement holds what running a benchmark under a strategy cost:
// time, compute and rollouts, in the Parquet form in which the published
// measurements and those of the systems stage are kept, and the ratios over
// many runs that the paper reports (Tables 2 to 4).
package measurement

import (
	"fmt"
	"math"

	"speceval/internal/policy"
)

// Schema is the value of the footer key speceval.schema of a measurement file.
const Schema = "measurements/1"

// Files of the output folder that the systems stage writes. File has a row for
// every profile, budget, strategy and provenance: the mean over repeats, extra
// rollouts rounded. RepeatsFile has a row for every execution.
const (
	File        = "systems/measurements.parquet" // Measurement
	RepeatsFile = "systems/repeats.parquet"      // Repeat
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
func (m Measurement) Check() error {
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
func (m Measurement) Profile() string { return m.Benchmark + "__model=" + m.Model }
