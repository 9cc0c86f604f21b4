package fleet

import (
	"math"
	"strings"

	"speceval/internal/scorer/family"
	"speceval/internal/seed"
)

// prose is exactly n bytes of thoughts, or a little less where the last one
// would break a character.
func prose(s *seed.Stream, n int) string {
	if n <= 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(n)
	for b.Len() < n {
		t := family.Thought(s)
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

// ramble is n bytes of prose, the first of endlessly many.
func ramble(s *seed.Stream, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(family.Thought(s))
	}
	return b.String()[:max(0, n)]
}

// lengths is a log-normal number of tokens.
type lengths struct{ median, spread float64 }

// draw draws a number that is factor times as large as those of the law.
func (l lengths) draw(s *seed.Stream, factor float64) int {
	// Box and Muller; 1−u is never 0.
	z := math.Sqrt(-2*math.Log(1-s.Float64())) * math.Cos(2*math.Pi*s.Float64())
	return int(math.Min(factor*l.median*math.Exp(l.spread*z), 1<<20))
}
