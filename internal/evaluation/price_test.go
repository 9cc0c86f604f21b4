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
