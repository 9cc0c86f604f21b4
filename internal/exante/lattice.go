package exante

import "speceval/internal/seed"

// Lattice is an endless sequence of hyperparameters (ξ, δ) that fills the unit
// square evenly: the Kronecker sequence of the plastic number ρ, with steps 1/ρ
// and 1/ρ² modulo 1, from a random start. Each point by itself is uniform, so
// that a mean over panels with these hyperparameters has the same expectation as
// over independent ones; but what the mean owes to where the points fell, which
// with many tasks is nearly all of its error, is gone.
type Lattice struct{ xi, delta uint64 } // in units of 2^−64

// The steps of a lattice, 2^64/ρ and 2^64/ρ² for ρ³ = ρ + 1, rounded to odd.
const (
	xiStep    = 0xc13fa9a902a6328f
	deltaStep = 0x91e10da5c79e7b1d
)

// NewLattice draws the start of a lattice.
func NewLattice(random *seed.Stream) Lattice {
	return Lattice{random.Uint64(), random.Uint64()}
}

// From is the lattice without its first n points.
func (l Lattice) From(n int) Lattice {
	return Lattice{l.xi + uint64(n)*xiStep, l.delta + uint64(n)*deltaStep}
}

// next returns a point and goes on to the one after it.
func (l *Lattice) next() (xi, delta float64) {
	at := *l
	*l = l.From(1)
	return inside(at.xi), inside(at.delta)
}

// inside is a number in (0, 1), uniform if the bits are.
func inside(bits uint64) float64 {
	return float64(bits>>12)*0x1p-52 + 0x1p-53
}
