package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"speceval/internal/figure"
	"speceval/internal/table"
	"speceval/internal/variance"
)

// How the policies look, in every figure.
var policyStyle = map[string]figure.Style{
	variance.Uniform: {Ink: figure.Black, Dash: figure.Dashed, Marker: figure.Square, Size: 1.7},
	variance.HBN:     {Ink: figure.Blue, Marker: figure.Circle, Size: 2},
	variance.Oracle:  {Ink: figure.Vermilion, Dash: figure.Dotted, Marker: figure.Triangle, Size: 2, Width: 1.2},
}

// columnWidth is that of a column of a two-column paper, in points.
const columnWidth = 240

// boxStats is what a box shows of some values: quartiles, interpolated between
// neighbours as most programs do, and the mean.
type boxStats struct{ low, median, high, mean float64 }

func newBoxStats(values []float64) boxStats {
	sorted := slices.Sorted(slices.Values(values))
	at := func(part float64) float64 {
		place := part * float64(len(sorted)-1)
		i := int(math.Floor(place))
		next := min(i+1, len(sorted)-1)
		return sorted[i] + float64((sorted[next]-sorted[i])*(place-float64(i)))
	}
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	return boxStats{at(0.25), at(0.5), at(0.75), sum / float64(len(sorted))}
}

// pairFigure is the paper's Figure 1: how HBN's variance ratio spreads over the
// evaluated profiles, by budget.
func pairFigure(ratios []variance.Ratio) (figure.Figure, error) {
	all := ofPolicy(ratios, variance.HBN)
	if len(all) == 0 {
		return figure.Figure{}, errors.New("figure 1: there is no ratio of HBN among the stored ones; run the replay stage again")
	}
	f := pairsFrame(figure.Panel{})
	p := figure.Panel{
		X:      figure.Axis{Label: "Rollouts per task, " + figure.Italic("b"), Ticks: []figure.Tick{}, Tight: true},
		Y:      figure.Axis{Label: "Variance of HBN / variance of Uniform", Cover: []float64{1}},
		Legend: figure.Above,
	}
	p.Series = append(p.Series, figure.Level{At: 1, Name: "Uniform", Style: figure.Style{Dash: figure.Dashed, Width: 0.8}})
	var fewest, most int
	for i, b := range budgets(all) {
		rows := pick(all, variance.HBN, b)
		stats := addPairs(&p, float64(i), b, rows)
		for _, r := range rows {
			f.Data.Rows = append(f.Data.Rows, []table.Cell{table.Text(r.Benchmark), table.Text(r.Model), table.Integer(r.Budget),
				table.Number(r.VarianceRatio), table.Number(r.RatioSE), table.Integer(len(rows)),
				table.Number(stats.low), table.Number(stats.median), table.Number(stats.high), table.Number(stats.mean)})
		}
		if i == 0 || len(rows) < fewest {
			fewest = len(rows)
		}
		most = max(most, len(rows))
	}
	addWorst(&p, all)
	f.Panels = [][]figure.Panel{{p}}
	profiles := between([]int{fewest, most})
	f.Title = "Variance of HBN relative to Uniform on " + profiles + " profiles, by budget"
	f.Data.Title = f.Title
	f.Caption = `Variance of HBN relative to Uniform on each of ` + profiles + ` benchmark--checkpoint profiles, by average ` +
		`budget~$b$. Points are profiles, boxes their quartiles and median, diamonds their mean; on the dashed line ` +
		`HBN would be no better than Uniform.`
	return f, nil
}

// pairsFrame is Figure 1 without its points.
func pairsFrame(p figure.Panel) figure.Figure {
	f := figure.Figure{
		Base: "figure1_pair_distribution", Label: "fig:pair-distribution", Width: columnWidth, Height: 172,
		Title: "Variance of HBN relative to Uniform, by profile and budget", Panels: [][]figure.Panel{{p}},
	}
	f.Caption, f.Data.Title, f.Data.Label = f.Title+".", f.Title, f.Label
	f.Data.Columns = names("benchmark", "model", "budget", "variance_ratio", "ratio_se",
		"budget_profiles", "budget_q1", "budget_median", "budget_q3", "budget_mean")
	return f
}

// ofPolicy is the ratios of a policy at all budgets.
func ofPolicy(ratios []variance.Ratio, policy string) []variance.Ratio {
	return slices.DeleteFunc(slices.Clone(ratios), func(r variance.Ratio) bool { return r.Policy != policy })
}

// addPairs adds the points and the box of a budget.
func addPairs(p *figure.Panel, x float64, budget int32, rows []variance.Ratio) boxStats {
	values := make([]float64, len(rows))
	s := figure.Swarm{Name: "profile", X: x, Half: 0.44, Style: figure.Style{Ink: figure.SkyBlue, Marker: figure.Circle, Size: 1.3}}
	for i, r := range rows {
		values[i] = r.VarianceRatio
		s.At = append(s.At, figure.Point{Y: r.VarianceRatio,
			Title: fmt.Sprintf("%s, b = %d: %.4f ± %.4f", profileName(r), budget, r.VarianceRatio, r.RatioSE)})
	}
	stats := newBoxStats(values)
	p.Series = append(p.Series, s, figure.Box{
		At: x, Half: 0.2, Low: stats.low, Median: stats.median, High: stats.high, Mean: stats.mean,
		Title:     fmt.Sprintf("b = %d: quartiles %.4f and %.4f, median %.4f", budget, stats.low, stats.high, stats.median),
		MeanTitle: fmt.Sprintf("b = %d: mean of %d profiles %.4f", budget, len(rows), stats.mean),
	})
	p.X.Ticks = append(p.X.Ticks, figure.Tick{At: x, Label: fmt.Sprint(budget)})
	p.X.Cover = append(p.X.Cover, x-0.5, x+0.5)
	return stats
}

// addWorst names the profile with the largest ratio, if that is worse than
// Uniform.
func addWorst(p *figure.Panel, all []variance.Ratio) {
	worst := slices.MaxFunc(all, func(a, b variance.Ratio) int { return cmp.Compare(a.VarianceRatio, b.VarianceRatio) })
	if worst.VarianceRatio <= 1 {
		return
	}
	i := slices.Index(budgets(all), worst.Budget)
	p.Notes = append(p.Notes, figure.Note{X: float64(i), Y: worst.VarianceRatio, Text: profileName(worst), Align: figure.Start, Right: 4, Up: 2})
}
