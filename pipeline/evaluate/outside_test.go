package evaluate

import (
	"errors"
	"testing"

	"speceval/internal/protocol"
)

// TestSetupsOfOtherProgramsNameTheirFaults asks for evaluations that cannot be.
func TestSetupsOfOtherProgramsNameTheirFaults(t *testing.T) {
	o := outside(t)
	two := []string{"a", "b"}
	if s, _, err := o.Setup(protocol.Start{Tasks: two, Budget: 8, Weights: []float64{1, 3}, Rounds: 32}); err != nil || s.Shares[1] != 0.75 || s.Design.Rounds != 32 {
		t.Errorf("%+v, %v", s, err)
	}
	for field, m := range map[string]protocol.Start{
		"tasks":      {Tasks: two[:1], Budget: 8},
		"tasks[1]":   {Tasks: []string{"a", "a"}, Budget: 8},
		"start":      {Tasks: two},
		"budget":     {Tasks: two, Budget: 1},
		"target_se":  {Tasks: two, TargetSE: -1},
		"prior":      {Tasks: two, Budget: 8, Prior: []string{"nowhere.eval"}},
		"policy":     {Tasks: two, Budget: 8, Policy: "hbn_informed"},
		"stages":     {Tasks: two, Budget: 8, Stages: 1},
		"rounds":     {Tasks: two, Budget: 8, Rounds: 8},
		"weights":    {Tasks: two, Budget: 8, Weights: []float64{1}},
		"weights[1]": {Tasks: two, Budget: 8, Weights: []float64{1, -1}},
		"weights[0]": {Tasks: two, Budget: 8, Weights: []float64{1e308, 1e308}},
		"clusters":   {Tasks: two, Budget: 8, Clusters: []string{"x"}},
		"donors[0]":  {Tasks: two, Budget: 8, Donors: []protocol.Donor{{Rollouts: []int{4, 4}, Passes: []int{4, 5}}}},
	} {
		_, _, err := o.Setup(m)
		var fault *protocol.FieldError
		if !errors.As(err, &fault) || fault.Field != field {
			t.Errorf("%+v: %v, want a fault of %s", m, err, field)
		}
	}
}
