package upstream_test

import (
	"slices"
	"testing"

	"speceval/internal/benchmark/upstream"
)

// All that is wanted here was printed by CPython 3.11.

func TestBelow(t *testing.T) {
	r, want := upstream.NewMersenne(3), []int{0, 0, 1, 3, 4, 8, 56556069}
	for i, n := range []int{1, 2, 3, 4, 5, 100, 1 << 31} {
		if got := r.Below(n); got != want[i] {
			t.Errorf("below %d: %d, want %d", n, got, want[i])
		}
	}
}

func TestShuffle(t *testing.T) {
	for seed, want := range map[uint32]string{0: "hibfdecajg", 42: "hdcifgjeab", 43: "ibfgjhdcea"} {
		letters := []byte("abcdefghij")
		if upstream.Shuffle(upstream.NewMersenne(seed), letters); string(letters) != want {
			t.Errorf("seed %d: %s, want %s", seed, letters, want)
		}
	}
}

func TestSample(t *testing.T) {
	for _, test := range []struct {
		n, k, sum int // of the numbers times their places, from 1
		first     []int
	}{
		{500, 100, 1250710, []int{327, 57, 12}},
		{1045, 100, 2495990, []int{228, 51, 563}},
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
