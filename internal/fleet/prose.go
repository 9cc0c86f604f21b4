package fleet

import (
	"math"
	"strings"

	"speceval/internal/seed"
)

// thoughts fill answers and thinking. They say nothing about any task, hold no
// box and no code fence, and a few characters beyond ASCII.
var thoughts = [...]string{
	"Let me read the problem once more and write down what is given. ",
	"First I name the unknowns, then I look at how they depend on each other. ",
	"That does not lead anywhere, so I try another way. ",
	"Wait, I have to be careful with the sign here. ",
	"Checking the smallest case by hand gives the same value, which is reassuring. ",
	"If the first condition holds, then x ≤ y, and the second one follows. ",
	"Suppose the opposite; then two of the terms would have to be equal. ",
	"The remaining cases are symmetric, so it is enough to look at one of them. ",
	"Substituting this back, most of the terms cancel. ",
	"It helps to draw a small table of the values. ",
	"So far we have used every assumption but the last. ",
	"Hmm, is that really true for all n? For n = 1 → yes, for n = 2 → yes as well. ",
	"I could also estimate: the result must be positive and not too large. ",
	"Putting both parts together gives the value that is asked for. ",
	"Let me verify this with a different method. ",
	"The units agree, and so does the order of magnitude. ",
	"There might be a shorter way, but this one is safe.\n\n",
	"Now the last step.\n\n",
	"Rewriting it that way makes the structure visible: a sum of two squares. ",
	"This is where most of the work lies. ",
}

// prose is exactly n bytes of thoughts, or a little less where the last one
// would break a character.
func prose(s *seed.Stream, n int) string {
	if n <= 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(n)
	for b.Len() < n {
		t := thoughts[pick(s, len(thoughts))]
		if room := n - b.Len(); len(t) > room {
			t = t[:Complete(t[:room])]
			b.WriteString(t)
			break
		}
		b.WriteString(t)
	}
	return b.String()
}

// exactly is prose of exactly n bytes.
func exactly(s *seed.Stream, n int) string {
	text := prose(s, n)
	return text + strings.Repeat(".", max(0, n-len(text)))
}

// pick is a number from 0 to n−1.
func pick(s *seed.Stream, n int) int { return int(s.Float64() * float64(n)) }

// lengths is a log-normal number of tokens.
type lengths struct{ median, spread float64 }

// draw draws a number that is factor times as large as those of the law.
func (l lengths) draw(s *seed.Stream, factor float64) int {
	// Box and Muller; 1−u is never 0.
	z := math.Sqrt(-2*math.Log(1-s.Float64())) * math.Cos(2*math.Pi*s.Float64())
	return int(math.Min(factor*l.median*math.Exp(l.spread*z), 1<<20))
}
