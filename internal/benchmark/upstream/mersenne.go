package upstream

import (
	"math/bits"

	"gonum.org/v1/gonum/mathext/prng"
)

// Mersenne is a random.Random of CPython: samples and shuffles that were made there
// come out again. The words are gonum's; the ways from a seed to a state and from words
// to choices are CPython's (Lib/random.py). Its methods may not be called concurrently.
type Mersenne struct{ words *prng.MT19937 }

// NewMersenne seeds a generator as random.Random(seed) does.
func NewMersenne(seed uint32) Mersenne {
	words := prng.NewMT19937()
	words.SeedFromKeys([]uint32{seed})
	return Mersenne{words}
}

// Below is randrange(n): an integer from 0 to n-1, for n from 1 to 2^31.
func (r Mersenne) Below(n int) int {
	for {
		if v := int(r.words.Uint32() >> (32 - bits.Len(uint(n)))); v < n {
			return v
		}
	}
}

// Shuffle is shuffle(list).
func Shuffle[E any](r Mersenne, list []E) {
	for i := len(list) - 1; i > 0; i-- {
		j := r.Below(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}

// Sample is sample(range(n), k): k of the numbers from 0 to n-1, in the order in which
// they are drawn. CPython draws so where n is small for k, as 500 is for 100.
func (r Mersenne) Sample(n, k int) []int {
	pool := make([]int, n)
	for i := range pool {
		pool[i] = i
	}
	drawn := make([]int, k)
	for i := range drawn {
		j := r.Below(n - i)
		drawn[i], pool[j] = pool[j], pool[n-i-1]
	}
	return drawn
}
