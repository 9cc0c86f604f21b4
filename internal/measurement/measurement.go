// Package measurement holds what running a benchmark under a strategy cost:
// time, compute and rollouts, in the Parquet form in which the published
// measurements and those of the systems stage are kept.
package measurement

import (
	"fmt"

	"speceval/internal/rowfile"
)

// Schema is the value of the footer key speceval.schema of a measurement file.
const Schema = "measurements/1"

// Strategies (paper, Section 4.3).
const (
	Uniform           = "uniform"            // b rollouts for every task
	HBNSync           = "hbn-sync"           // HBN with a barrier after the pilot
	HBNAsync          = "hbn-async"          // HBN that fills the barrier with speculative rollouts
	UniformEquivalent = "uniform-equivalent" // Uniform at ⌊b/r⌋, the budget that HBN's variance is worth
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
	// UniformEquivalent alone.
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

// Parse reads a measurement file held in memory; name is what errors call it.
// Every row is checked: positive time and useful compute, nothing negative,
// accepted rollouts equal to n_tasks × budget, a known strategy and
// provenance.
func Parse(data []byte, name string) ([]Measurement, error) {
	rows, _, err := rowfile.Decode[Measurement](data, name)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("%s: row %d (%s__model=%s): %w", name, i+1, r.Benchmark, r.Model, err)
		}
	}
	return rows, nil
}

// Check says what is wrong with a measurement, if anything.
func (m Measurement) Check() error {
	switch {
	case m.Benchmark == "" || m.Model == "":
		return fmt.Errorf("benchmark or model is empty")
	case m.NTasks < 1 || m.Budget < 1 || m.ReferenceBudget < 1:
		return fmt.Errorf("n_tasks %d, budget %d or reference_budget %d is not positive", m.NTasks, m.Budget, m.ReferenceBudget)
	case m.Strategy != UniformEquivalent && m.Budget != m.ReferenceBudget:
		return fmt.Errorf("budget %d differs from reference_budget %d under %s", m.Budget, m.ReferenceBudget, m.Strategy)
	case m.Strategy != Uniform && m.Strategy != HBNSync && m.Strategy != HBNAsync && m.Strategy != UniformEquivalent:
		return fmt.Errorf("strategy %q is unknown", m.Strategy)
	case m.Provenance != Published && m.Provenance != Simulated && m.Provenance != Measured:
		return fmt.Errorf("provenance %q is unknown", m.Provenance)
	case !(m.TimeSeconds > 0) || !(m.UsefulFLOPs > 0) || !(m.WastedFLOPs >= 0):
		return fmt.Errorf("time %v s, useful %v or wasted %v FLOPs is out of range", m.TimeSeconds, m.UsefulFLOPs, m.WastedFLOPs)
	case int64(m.AcceptedRollouts) != int64(m.NTasks)*int64(m.Budget):
		return fmt.Errorf("accepted_rollouts %d is not n_tasks × budget = %d", m.AcceptedRollouts, int64(m.NTasks)*int64(m.Budget))
	case m.ExtraRollouts < 0:
		return fmt.Errorf("extra_rollouts %d is negative", m.ExtraRollouts)
	}
	return nil
}
