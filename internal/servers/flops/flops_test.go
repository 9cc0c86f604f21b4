package flops_test

import (
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
	text := "model,theta_core,theta_head,full_attention_layers,attention_width\nm,1.5,2,3,4\n"
	if _, err := flops.Parse([]byte(text), "a.csv"); err == nil || !strings.Contains(err.Error(), `a.csv: row 1: theta_core "1.5" is not`) {
		t.Errorf("error %v", err)
	}
}
