package evaluation

import (
	"math"
	"testing"

	"speceval/internal/evaluation/ledger"
)

// The largest limit in dollars by the least price is no overflow.
func TestLimitsInDollars(t *testing.T) {
	for _, c := range []struct {
		dollars float64
		price   *ledger.Price
		want    float64
	}{
		{2, &ledger.Price{Prompt: 1, Completion: 4}, 500_000},
		{2, nil, 2_000_000}, // millionths, which another program counts
		{1e-9, &ledger.Price{Prompt: 1, Completion: 4}, 1},
		{1e9, &ledger.Price{Prompt: 1, Completion: ledger.LeastPrice}, 1e18},
	} {
		s := &Setup{Head: Head{Stop: &Stop{Dollars: c.dollars}}, Price: c.price}
		if got := float64(s.Limit()); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%v dollars by %v: %v tokens, want %v", c.dollars, c.price, got, c.want)
		}
	}
}

// TestIdlePlaces has two places. Between the last pilot and the allocation, which are four seconds
// apart, one place is empty for three seconds and the other for one.
func TestIdlePlaces(t *testing.T) {
	four, two := 4.0, 2.0
	rows := []Request{
		{Session: 1, Phase: "pilot", Submitted: 0, Finished: &four}, {Session: 1, Phase: "pilot", Submitted: 1, Finished: &two},
		{Session: 0, Phase: "pilot", Submitted: 3, Finished: &four}, {Session: 1, Phase: "continuation", Submitted: 2},
	}
	if got := idle(rows, 1, 5, 2); math.Abs(got-2) > 1e-12 {
		t.Errorf("%v seconds, want 2 on average", got)
	}
	if got := idle(rows, 1, 1, 2); got != 0 {
		t.Errorf("%v seconds of an allocation that was there, want 0", got)
	}
}
