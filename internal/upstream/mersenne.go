// Mersenne draws as CPython's module random does, so that samples and
// shuffles that were made there come out again. The words are gonum's MT19937; the
// ways from a seed to a state and from bits to choices are CPython's.

package upstream

import (
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/mathext/prng"
)

// Random is a random.Random of CPython. Its methods may not be called
// concurrently.
type Mersenne struct {
	words *prng.MT19937
}

// NewMersenne seeds a generator as random.Random(seed) does.
func NewMersenne(seed uint64) *Mersenne {
	keys := []uint32{uint32(seed)}
	if high := uint32(seed >> 32); high > 0 {
		keys = append(keys, high)
	}
	r := &Mersenne{prng.NewMT19937()}
	r.words.SeedFromKeys(keys)
	return r
}

// Bits is getrandbits(k), for k from 1 to 32.
func (r *Mersenne) Bits(k int) uint32 { return r.words.Uint32() >> (32 - k) }

// Below is randrange(n): an integer from 0 to n-1, for n from 1 to 2^31.
func (r *Mersenne) Below(n int) int {
	k := bits.Len(uint(n))
	for {
		if v := int(r.Bits(k)); v < n {
			return v
		}
	}
}

// Shuffle is shuffle(list).
func Shuffle[E any](r *Mersenne, list []E) {
	for i := len(list) - 1; i > 0; i-- {
		j := r.Below(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}

// Sample is sample(range(n), k): k of the numbers from 0 to n-1, in the order in
// which they are drawn.
func (r *Mersenne) Sample(n, k int) []int {
	drawn := make([]int, 0, k)
	if n > pooled(k) {
		for len(drawn) < k {
			if v := r.Below(n); !slices.Contains(drawn, v) {
				drawn = append(drawn, v)
			}
		}
		return drawn
	}
	pool := make([]int, n)
	for i := range pool {
		pool[i] = i
	}
	for i := range k {
		j := r.Below(n - i)
		drawn = append(drawn, pool[j])
		pool[j] = pool[n-i-1]
	}
	return drawn
}

// pooled is the largest n of which CPython keeps a pool to sample k from: one that
// takes no more memory than a set of those drawn.
func pooled(k int) int {
	size := 21
	if k > 5 {
		power := 1
		for power < 3*k {
			power *= 4
		}
		size += power
	}
	return size
}
