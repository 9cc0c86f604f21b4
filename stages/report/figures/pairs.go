package figures

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"speceval/internal/figure"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Pairs is the paper's Figure 1: how HBN's variance ratio spreads over the
// evaluated profiles, by budget.
var Pairs = &Figure{
	Base:    pairsBase,
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef}},
	Chapter: "Variance",
	Remarks: []string{`<ref figure1_pair_distribution> shows the profiles behind the means.`},
	Make:    makePairs,
}

const pairsBase = "figure1_pair_distribution"

func makePairs(src *stored.Source) (figure.Figure, error) {
	ratios, err := src.Ratios()
	if err != nil {
		return figure.Figure{}, err
	}
	if len(ratios) == 0 && slices.Contains(src.Lacking(), stored.RatiosRef.Stage) {
		return pairsFrame(figure.Panel{Instead: variance.NotReplayed}), nil
	}
	return drawPairs(ratios)
}

// pairsFrame is the figure without its points.
func pairsFrame(p figure.Panel) figure.Figure {
	f := figure.Figure{
		Base: pairsBase, Label: "fig:pair-distribution", Width: columnWidth, Height: 172,
		Title: "Variance of HBN relative to Uniform, by profile and budget", Panels: [][]figure.Panel{{p}},
	}
	f.Caption = f.Title + "."
	f.Data = table.Table{Title: f.Title, Label: f.Label, Columns: table.Named("benchmark", "model", "budget", "variance_ratio", "ratio_se",
		"budget_profiles", "budget_q1", "budget_median", "budget_q3", "budget_mean")}
	return f
}

func drawPairs(ratios []variance.Ratio) (figure.Figure, error) {
	all := slices.DeleteFunc(slices.Clone(ratios), func(r variance.Ratio) bool { return r.Policy != policy.HBN.Name })
	if len(all) == 0 {
		return figure.Figure{}, errors.New("figure 1: there is no ratio of HBN among the stored ones; run the replay stage again")
	}
	f := pairsFrame(figure.Panel{})
	p := figure.Panel{
		X:      figure.Axis{Label: budgetAxis, Ticks: []figure.Tick{}, Tight: true},
		Y:      figure.Axis{Label: "Variance of HBN / variance of Uniform", Cover: []float64{1}},
		Legend: figure.Above,
		Series: []figure.Series{figure.Level{At: 1, Name: "Uniform", Style: figure.Style{Dash: figure.Dashed, Width: 0.8}}},
	}
	var profiles []int
	for i, b := range variance.Budgets(all) {
		rows := variance.Pick(all, policy.HBN, b)
		profiles = append(profiles, len(rows))
		q := addPairs(&p, float64(i), b, rows)
		for _, r := range rows {
			f.Data.Rows = append(f.Data.Rows, []table.Cell{table.Text(r.Benchmark), table.Text(r.Model), table.Integer(r.Budget),
				table.Number(r.VarianceRatio), table.Number(r.RatioSE), table.Integer(len(rows)),
				table.Number(q.low), table.Number(q.median), table.Number(q.high), table.Number(q.mean)})
		}
	}
	addWorst(&p, all)
	f.Panels = [][]figure.Panel{{p}}
	f.Title = "Variance of HBN relative to Uniform on " + model.Between(profiles) + " profiles, by budget"
	f.Data.Title = f.Title
	f.Caption = `Variance of HBN relative to Uniform on each of ` + model.Between(profiles) + ` benchmark--checkpoint profiles, by average ` +
		`budget~$b$. Points are profiles, boxes their quartiles and median, diamonds their mean; on the dashed line ` +
		`HBN would be no better than Uniform.`
	return f, nil
}

// quartiles are what a box shows of some values: quartiles, interpolated between
// neighbours as most programs do, and the mean.
type quartiles struct{ low, median, high, mean float64 }

func newQuartiles(values []float64) quartiles {
	sorted := slices.Sorted(slices.Values(values))
	at := func(part float64) float64 { return variance.Quantile(sorted, part) }
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	return quartiles{at(0.25), at(0.5), at(0.75), sum / float64(len(sorted))}
}

// addPairs adds the points and the box of a budget.
func addPairs(p *figure.Panel, x float64, budget int32, rows []variance.Ratio) quartiles {
	values := make([]float64, len(rows))
	s := figure.Swarm{Name: "profile", X: x, Half: 0.44, Style: figure.Style{Ink: figure.SkyBlue, Marker: figure.Circle, Size: 1.3}}
	for i, r := range rows {
		values[i] = r.VarianceRatio
		s.At = append(s.At, figure.Point{Y: r.VarianceRatio, Title: fmt.Sprintf("%s, b = %d: %.4f ± %.4f", printed(r), budget, r.VarianceRatio, r.RatioSE)})
	}
	q := newQuartiles(values)
	p.Series = append(p.Series, s, figure.Box{
		At: x, Half: 0.2, Low: q.low, Median: q.median, High: q.high, Mean: q.mean,
		Title:     fmt.Sprintf("b = %d: quartiles %.4f and %.4f, median %.4f", budget, q.low, q.high, q.median),
		MeanTitle: fmt.Sprintf("b = %d: mean of %d profiles %.4f", budget, len(rows), q.mean),
	})
	p.X.Ticks = append(p.X.Ticks, figure.Tick{At: x, Label: fmt.Sprint(budget)})
	p.X.Cover = append(p.X.Cover, x-0.5, x+0.5)
	return q
}

// addWorst names the profile with the largest ratio, if that is worse than
// Uniform.
func addWorst(p *figure.Panel, all []variance.Ratio) {
	worst := slices.MaxFunc(all, func(a, b variance.Ratio) int { return cmp.Compare(a.VarianceRatio, b.VarianceRatio) })
	if worst.VarianceRatio <= 1 {
		return
	}
	i := slices.Index(variance.Budgets(all), worst.Budget)
	p.Notes = append(p.Notes, figure.Note{X: float64(i), Y: worst.VarianceRatio, Text: printed(worst), Align: figure.Start, Right: 4, Up: 2})
}

// printed is the profile of a ratio as the paper prints it.
func printed(r variance.Ratio) string { return r.Benchmark + ", " + model.ModelName(r.Model) }
