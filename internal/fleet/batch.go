package fleet

import (
	"math"
	"slices"
	"sort"
	"time"
)

// Sequence is one request in a replica. Its owner keeps the pointer.
type Sequence struct {
	Owner any // for its owner's use

	Prompt int // tokens of the prompt
	Tokens int // tokens of the answer, at least 1: known beforehand, since nothing is really sampled

	batch *Batch // that runs it
	from  int    // its steps before the first of the sequence
	made  int    // tokens when it left the batch
}

// Generated is the tokens of the answer so far.
func (s *Sequence) Generated() int {
	if s.batch == nil {
		return s.made
	}
	return s.batch.steps - s.from
}

// Batch is the state of one replica's continuous batching: running sequences up to a limit,
// and sequences that wait, first come first served. It moves in steps: Next admits and
// plans, Begin says how long steps take, Advance makes them happen.
type Batch struct {
	timing   Timing
	most     int
	steps    int // so far
	running  []*Sequence
	changes  []int // steps so far when each running sequence ends or becomes late
	soonest  int   // of these
	waiting  []*Sequence
	load     Load // of the running sequences
	admitted int  // prompt tokens that the coming step has to read
	ended    []*Sequence
}

// NewBatch is an empty batch that runs at most the given number of sequences at a time, and
// at least one.
func NewBatch(t Timing, sequences int) *Batch {
	return &Batch{timing: t, most: max(1, sequences), soonest: math.MaxInt}
}

// Clone is the batch as it stands, of other sequences in the place of its own.
func (b *Batch) Clone(other func(*Sequence) *Sequence) *Batch {
	c := *b
	c.ended, c.changes = nil, slices.Clone(b.changes)
	for _, list := range []*[]*Sequence{&c.running, &c.waiting} {
		*list = slices.Clone(*list)
		for i, s := range *list {
			(*list)[i] = other(s)
		}
	}
	for _, s := range c.running {
		s.batch = &c
	}
	return &c
}

// Add puts a sequence at the end of the queue.
func (b *Batch) Add(s *Sequence) { b.waiting = append(b.waiting, s) }

// Withdraw takes a sequence out if it waits, and reports whether it did.
func (b *Batch) Withdraw(s *Sequence) bool {
	i := slices.Index(b.waiting, s)
	if i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	return i >= 0
}

// Remove takes a sequence out, wherever it is. Between Begin and Advance it takes no part in
// the steps under way, but their duration stays the same.
func (b *Batch) Remove(s *Sequence) {
	if i := slices.Index(b.running, s); i >= 0 {
		b.running, b.changes = slices.Delete(b.running, i, i+1), slices.Delete(b.changes, i, i+1)
		b.soonest = math.MaxInt
		for _, at := range b.changes {
			b.soonest = min(b.soonest, at)
		}
		b.leave(s)
	}
	b.Withdraw(s)
}

// End has a running sequence end after some more steps, at most the planned ones.
func (b *Batch) End(s *Sequence, steps int) {
	s.Tokens = s.Generated() + steps
	at := &b.changes[slices.Index(b.running, s)]
	*at = b.steps + steps
	b.soonest = min(b.soonest, *at)
}

// Running are the sequences that run, in order of admission, good until the next call.
func (b *Batch) Running() []*Sequence { return b.running }

// Waiting are the sequences that wait to be admitted, in order of arrival, the same.
func (b *Batch) Waiting() []*Sequence { return b.waiting }

// Begin says how long the next k steps take, reading the admitted prompts included; k
// is at most what Next has said. With nothing to run it is 0.
func (b *Batch) Begin(k int) time.Duration {
	return b.timing.Steps(b.load, k) + b.timing.Prefill(b.admitted)
}

// leave takes a sequence that runs no more from the load.
func (b *Batch) leave(s *Sequence) {
	s.made, s.batch = s.Generated(), nil
	b.load.Sequences--
	b.load.Context -= s.Prompt + s.made
	if b.timing.After > 0 && s.made >= b.timing.After {
		b.load.Late--
		b.load.Answers -= s.made
	}
}

// Next admits what there is room for and is the number of steps until a running
// sequence ends or becomes late, 0 with nothing to run. Until then the batch changes
// only by Next, Remove or End: Begin and Advance may take all these steps at once.
func (b *Batch) Next() int {
	if n := min(b.most-len(b.running), len(b.waiting)); n > 0 {
		for _, s := range b.waiting[:n] {
			s.batch, s.from = b, b.steps
			at := max(1, s.Tokens)
			if b.timing.After > 0 {
				at = min(at, b.timing.After)
			}
			at += b.steps
			b.running, b.changes, b.soonest = append(b.running, s), append(b.changes, at), min(b.soonest, at)
			b.load.Sequences++
			b.load.Context += s.Prompt
			b.admitted += s.Prompt
		}
		b.waiting = slices.Delete(b.waiting, 0, n)
	}
	if len(b.running) == 0 {
		return 0
	}
	return b.soonest - b.steps
}

