package experiment

import (
	"testing"

	"speceval/internal/flops"
	"speceval/pipeline/config"
)

func TestOwnModelsBringTheirCoefficients(t *testing.T) {
	cfg := &config.Config{Models: []config.Model{
		{ID: "mine", ThetaCore: 5, ThetaHead: 6, FullAttentionLayers: 7, AttentionWidth: 8},
		{ID: "qwen2_5_3b"},
	}}
	all, err := architectures(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if want := (flops.Architecture{Model: "mine", ThetaCore: 5, ThetaHead: 6, FullAttentionLayers: 7, AttentionWidth: 8}); all[0] != want {
		t.Errorf("%+v comes first, want %+v", all[0], want)
	}
	if len(all) != 7 {
		t.Errorf("%d architectures, want the paper's six and one", len(all))
	}
}
