// Package seed is the labelled seed tree: the only place that makes random
// sources. Every stream is named by the path of labels that leads to it from
// the experiment's root seed, never by the order in which work happens to run,
// so that results do not depend on workers, shards or resumes.
package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
)

// Seed is a node of the tree. The zero Seed belongs to no tree; start from Root.
type Seed struct {
	digest [sha256.Size]byte
	label  string
}

// Root is the top of the tree of one experiment.
func Root(n uint64) Seed {
	number := strconv.FormatUint(n, 10)
	return Seed{label: number}.derive(number, "speceval")
}

// Child is the node below s with the given label. Children with different
// labels are independent, and so are "ab" under "c" and "b" under "ca".
func (s Seed) Child(label string) Seed { return s.derive("", label) }

// derive hashes the digest of s, a salt, and a label with its length.
func (s Seed) derive(salt, label string) Seed {
	h := sha256.New()
	h.Write(s.digest[:])
	h.Write([]byte(salt))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(label))))
	h.Write([]byte(label))
	child := Seed{label: s.label + "/" + label}
	h.Sum(child.digest[:0])
	return child
}

// Index is the child of s with a decimal number as its label.
func (s Seed) Index(i int) Seed { return s.Child(strconv.Itoa(i)) }

// Label is the path from the root, as manifests record it.
func (s Seed) Label() string { return s.label }

// Stream is the random stream of this node.
func (s Seed) Stream() Stream {
	return Stream{
		state: binary.BigEndian.Uint64(s.digest[0:8]),
		gamma: oddGamma(binary.BigEndian.Uint64(s.digest[8:16])),
	}
}

// Stream is a source of random bits: SplitMix64 with a step of its own (Steele,
// Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
// It is a small value; copying it forks the sequence at that point. It is not
// safe for concurrent use.
type Stream struct{ state, gamma uint64 }

// Uint64 returns 64 random bits.
func (s *Stream) Uint64() uint64 {
	s.state += s.gamma
	return mix(s.state)
}

// Word is the value that the n-th next call of Uint64 would return, counted from
// 0: a random word for every number, in any order.
func (s Stream) Word(n uint64) uint64 { return mix(s.state + (n+1)*s.gamma) }

// Float64 returns a uniform number in [0, 1) with 53 random bits.
func (s *Stream) Float64() float64 {
	return float64(s.Uint64()>>11) * 0x1p-53
}

// Fork returns a stream that starts at a random place and goes by a random
// step of its own: as good as independent of what s gives afterwards.
func (s *Stream) Fork() Stream {
	return Stream{state: s.Uint64(), gamma: oddGamma(s.Uint64())}
}

// mix is the finalizer of SplitMix64 (Stafford's variant 13).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// oddGamma makes a step for a stream: odd, so that the period is 2^64, and with
// enough changes between neighbouring bits, as the authors of the generator ask.
func oddGamma(z uint64) uint64 {
	z = mix(z) | 1
	if bits.OnesCount64(z^z>>1) < 24 {
		z ^= 0xaaaaaaaaaaaaaaaa
	}
	return z
}

// At is the stream that s keeps for a number: streams of different numbers, and
// of different s, are as good as independent. It costs a few nanoseconds where a
// child of a seed costs a digest.
func (s Stream) At(n uint64) Stream {
	state := mix(s.state + mix(s.gamma+n*0x9e3779b97f4a7c15))
	return Stream{state: state, gamma: oddGamma(state ^ s.gamma)}
}
