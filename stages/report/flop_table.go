package report

import (
	"math"
	"regexp"
	"slices"

	"speceval/internal/flops"
	"speceval/internal/table"
)

var architectureColumns = []string{"model", "theta_core", "theta_head", "full_attention_layers", "attention_width"}

// flopTable is the paper's Table 7: the coefficients of the FLOP proxy, exact
// in the data, in billions of parameters in print.
func flopTable(archs []flops.Architecture, paper *Targets) Sheet {
	billions := table.Format{Decimals: 6, Scale: 1e-9}
	s := Sheet{Base: "table7_flop_coefficients"}
	s.Data.Columns = names(architectureColumns...)
	if paper != nil {
		for _, c := range architectureColumns[1:] {
			s.Data.Columns = append(s.Data.Columns, table.Column{Name: "paper_" + c})
		}
	}
	s.Print.Columns = []table.Column{
		{Head: table.Head{Plain: "Checkpoint"}, Align: table.Left},
		{Head: table.Head{Plain: "θ core / 10^9", TeX: `$\theta_{\mathrm{core}}/10^9$`}, Format: billions},
		{Head: table.Head{Plain: "θ head / 10^9", TeX: `$\theta_{\mathrm{head}}/10^9$`}, Format: billions},
		{Head: table.Head{Plain: "a", TeX: "$a$"}},
		{Head: table.Head{Plain: "d attn", TeX: `$d_{\mathrm{attn}}$`}},
	}
	for _, a := range archs {
		s.Data.Rows = append(s.Data.Rows, flopRow(a, paper))
		s.Print.Rows = append(s.Print.Rows, []table.Cell{table.Text(modelName(a.Model)),
			table.Number(float64(a.ThetaCore)), table.Number(float64(a.ThetaHead)),
			table.Integer(a.FullAttentionLayers), table.Integer(a.AttentionWidth)})
	}
	s.Print.Label = "tab:systems-flop-coefficients"
	s.Print.Title = "Constants of the FLOP proxy: parameters of the text core and of the output head, " +
		"layers with full attention a, and the width d_attn of their query heads together."
	s.Print.Caption = "Constants of the FLOP proxy: parameters of the text core and of the output head, in billions, " +
		`layers with full attention~$a$, and the width~$d_{\mathrm{attn}}$ of their query heads together.`
	s.Data.Title, s.Data.Label = s.Print.Title, s.Print.Label
	return s
}

func flopRow(a flops.Architecture, paper *Targets) []table.Cell {
	line := []table.Cell{table.Text(a.Model), table.Integer(a.ThetaCore), table.Integer(a.ThetaHead),
		table.Integer(a.FullAttentionLayers), table.Integer(a.AttentionWidth)}
	if paper == nil {
		return line
	}
	i := slices.Index(paper.Table7.Model, a.Model)
	if i < 0 {
		return append(line, table.Missing(), table.Missing(), table.Missing(), table.Missing())
	}
	p := paper.Table7
	return append(line, table.Integer(parameters(p.ThetaCore[i])), table.Integer(parameters(p.ThetaHead[i])),
		table.Integer(p.Layers[i]), table.Integer(p.AttentionWidth[i]))
}

// parameters is a printed number of billions as a count.
func parameters(billions float64) int64 { return int64(math.Round(billions * 1e9)) }

var modelID = regexp.MustCompile(`^qwen(\d+)_(\d+)_(\d+)b$`)

// modelName is a checkpoint as the paper prints it; an identifier of another
// form is its own name.
func modelName(id string) string { return modelID.ReplaceAllString(id, "Qwen$1.$2-${3}B") }
