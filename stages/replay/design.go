package replay

import (
	"speceval/internal/exante"
	"speceval/internal/variance"
)

// designs turns the continuation coefficients C of every candidate, estimated
// in independent replicates ([candidate][replicate]), into designs.
func designs(policy string, tasks int, alpha *float64, cs exante.Candidates, coefficients [][]float64) []variance.Design {
	rows := make([]variance.Design, len(cs))
	for k, r := range exante.Rate(cs, coefficients) {
		rows[k] = variance.Design{
			Policy: policy, NTasks: int32(tasks), Budget: int32(r.Budget), Alpha: alpha,
			M: int32(r.M), W: r.Weight,
			Risk: r.Risk, RiskSE: r.RiskSE,
			Selected: r.Selected, Gap: r.Gap, GapSE: r.GapSE,
		}
	}
	return rows
}
