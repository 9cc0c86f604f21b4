package staged_test

import (
	"math"
	"testing"

	"speceval/method/staged"
)

// TestTwoStagesAreThePapers is Eq. 3 by hand.
func TestTwoStagesAreThePapers(t *testing.T) {
	s, err := staged.New(2, 4, staged.Plan{Pilots: 2, Weight: 0.25, Fractions: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Observe([]int{2, 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.Decide([]float64{0.01, 0.16}); err != nil {
		t.Fatal(err)
	}
	if n := s.Sizes(); n[0] != 1 || n[1] != 3 {
		t.Fatalf("continuations %v, want 1 and 3", n)
	}
	if err := s.Observe([]int{1, 2}); err != nil || !s.Done() {
		t.Fatal(err, s.Done())
	}
	if got, want := s.Mean(), (0.25*1+0.75*1+0.25*0.5+0.75*2/3)/2; math.Abs(got-want) > 1e-15 {
		t.Errorf("mean %v, want %v", got, want)
	}
	if got, want := s.Shrinkage()[1], 0.25*0.25/2+0.75*0.75/3; math.Abs(got-want) > 1e-15 {
		t.Errorf("shrinkage %v, want %v", got, want)
	}
}
