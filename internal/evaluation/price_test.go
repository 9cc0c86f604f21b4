package evaluation

import (
	"math"
	"testing"
)

func TestPrices(t *testing.T) {
	for text, want := range map[string]*Price{
		"0.15/0.60": {0.15, 0.6}, "0/0.001": {0, 0.001},
		"": nil, "1": nil, "1/2/3": nil, "-1/1": nil, "1/0": nil, "1/1e-300": nil, "NaN/1": nil, "1/Inf": nil, "1e6/1": nil,
	} {
		p, err := ParsePrice(text)
		if (err == nil) != (want != nil) || want != nil && *p != *want {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}

// The largest limit in dollars by the least price is no overflow.
func TestLimitsInDollars(t *testing.T) {
	for _, c := range []struct {
		dollars float64
		price   *Price
		want    float64
	}{
		{2, &Price{1, 4}, 500_000},
		{2, nil, 2_000_000}, // millionths, which another program counts
		{1e-9, &Price{1, 4}, 1},
		{1e9, &Price{1, least}, 1e18},
	} {
		s := &Setup{Stop: &Stop{Dollars: c.dollars}, Price: c.price}
		if got := float64(s.Limit()); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%v dollars by %v: %v tokens, want %v", c.dollars, c.price, got, c.want)
		}
	}
}
