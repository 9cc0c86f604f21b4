package ledger_test

import (
	"testing"

	"speceval/internal/evaluation/ledger"
)

func TestPrices(t *testing.T) {
	for text, want := range map[string]*ledger.Price{
		"0.15/0.60": {0.15, 0.6}, "0/0.001": {0, 0.001},
		"": nil, "1": nil, "1/2/3": nil, "-1/1": nil, "1/0": nil, "1/1e-300": nil, "NaN/1": nil, "1/Inf": nil, "1e6/1": nil,
	} {
		p, err := ledger.ParsePrice(text)
		if (err == nil) != (want != nil) || want != nil && *p != *want {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}
