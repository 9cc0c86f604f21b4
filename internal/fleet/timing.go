package fleet

import (
	"math"
	"time"
)

// Timing is how long one replica takes for a step of its batch: Base +
// Sequence·n + Context·Σcontext + Late·Σlate, and Prompt for every token of a
// prompt that the step admits. Whole nanoseconds make sums exact.
type Timing struct {
	Base     time.Duration // of every step
	Sequence time.Duration // for every running sequence
	Context  time.Duration // for every token of prompt and answer that is attended to
	Late     time.Duration // for every token of an answer that has After or more
	After    int           // 0: none is late
	Prompt   time.Duration // for every prompt token, once
	Graphs   bool          // the number of sequences counts as the next CUDA graph size
	Pace     float64       // that all of this takes so many times as long; 0: 1
}

// Load is what a step works on.
type Load struct {
	Sequences int // that run
	Context   int // tokens of their prompts and answers
	Late      int // sequences whose answers have After tokens or more
	Answers   int // tokens of those answers
}

// Step is the duration of a step; without sequences it takes no time.
func (t Timing) Step(l Load) time.Duration { return t.Steps(l, 1) }

// Steps is the duration of k steps with the same sequences, the load being that
// of the first. Every step adds one token to every sequence.
func (t Timing) Steps(l Load, k int) time.Duration {
	if l.Sequences <= 0 || k <= 0 {
		return 0
	}
	first, growth := t.rate(l)
	return t.paced(time.Duration(k)*first + growth*time.Duration(k*(k-1)/2))
}

// paced is a time at the pace.
func (t Timing) paced(d time.Duration) time.Duration {
	if t.Pace == 0 {
		return d
	}
	return time.Duration(float64(d) * t.Pace)
}

// rate is the duration of the first step, and by how much each takes longer
// than the one before.
func (t Timing) rate(l Load) (first, growth time.Duration) {
	first = t.Base + t.Sequence*time.Duration(t.counted(l.Sequences)) + t.Context*time.Duration(l.Context) + t.Late*time.Duration(l.Answers)
	return first, t.Context*time.Duration(l.Sequences) + t.Late*time.Duration(l.Late)
}

// Within is the largest number of steps of the same sequences that take at most
// d together: 0 if there is none, or if steps take no time.
func (t Timing) Within(l Load, d time.Duration) int {
	first, growth := t.rate(l)
	if l.Sequences <= 0 || first <= 0 || d < t.paced(first) {
		return 0
	}
	all := float64(d)
	if t.Pace != 0 {
		all /= t.Pace
	}
	// all = k·first + growth·k(k−1)/2, solved for k: in a form that stays exact
	// when growth is small. What rounding does to it is put right in integers.
	half := float64(first) - float64(growth)/2
	k := int(2 * all / (half + math.Sqrt(half*half+2*float64(growth)*all)))
	for k > 0 && t.Steps(l, k) > d {
		k--
	}
	for t.Steps(l, k+1) <= d {
		k++
	}
	return k
}

// Prefill is what a step takes longer for admitting prompts of so many tokens.
func (t Timing) Prefill(tokens int) time.Duration { return t.paced(t.Prompt * time.Duration(tokens)) }

// counted is the number of sequences that a step costs as much as.
func (t Timing) counted(n int) int {
	if !t.Graphs {
		return n
	}
	return graphSize(n)
}

// graphSize is the smallest CUDA graph that holds n sequences: vLLM captures 1,
// 2, 4, multiples of 8 to 256, and of 16 to 512, and runs larger batches as
// they are.
func graphSize(n int) int {
	switch {
	case n <= 2:
		return n
	case n <= 4:
		return 4
	case n <= 256:
		return (n + 7) / 8 * 8
	case n <= 512:
		return (n + 15) / 16 * 16
	}
	return n
}

// Small is a toy model of two layers on two cores: 1.6 ms a step alone, 6.3 ms
// with 64 sequences, as measured of vLLM 0.23.0's CPU build.
var Small = Timing{Base: 1530 * time.Microsecond, Sequence: 75 * time.Microsecond, Prompt: 20 * time.Microsecond}
