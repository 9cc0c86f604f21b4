package figures

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/figure"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Pairs is the paper's Figure 1: how HBN's variance ratio spreads over the
// evaluated profiles, by budget.
var Pairs = &Figure{&model.Table{
	Base: "figure1_pair_distribution", Label: "fig:pair-distribution",
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef}},
	Chapter: "Variance",
	Remarks: []string{`<ref figure1_pair_distribution> shows the profiles behind the means.`},
}, func(src *stored.Source) (figure.Figure, error) {
	ratios, err := stored.Ratios(src)
	if err != nil {
		return figure.Figure{}, err
	}
	return drawPairs(ratios, len(ratios) == 0 && slices.Contains(src.Lacking(), stored.RatiosRef.Stage))
}}

func drawPairs(ratios []variance.Ratio, absent bool) (figure.Figure, error) {
	f := newFigure(columnWidth, 172, "Variance of HBN relative to Uniform, by profile and budget",
		"benchmark", "model", "budget", "variance_ratio", "ratio_se", "budget_profiles", "budget_q1", "budget_median", "budget_q3", "budget_mean")
	f.Caption = f.Title + "."
	p := figure.NewPanel("", budgetAxis, "Variance of HBN / variance of Uniform")
	f.Panels = [][]*figure.Panel{{p}}
	if absent {
		p.Instead(variance.NotReplayed)
		return f, nil
	}
	all := slices.DeleteFunc(slices.Clone(ratios), func(r variance.Ratio) bool { return r.Policy != policy.HBN.Name })
	if len(all) == 0 {
		return f, errors.New("figure 1: there is no ratio of HBN among the stored ones; run the replay stage again")
	}
	worst := slices.MaxFunc(all, func(a, b variance.Ratio) int { return cmp.Compare(a.VarianceRatio, b.VarianceRatio) })
	least := slices.MinFunc(all, func(a, b variance.Ratio) int { return cmp.Compare(a.VarianceRatio, b.VarianceRatio) })
	figure.Cover(&p.Y, 1, worst.VarianceRatio, least.VarianceRatio)
	var profiles []int
	var budgets plot.ConstantTicks
	for i, b := range variance.Budgets(all) {
		rows := variance.Pick(all, policy.HBN, b)
		profiles = append(profiles, len(rows))
		budgets = append(budgets, plot.Tick{Value: float64(i), Label: fmt.Sprint(b)})
		q := addPairs(p, float64(i), rows)
		for _, r := range rows {
			addRow(&f, r.Benchmark, r.Model, r.Budget, r.VarianceRatio, r.RatioSE, int64(len(rows)), q.low, q.median, q.high, q.mean)
		}
	}
	p.X.Tick.Marker = budgets
	first, last := -0.5, float64(len(budgets))-0.5
	p.Series("", "", figure.Style{Ink: figure.Black, Dash: figure.Dashed, Width: 0.8}, plotter.XYs{{X: first, Y: 1}, {X: last, Y: 1}})
	p.Note(policy.Uniform.Label, draw.XLeft, first, 1, 5)
	if worst.VarianceRatio > 1 {
		name, at, side, aside := []rune(model.ProfileTitle(worst.Benchmark, worst.Model)), slices.Index(variance.Budgets(all), worst.Budget), draw.XLeft, 0.08
		if len(name) > longName {
			name = append(name[:longName-1], '…')
		}
		if 2*at > len(budgets)-1 { // towards the middle, where there is room
			side, aside = draw.XRight, -aside
		}
		p.Note(string(name), side, float64(at)+aside, worst.VarianceRatio, 3)
	}
	f.Title = "Variance of HBN relative to Uniform on " + model.Between(profiles) + " profiles, by budget"
	f.Data.Title = f.Title
	f.Caption = `Variance of HBN relative to Uniform on each of ` + model.Between(profiles) + ` benchmark–checkpoint profiles, by average ` +
		`budget b. Points are profiles, boxes their quartiles and median, circles their mean; on the dashed line ` +
		`HBN would be no better than Uniform.`
	return f, nil
}

// longName is how many letters of the name of a profile fit in the figure.
const longName = 40

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
func addPairs(p *figure.Panel, x float64, rows []variance.Ratio) quartiles {
	var values []float64
	var at plotter.XYs
	rows = slices.SortedStableFunc(slices.Values(rows), func(a, b variance.Ratio) int { return cmp.Compare(a.VarianceRatio, b.VarianceRatio) })
	for _, r := range rows {
		values = append(values, r.VarianceRatio)
		at = append(at, plotter.XY{X: x, Y: r.VarianceRatio})
	}
	for i, aside := range swarm(values, (p.Y.Max-p.Y.Min)/45, 0.058) {
		at[i].X += aside
	}
	p.Series("", "", figure.Style{Ink: figure.SkyBlue, Marker: draw.CircleGlyph{}, Size: 1.3}, at)
	q := newQuartiles(values)
	box := &plotter.BoxPlot{Width: 22, BoxStyle: draw.LineStyle{Color: figure.Black, Width: 0.7}, MedianStyle: draw.LineStyle{Color: figure.Black, Width: 1.5}}
	box.Location, box.Quartile1, box.Median, box.Quartile3 = x, q.low, q.median, q.high
	box.AdjLow, box.AdjHigh, box.Min, box.Max = q.low, q.high, q.low, q.high
	p.Add(box)
	p.Series("", "", figure.Style{Ink: figure.Black, Marker: figure.Hollow(draw.CircleGlyph{}), Size: 2.4}, plotter.XYs{{X: x, Y: q.mean}})
	return q
}

// swarm is how far aside each of some discs goes for none to cover another, given
// their rising heights and the height and the width of a disc: as little as those
// before it allow, to the right and to the left by turns.
func swarm(ys []float64, high, wide float64) []float64 {
	aside := make([]float64, len(ys))
	for i := range ys {
		covers := true
		for k := 0; covers && k < 130; k++ {
			aside[i] = float64((k+1)/2*(1-2*((k+i)%2))) * wide / 8
			covers = false
			for j := i - 1; j >= 0 && ys[i]-ys[j] < high && !covers; j-- {
				covers = math.Hypot((aside[i]-aside[j])/wide, (ys[i]-ys[j])/high) < 1
			}
		}
	}
	return aside
}
