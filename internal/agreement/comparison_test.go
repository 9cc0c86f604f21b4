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

func TestComparisonsCountFromTheirTolerance(t *testing.T) {
	c := WithinTolerance(0.16, 0.10, 0.01, 0.04, 4)
	if *c.SE != 0.01 || math.Abs(*c.SEs-2) > 1e-9 || *c.Tolerance != 0.04 || c.Verdict != Within {
		t.Errorf("s.e. %v, SEs %v, %s", *c.SE, *c.SEs, c.Verdict)
	}
	if c := WithinTolerance(0.14, 0.10, 0, 0.04, 4); c.SE != nil || c.SEs != nil || c.Verdict != Agrees {
		t.Errorf("without noise: %+v", c)
	}
}
