// Package pilot draws the outcomes of pilot rollouts as nested paths.
//
// The outcomes of one task are exchangeable: given the number of successes in
// all M rollouts, every order of them is equally likely. So a path is drawn in
// two steps, the total by inverting its distribution and the order uniformly,
// and the first m outcomes of the path are the pilot of size m for every
// m ≤ M at once. The law is exact, also for a Pólya urn or for a success
// probability with a beta prior, which are never simulated step by step. Where
// the success probability is known the outcomes are drawn one by one, in bits.
//
// On these paths the package builds sweeps over all pilot sizes (sweep.go), the choice of
// a pilot size and a stage weight (candidates.go), and simulated evaluations in stages
// (trial.go).
package pilot

import (
	"math/bits"

	"speceval/internal/policy/seed"
)

// PathWords is the length in 64-bit words of a path of rollouts outcomes.
func PathWords(rollouts int) int { return (rollouts + 63) / 64 }

// Arranger puts successes into a path, in an order drawn uniformly.
type Arranger struct {
	rollouts int
	bits     uint   // bits of one position
	mask     uint64 // the low bits of a word
}

// NewArranger returns the arranger of paths of the given length, at least 1.
func NewArranger(rollouts int) Arranger {
	width := uint(max(1, bits.Len(uint(rollouts-1))))
	return Arranger{rollouts: rollouts, bits: width, mask: 1<<width - 1}
}

// Add marks further successes among the outcomes of path that are not marked
// yet, every choice of them being equally likely. A path extended in several
// calls has the law of a path filled in one.
func (a Arranger) Add(path []uint64, successes int, random *seed.Stream) {
	for successes > 0 {
		word := random.Uint64()
		for left := uint(64); left >= a.bits && successes > 0; left -= a.bits {
			at := word & a.mask
			word >>= a.bits
			if at >= uint64(a.rollouts) {
				continue
			}
			bit := uint64(1) << (at & 63)
			if path[at>>6]&bit == 0 {
				path[at>>6] |= bit
				successes--
			}
		}
	}
}

// Draw sets path to the order of a fresh path with the given total.
func (a Arranger) Draw(path []uint64, successes int, random *seed.Stream) {
	clear(path)
	if 2*successes <= a.rollouts {
		a.Add(path, successes, random)
		return
	}
	a.Add(path, a.rollouts-successes, random)
	a.complement(path)
}

// complement turns every outcome of path around.
func (a Arranger) complement(path []uint64) {
	for i := range path {
		path[i] = ^path[i]
	}
	if rest := uint(a.rollouts & 63); rest != 0 {
		path[len(path)-1] &= 1<<rest - 1
	}
}

// Bernoulli sets path to independent outcomes of success probability p, in
// [0, 1]. Sixty-four outcomes are drawn at once: each compares the bits of a
// uniform number with those of p, from the first down, until they differ,
// which after a few words of random bits all of them have.
func Bernoulli(path []uint64, rollouts int, p float64, random *seed.Stream) {
	for i := range path {
		path[i] = bernoulliWord(p, random)
	}
	if rest := uint(rollouts & 63); rest != 0 {
		path[len(path)-1] &= 1<<rest - 1
	}
}

func bernoulliWord(p float64, random *seed.Stream) uint64 { return bernoulli(^uint64(0), p, random) }

// bernoulli draws the outcomes of the bits of a mask.
func bernoulli(mask uint64, p float64, random *seed.Stream) uint64 {
	if p >= 1 {
		return mask
	}
	var successes uint64
	for undecided := mask; undecided != 0 && p > 0; {
		p *= 2 // exact: its next bit is now before the point
		uniform := random.Uint64()
		if p >= 1 {
			p--
			successes |= undecided &^ uniform
			undecided &= uniform
		} else {
			undecided &^= uniform
		}
	}
	return successes
}

// Passes counts the successes of a path that Bernoulli would draw, from the same random
// numbers.
func Passes(rollouts int, p float64, random *seed.Stream) (n int) {
	for ; rollouts > 0; rollouts -= 64 {
		word := bernoulliWord(p, random)
		if rollouts < 64 {
			word &= 1<<uint(rollouts) - 1
		}
		n += bits.OnesCount64(word)
	}
	return n
}

// Binomial draws the number of successes among some rollouts of success probability
// p, in [0, 1].
func Binomial(rollouts int, p float64, random *seed.Stream) int {
	if p <= 0 {
		return 0
	}
	n := 0
	for ; rollouts >= 64; rollouts -= 64 {
		n += bits.OnesCount64(bernoulliWord(p, random))
	}
	return n + bits.OnesCount64(bernoulli(1<<uint(rollouts)-1, p, random))
}

// Successes counts the successes among the first m outcomes of path.
func Successes(path []uint64, m int) int {
	n := 0
	for i := 0; m > 0; i++ {
		word := path[i]
		if m < 64 {
			word &= 1<<uint(m) - 1
		}
		n += bits.OnesCount64(word)
		m -= 64
	}
	return n
}

// Fold marks in events the outcomes of path at which the smaller of the two
// counts rises: bit m−1 is set where min(S, m−S) is greater than it was one
// outcome before. EN and IBN scores depend on that count alone.
func Fold(path []uint64, rollouts int, events []uint64) {
	clear(events)
	for at := 0; at < rollouts; {
		at = foldExcursion(path, at, rollouts, events)
	}
}

// foldExcursion follows the path from a tie before position at to the next tie,
// whose end it returns: until then the outcome at that position is in the
// majority, and every other outcome raises the smaller count.
func foldExcursion(path []uint64, at, rollouts int, events []uint64) int {
	var flip uint64
	if path[at>>6]>>(at&63)&1 == 1 {
		flip = ^uint64(0)
	}
	lead := 1
	at++
	for at < rollouts {
		i := at >> 6
		word := (path[i] ^ flip) &^ (1<<(at&63) - 1)
		if rollouts < (i+1)<<6 {
			word &= 1<<(rollouts&63) - 1
		}
		for ; word != 0; word &= word - 1 {
			position := i<<6 + bits.TrailingZeros64(word)
			lead += position - at - 1
			at = position + 1
			events[i] |= word & -word
			if lead == 0 {
				return at
			}
		}
		lead += (i+1)<<6 - at
		at = (i + 1) << 6
	}
	return rollouts
}
