package neyman

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mixture is a law of the probabilities of all tasks. Given one of its nodes the tasks are
// independent, and p of a task is Beta(a, b).
type Mixture struct {
	Tasks   int
	Weights []float64 // of the nodes; their sum is 1
	Shapes  func(node, task int) (a, b float64)
}

// Draw draws the probabilities of all tasks into ps.
func (m Mixture) Draw(source rand.Source, ps []float64) {
	at, left := 0, uniform(source)
	for ; at < len(m.Weights)-1 && left >= m.Weights[at]; at++ {
		left -= m.Weights[at]
	}
	for i := range m.Tasks {
		a, b := m.Shapes(at, i)
		ps[i] = DrawBeta(a, b, source)
	}
}

// DrawBeta draws from Beta(a, b).
func DrawBeta(a, b float64, source rand.Source) float64 {
	p := distuv.Beta{Alpha: a, Beta: b, Src: source}.Rand()
	if math.IsNaN(p) { // shapes so small that p is 0 or 1 in double precision
		p = 0
		if uniform(source) < a/(a+b) {
			p = 1
		}
	}
	return p
}

// uniform returns a uniform number in [0, 1).
func uniform(source rand.Source) float64 { return float64(source.Uint64()>>11) * 0x1p-53 }
