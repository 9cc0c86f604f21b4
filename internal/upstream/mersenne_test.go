package upstream_test

import (
	"slices"
	"testing"

	"speceval/internal/upstream"
)

// All that is wanted here was printed by CPython 3.11.

func TestBits(t *testing.T) {
	for seed, want := range map[uint64][]uint32{
		0:         {3626764237, 1654615998, 3255389356},
		42:        {2746317213, 478163327, 107420369, 3184935163, 1181241943},
		1<<32 - 1: {2728839433, 2661025012, 872737089},
		1 << 32:   {485306839, 1508871100, 1794561286},
		1<<63 + 5: {1478493593, 736485321, 1981690036},
	} {
		r := upstream.NewMersenne(seed)
		for i, w := range want {
			if got := r.Bits(32); got != w {
				t.Errorf("seed %d, word %d: %d, want %d", seed, i, got, w)
			}
		}
	}
	r, want := upstream.NewMersenne(7), []uint32{0, 3, 1, 101, 1397871144, 207388624}
	for i, k := range []int{1, 2, 3, 8, 31, 32} {
		if got := r.Bits(k); got != want[i] {
			t.Errorf("%d bits: %d, want %d", k, got, want[i])
		}
	}
}

func TestBelow(t *testing.T) {
	r, want := upstream.NewMersenne(3), []int{0, 0, 1, 3, 4, 8, 56556069}
	for i, n := range []int{1, 2, 3, 4, 5, 100, 1 << 31} {
		if got := r.Below(n); got != want[i] {
			t.Errorf("below %d: %d, want %d", n, got, want[i])
		}
	}
}

func TestShuffle(t *testing.T) {
	for seed, want := range map[uint64]string{0: "hibfdecajg", 42: "hdcifgjeab", 43: "ibfgjhdcea"} {
		letters := []byte("abcdefghij")
		if upstream.Shuffle(upstream.NewMersenne(seed), letters); string(letters) != want {
			t.Errorf("seed %d: %s, want %s", seed, letters, want)
		}
	}
}

// TestSample has both of CPython's ways on both sides of where it changes them.
func TestSample(t *testing.T) {
	for _, test := range []struct {
		n, k, sum int // of the numbers times their places, from 1
		first     []int
	}{
		{500, 100, 1250710, []int{327, 57, 12}},
		{21, 3, 26, []int{20, 3, 0}},
		{22, 3, 26, []int{20, 3, 0}},
		{21, 20, 2085, []int{20, 3, 0}},
		{1045, 100, 2495990, []int{228, 51, 563}},
		{1046, 100, 2646540, []int{228, 51, 563}},
		{1000000, 200, 10158496514, []int{670487, 116739, 26225}},
		{85, 6, 581, []int{81, 14, 3}},
		{86, 6, 581, []int{81, 14, 3}},
		{5, 5, 33, []int{0, 4, 2}},
	} {
		got, sum := upstream.NewMersenne(42).Sample(test.n, test.k), 0
		for i, v := range got {
			sum += (i + 1) * v
		}
		if len(got) != test.k || sum != test.sum || !slices.Equal(got[:3], test.first) {
			t.Errorf("%d of %d: sum %d, %v", test.k, test.n, sum, got)
		}
	}
}
