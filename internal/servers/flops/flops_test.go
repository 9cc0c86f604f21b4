package flops_test

import (
	"fmt"
	"strings"
	"testing"

	"speceval/internal/servers/flops"
)

func TestProxyFollowsTheFormula(t *testing.T) {
	a := flops.Architecture{Model: "m", ThetaCore: 1000, ThetaHead: 100, FullAttentionLayers: 3, AttentionWidth: 7}
	// Q = 5, C = 3: 2·1000·5 + 2·100·3 + 2·3·7·5·6.
	if got := a.Request(2, 3); got != 10_000+600+1260 {
		t.Errorf("got %v, want 11860", got)
	}
	if got := a.Request(0, 0); got != 0 {
		t.Errorf("no tokens cost %v", got)
	}
}

func TestFaultsNameFileAndRow(t *testing.T) {
	const header = "model,theta_core,theta_head,full_attention_layers,attention_width\n"
	cases := map[string]string{
		header:                                   "a.csv: there are no rows",
		"model\n":                                "a.csv: column theta_core is missing",
		header + "m,1,2,3,4\nn,1,0,3,4\n":        `a.csv: row 2: {Model:n ThetaCore:1 ThetaHead:0`,
		header + "m,1.5,2,3,4\n":                 `a.csv: row 1: theta_core "1.5" is not`,
		header + "m,1,2,3,4\nm,1,2,3,4\n":        `a.csv: row 2: model "m" is empty or there twice`,
		header + "m,9223372036854775808,2,3,4\n": `a.csv: row 1: theta_core`,
	}
	for text, want := range cases {
		if _, err := flops.Parse([]byte(text), "a.csv"); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: error %q, want one with %q", text, fmt.Sprint(err), want)
		}
	}
}
