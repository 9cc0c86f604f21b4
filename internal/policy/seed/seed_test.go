package seed

import (
	"math"
	"testing"
)

// TestStreamsDoNotMove pins the first values of some streams: results that
// were published from a seed must come out again from it for ever.
func TestStreamsDoNotMove(t *testing.T) {
	tests := []struct {
		seed  Seed
		label string
		want  [2]uint64
	}{
		{Root(42), "42/speceval", [2]uint64{0x2491fdba2602e0d, 0xae55c5bd6703f724}},
		{Root(42).Child("replay"), "42/speceval/replay", [2]uint64{0x1cacda53f1a70cc1, 0x45ab5c36f60331ea}},
		{Root(42).Child("replay").Index(7), "42/speceval/replay/7", [2]uint64{0xa2bc513543994aa4, 0x162bd132fe16de8}},
		{Root(0), "0/speceval", [2]uint64{0x7590bdb7bbabc634, 0xe59347c49f98af2f}},
	}
	for _, tt := range tests {
		if tt.seed.Label() != tt.label {
			t.Errorf("label %q, want %q", tt.seed.Label(), tt.label)
		}
		s := tt.seed.Stream()
		if got := [2]uint64{s.Uint64(), s.Uint64()}; got != tt.want {
			t.Errorf("%s: stream starts %#x, want %#x", tt.label, got, tt.want)
		}
		if s = tt.seed.Stream(); s.Float64() != float64(tt.want[0]>>11)*0x1p-53 {
			t.Errorf("%s: another number from 0 to 1", tt.label)
		}
	}
}

func TestDifferentPathsAreDifferentSeeds(t *testing.T) {
	root := Root(1)
	seeds := []Seed{
		root, Root(2), root.Child("a"), root.Child("b"), root.Child("ab"), root.Child("a").Child("b"),
		root.Child("a/b"), root.Child(""), root.Child("").Child(""), root.Child("1"), root.Child("a").Index(1),
	}
	seen := map[uint64]string{}
	for _, s := range seeds {
		stream := s.Stream()
		first := stream.Uint64()
		if other, ok := seen[first]; ok {
			t.Errorf("%q and %q give the same stream", s.Label(), other)
		}
		seen[first] = s.Label()
	}
	if a, b := root.Child("1").Stream(), root.Index(1).Stream(); a != b {
		t.Error("Index(1) is not Child(\"1\")")
	}
}

// TestWordsAreThoseOfTheStream holds access in any order to the sequence.
func TestWordsAreThoseOfTheStream(t *testing.T) {
	start := Root(6).Stream()
	s := start
	for n := range uint64(1000) {
		if word, next := start.Word(n), s.Uint64(); word != next {
			t.Fatalf("word %d is %#x, the stream gives %#x", n, word, next)
		}
	}
}

// TestNumberedStreams checks streams kept for numbers: that they do not depend
// on what was drawn, differ for numbers and for owners that are neighbours, and
// that their first values are uniform and uncorrelated, at five standard errors.
func TestNumberedStreams(t *testing.T) {
	s := Root(4).Stream()
	seen := map[uint64]bool{}
	const n = 1 << 17
	var sum, squares, products, last float64
	for i := range uint64(n) {
		own := s.At(i)
		first := own.Uint64()
		other := Root(5).Stream()
		foreign := other.At(i)
		if second := foreign.Uint64(); seen[first] || seen[second] {
			t.Fatalf("stream %d starts like another", i)
		} else {
			seen[first], seen[second] = true, true
		}
		x := float64(first>>11)*0x1p-53 - 0.5
		sum, squares, products, last = sum+x, squares+x*x, products+x*last, x
	}
	if math.Abs(sum/n) > 5*math.Sqrt(1.0/12/n) || math.Abs(squares/n-1.0/12) > 5*math.Sqrt(1.0/180/n) || math.Abs(products/n) > 5.0/12/math.Sqrt(n) {
		t.Errorf("mean %v, variance %v, correlation %v", sum/n, squares/n, products/n)
	}
	if s != Root(4).Stream() {
		t.Error("At changes the stream")
	}
}