// Advance ends k steps: every running sequence has k more tokens, and complete ones
// leave and are returned. The slice is good until the next call.
func (b *Batch) Advance(k int) (ended []*Sequence) {
	b.admitted = 0
	b.ended = b.ended[:0]
	b.load.Context += k * b.load.Sequences
	b.load.Answers += k * b.load.Late
	b.steps += k
	if b.steps < b.soonest {
		return nil
	}
	kept := 0
	b.soonest = math.MaxInt
	for i, at := range b.changes {
		s := b.running[i]
		if at <= b.steps {
			made := s.Generated()
			if made == b.timing.After {
				b.load.Late++
				b.load.Answers += made
			}
			if made >= s.Tokens {
				b.leave(s)
				b.ended = append(b.ended, s)
				continue
			}
			at = s.from + s.Tokens
		}
		if kept < i {
			b.running[kept] = s
		}
		b.changes[kept], b.soonest = at, min(b.soonest, at)
		kept++
	}
	clear(b.running[kept:])
	b.running, b.changes = b.running[:kept], b.changes[:kept]
	return b.ended
}

// Within is the number of whole steps that are over after a time, at most the planned number
// most.
func (b *Batch) Within(most int, d time.Duration) int {
	d -= b.timing.Prefill(b.admitted)
	return sort.Search(most, func(k int) bool { return b.timing.Steps(b.load, k+1) > d })
}

// Timing is how long one replica takes for a step of its batch: Base +
// Sequence·n + Context·Σcontext + Late·Σlate, and Prompt for every token of a
// prompt that the step admits. Whole nanoseconds make sums exact.
type Timing struct {
	Base     time.Duration `csv:"base_us"`     // of every step
	Sequence time.Duration `csv:"sequence_us"` // for every running sequence
	Context  time.Duration `csv:"context_ns"`  // for every token of prompt and answer that is attended to
	Late     time.Duration `csv:"late_ns"`     // for every token of an answer that has After or more
	After    int           // 0: none is late
	Prompt   time.Duration `csv:"prompt_us"` // for every prompt token, once
	Graphs   bool          // the number of sequences counts as the next CUDA graph size
	Pace     float64       // factor on all of this; 0: 1
}

// Load is the work of a step.
type Load struct {
	Sequences int // that run
	Context   int // tokens of their prompts and answers
	Late      int // sequences whose answers have After tokens or more
	Answers   int // tokens of those answers
}

// Steps is the duration of k steps with the same sequences, with the load of the first;
// without sequences they take no time. Every step adds one token to every sequence.
func (t Timing) Steps(l Load, k int) time.Duration {
	if l.Sequences <= 0 || k <= 0 {
		return 0
	}
	sequences := l.Sequences
	if t.Graphs {
		sequences = graphSize(sequences)
	}
	first := t.Base + t.Sequence*time.Duration(sequences) + t.Context*time.Duration(l.Context) + t.Late*time.Duration(l.Answers)
	growth := t.Context*time.Duration(l.Sequences) + t.Late*time.Duration(l.Late)
	return t.paced(time.Duration(k)*first + growth*time.Duration(k*(k-1)/2))
}

// paced is a time at the pace.
func (t Timing) paced(d time.Duration) time.Duration {
	if t.Pace == 0 {
		return d
	}
	return time.Duration(float64(d) * t.Pace)
}

// Prefill is the additional time of a step that admits prompts of the given tokens.
func (t Timing) Prefill(tokens int) time.Duration { return t.paced(t.Prompt * time.Duration(tokens)) }

// graphSize is the smallest CUDA graph that holds n sequences: vLLM captures 1,
// 2, 4, multiples of 8 to 256, and of 16 to 512, and runs larger batches as
// they are.
func graphSize(n int) int {
	switch {
	case n <= 2 || n > 512:
		return n
	case n <= 4:
		return 4
	case n <= 256:
		return (n + 7) / 8 * 8
	}
	return (n + 15) / 16 * 16
}

// Small is a toy model of two layers on two cores: 1.6 ms a step alone, 6.3 ms
// with 64 sequences, as measured of vLLM 0.23.0's CPU build.
var Small = Timing{Base: 1530 * time.Microsecond, Sequence: 75 * time.Microsecond, Prompt: 20 * time.Microsecond}
