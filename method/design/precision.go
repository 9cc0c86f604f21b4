package design

import (
	"math"
	"runtime"

	"speceval/internal/exante"
)

// everyPilot is the largest budget at which every pilot size is considered.
const everyPilot = 64

// grid are the pilot sizes considered at a budget, ascending: all of them up to
// everyPilot. Beyond it the sizes go up to 4·b^⅔, from 64 on each greater than
// the one before by a thirty-second of it, rounded down: the best are near b^⅔,
// and the risk is flat there.
func grid(budget int) exante.Candidates {
	if budget <= everyPilot {
		return exante.AllCandidates([]int{budget})
	}
	var cs exante.Candidates
	longest := int(4 * math.Cbrt(float64(budget)*float64(budget)))
	for m := 1; m <= min(longest, budget-1); m += max(1, m/32) {
		cs = append(cs, exante.Candidate{Budget: budget, M: m})
	}
	return cs
}

// The paper's replicates and quadrature, and bounds of the panels that are as
// precise as its own.
const (
	paperReplicates = 8
	paperOrder      = 16
	manyPanels      = 4096
	fewPanels       = 256
	fewestPanels    = 16
)

// precise puts the paper's precision where none is given. What even panels leave of
// the error falls as N grows, as that of the paper's 8192 independent ones does not:
// 2^16/N panels a replicate, between 256 and 4096, leave RiskSE at 0.0005 to 0.0011,
// where those have 0.0012 to 0.0025. Two more bounds keep a design to some seconds:
// where there are more than 32 pilot sizes, the panels are fewer in proportion, not
// below 256 (RiskSE up to 0.0016); and where a replicate would draw more than 2^28
// rollouts, as few as 16.
func (s Settings) precise(cs exante.Candidates) Settings {
	if s.Panels == 0 {
		panels := min(manyPanels, 1<<16/s.Tasks)
		panels = max(fewPanels, panels*32/max(32, len(cs)))
		s.Panels = max(fewestPanels, min(panels, 1<<28/(s.Tasks*cs.LongestPilot())))
	}
	if s.Replicates == 0 {
		s.Replicates = paperReplicates
	}
	if s.QuadratureOrder == 0 {
		s.QuadratureOrder = paperOrder
	}
	if s.Workers == 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	return s
}
