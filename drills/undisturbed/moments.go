package undisturbed

import (
	"time"

	"speceval/internal/seed"
)

// Moments draws when something happens to a run, and to what, from a seed.
type Moments struct{ stream seed.Stream }

// NewMoments are the moments of one kind of fault.
func NewMoments(n uint64, fault string) *Moments {
	return &Moments{seed.Root(n).Child("drills").Child(fault).Stream()}
}

// Within is a random moment of a time span.
func (m *Moments) Within(span time.Duration) time.Duration {
	return time.Duration(m.stream.Float64() * float64(span))
}

// Below is a random number from 0 to n-1.
func (m *Moments) Below(n int) int { return min(n-1, int(m.stream.Float64()*float64(n))) }

// Fraction is a random number from 0 to 1.
func (m *Moments) Fraction() float64 { return m.stream.Float64() }
