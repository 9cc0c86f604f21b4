package given

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/agreement"
	"speceval/internal/checkpoint"
	"speceval/internal/flops"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// FLOPs is the paper's Table 7: the coefficients of the FLOP proxy, exact in CSV,
// in billions of parameters in print.
var FLOPs = &model.Table{
	Base: paper.FLOPs, Section: paper.FLOPs, Label: "tab:systems-flop-coefficients",
	Reads:   stored.Reads{Architectures: true, Paper: true},
	Chapter: "Designs and constants",
	Remarks: []string{`<ref table7_flop_coefficients> has the constants by which tokens become FLOPs, counted from the shapes of the checkpoints.`},
	Make:    makeFLOPs,
}

// counted are the constants of the FLOP proxy, each checkpoint's counted from its
// shape where that is known. A count that is not the constant by which tokens become
// FLOPs is an error.
func counted(constants []flops.Architecture) ([]flops.Architecture, error) {
	all := slices.Clone(constants)
	for i, a := range all {
		shape, known := checkpoint.Find(a.Model)
		if !known {
			continue
		}
		if all[i] = shape.Architecture(); all[i] != a {
			return nil, fmt.Errorf("%s: %s has the constants %+v, and its shape counts %+v", stored.ArchitecturesFile, a.Model, a, all[i])
		}
	}
	return all, nil
}

// classOfShape is computed where the shape of a checkpoint is known.
func classOfShape(key paper.Key) agreement.Class {
	if _, known := checkpoint.Find(key.Model); known {
		return agreement.Computed
	}
	return agreement.Copied
}

func makeFLOPs(src *stored.Source) (*model.Sheet, error) {
	constants, err := src.Architectures()
	if err != nil {
		return nil, err
	}
	rows, err := counted(constants)
	if err != nil {
		return nil, err
	}
	numbers, err := src.Paper()
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{
		Rows: len(rows),
		Title: "Constants of the FLOP proxy: parameters of the text core and of the output head, " +
			"layers with full attention a, and the width d_attn of their query heads together.",
		Caption: "Constants of the FLOP proxy: parameters of the text core and of the output head, in billions, " +
			`layers with full attention~$a$, and the width~$d_{\mathrm{attn}}$ of their query heads together.`,
	}
	s.Key = func(i int) paper.Key { return paper.Key{Model: rows[i].Model} }
	s.Lack = model.IfAbsent("no such checkpoint is stored")
	key := model.NameKey(model.ByModel, "model", "The checkpoint.", func(i int) string { return rows[i].Model })
	key.Head = table.Head{Plain: "Checkpoint"}
	key.Shown = func(i int) table.Cell { return table.Text(model.ModelName(rows[i].Model)) }
	// of is a column of a constant, which the paper prints in the given unit.
	of := func(name string, head table.Head, words string, unit float64, decimals int, value func(flops.Architecture) int64) model.Column {
		c := model.Column{Name: name, Head: head, Words: words, Cell: model.Counts(func(i int) int64 { return value(rows[i]) })}
		c.Rule = &model.Rule{Where: "Table 7", Decimals: decimals, ClassOf: classOfShape,
			Estimate: func(i int) agreement.Estimate { return agreement.Estimate{Value: float64(value(rows[i])) / unit} },
			Cell: func(key paper.Key) table.Cell {
				if v, ok := numbers.At(paper.FLOPs, name, key); ok {
					return table.Integer(int64(math.Round(v * unit)))
				}
				return table.Missing()
			}}
		if unit != 1 {
			c.Format = table.Format{Decimals: decimals, Scale: 1 / unit}
			c.Shown = func(i int) table.Cell { return table.Number(float64(value(rows[i]))) }
		}
		return c
	}
	s.Add(key,
		of("theta_core", table.Head{Plain: "θ core / 10^9", TeX: `$\theta_{\mathrm{core}}/10^9$`},
			"«θ_core¦\\theta_{\\mathrm{core}}» of the FLOP proxy (Eq. 23): parameters of the text core, without embeddings, output head, vision and multi-token prediction, counted from the shape of the checkpoint.",
			1e9, 6, func(a flops.Architecture) int64 { return a.ThetaCore }),
		of("theta_head", table.Head{Plain: "θ head / 10^9", TeX: `$\theta_{\mathrm{head}}/10^9$`},
			"«θ_head¦\\theta_{\\mathrm{head}}» of the FLOP proxy (Eq. 23): parameters of the output projection, the embedding matrix where weights are tied: the size of the vocabulary times the width of the checkpoint.",
			1e9, 6, func(a flops.Architecture) int64 { return a.ThetaHead }),
		of("full_attention_layers", table.Head{Plain: "a", TeX: "$a$"}, "«a» of the FLOP proxy (Eq. 23): layers with full attention, by the shape of the checkpoint.",
			1, 0, func(a flops.Architecture) int64 { return a.FullAttentionLayers }),
		of("attention_width", table.Head{Plain: "d attn", TeX: `$d_{\mathrm{attn}}$`}, "«d_attn¦d_{\\mathrm{attn}}» of the FLOP proxy (Eq. 23): query heads times their dimension, by the shape of the checkpoint.",
			1, 0, func(a flops.Architecture) int64 { return a.AttentionWidth }))
	return s, nil
}
