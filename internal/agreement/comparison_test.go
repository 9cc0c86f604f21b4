package agreement

import (
	"math"
	"testing"
)

func TestDifferencesHaveTheNoiseOfBothRuns(t *testing.T) {
	c := Compare(Estimate{0.8760, 0.001}, 0.872, 3, 0)
	if want := math.Sqrt2 * 0.001; math.Abs(*c.SE-want) > 1e-15 {
		t.Errorf("standard error %v, want %v", *c.SE, want)
	}
	if want := (0.004 - 0.0005) / (math.Sqrt2 * 0.001); math.Abs(*c.SEs-want) > 1e-9 {
		t.Errorf("%v standard errors beyond rounding, want %v", *c.SEs, want)
	}
}
