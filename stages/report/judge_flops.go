package report

import "speceval/internal/flops"

// judgeFLOPs compares Table 7, which has no noise.
func judgeFLOPs(archs []flops.Architecture, paper Targets) []Cell {
	byModel := map[string]flops.Architecture{}
	for _, a := range archs {
		byModel[a.Model] = a
	}
	var cells []Cell
	p := paper.Table7
	for i, model := range p.Model {
		a, ok := byModel[model]
		for _, c := range []struct {
			column          string
			obtained, paper float64
			decimals        int
		}{
			{"theta_core", float64(a.ThetaCore) / 1e9, p.ThetaCore[i], 6},
			{"theta_head", float64(a.ThetaHead) / 1e9, p.ThetaHead[i], 6},
			{"full_attention_layers", float64(a.FullAttentionLayers), float64(p.Layers[i]), 0},
			{"attention_width", float64(a.AttentionWidth), float64(p.AttentionWidth[i]), 0},
		} {
			cell := absent(c.paper, c.decimals, "no such checkpoint is stored")
			if ok {
				cell = compare(Estimate{Value: c.obtained}, c.paper, rule{decimals: c.decimals})
			}
			cells = append(cells, cell.in("table7_flop_coefficients", model, c.column))
		}
	}
	return cells
}
