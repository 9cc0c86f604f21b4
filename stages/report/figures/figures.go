// Package figures is the figures of the report, a value each, and the
// list of all of them.
package figures

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"speceval/internal/figure"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Figure is a figure of the report: what it is called, what it is made of, and how.
type Figure struct {
	Base  string // file name in figures/, without extension
	Reads stored.Reads

	// Has reports whether an experiment has the figure; nil: every one.
	Has func(*stored.Settings) bool

	// Chapter is the section of the document that shows the figure, and Remarks are
	// sentences before it, as latex.prose reads them.
	Chapter string
	Remarks []string
	Judged  string // what the verdicts beneath it call it; Base where empty

	// Make draws the figure of stored results; what is not there leaves words in
	// place of a panel.
	Make func(*stored.Source) (figure.Figure, error)
}

// All is every figure that the report knows, in the paper's order.
var All = []*Figure{Pairs, Case, Policies, Spread}

// Of is the figures that an experiment has.
func Of(s *stored.Settings) (figures []*Figure) {
	for _, f := range All {
		if f.Has == nil || f.Has(s) {
			figures = append(figures, f)
		}
	}
	return figures
}

// Widths of a column and of a page of a two-column paper, in points.
const (
	columnWidth = 240
	pageWidth   = 468
)

// styles are how the policies look, in every figure.
var styles = map[*policy.Policy]figure.Style{
	policy.Uniform: {Ink: figure.Black, Dash: figure.Dashed, Marker: figure.Square, Size: 1.7},
	policy.HBN:     {Ink: figure.Blue, Marker: figure.Circle, Size: 2},
	policy.Oracle:  {Ink: figure.Vermilion, Dash: figure.Dotted, Marker: figure.Triangle, Size: 2, Width: 1.2},
}

// budgetAxis is the label of an axis of budgets.
var budgetAxis = "Rollouts per task, " + figure.Italic("b")

// byPasses is the tasks of a profile in rising order of their passes.
func byPasses(p profile.Profile) []int {
	order := make([]int, p.N())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.PassCounts[a], p.PassCounts[b]) })
	return order
}

// Spread is how sampled profiles spread, and how long their responses are.
var Spread = &Figure{
	Base:    spreadBase,
	Reads:   stored.Reads{Units: []dag.Ref{stored.LengthsRef}, Profiles: true},
	Has:     func(s *stored.Settings) bool { return len(s.Live.Rollouts) > 0 },
	Chapter: "The sampled profiles",
	Make: func(src *stored.Source) (figure.Figure, error) {
		profiles, err := src.Profiles()
		if err != nil {
			return figure.Figure{}, err
		}
		lengths, err := src.Lengths()
		return drawSpread(profiles, lengths), err
	},
}

const spreadBase = "figure_profile_spread"

// fewLines is how many profiles a figure tells apart; more are drawn alike.
const fewLines = 5

// lineStyles are those of the profiles of a figure, in their order.
var lineStyles = [fewLines]figure.Style{
	{Ink: figure.Blue, Width: 1.2}, {Ink: figure.Vermilion, Dash: figure.Dashed, Width: 1.2}, {Ink: figure.Black, Dash: figure.Dotted, Width: 1.2},
	{Ink: figure.SkyBlue, Width: 1.2}, {Ink: figure.Grey, Dash: figure.Dashed, Width: 1.2},
}

func drawSpread(profiles []profile.Profile, lengths map[[2]string]rollout.Lengths) figure.Figure {
	f := figure.Figure{
		Base: spreadBase, Label: "fig:profile-spread", Width: 2 * columnWidth, Height: 190,
		Title:   "Pass probabilities of the tasks, and lengths of the responses",
		Caption: `The sampled profiles. (a) Pass probabilities of the tasks, in rising order. (b) How many of the responses are longer than so many tokens; both axes are logarithmic.`,
	}
	f.Data = table.Table{Title: f.Title, Columns: table.Named("panel", "benchmark", "model", "x", "y")}
	first := figure.Panel{
		Title: "(a) Task probabilities", X: figure.Axis{Label: "Share of the tasks", Cover: []float64{0, 1}},
		Y: figure.Axis{Label: "Pass probability", Cover: []float64{0, 1}}, Legend: figure.TopLeft,
	}
	second := figure.Panel{
		Title: "(b) Response lengths", X: figure.Axis{Label: "Tokens of a response", Log: true},
		Y: figure.Axis{Label: "Share of longer responses", Log: true},
	}
	least := 1.0 // share of panel (b)
	for i, p := range profiles {
		style, name := lineStyles[0], ""
		if len(profiles) <= fewLines {
			style, name = lineStyles[i], p.Name()
		}
		add := func(panel *figure.Panel, letter, name string, at []figure.Point) {
			if len(at) == 0 {
				return
			}
			panel.Series = append(panel.Series, figure.Line{Name: name, Style: style, At: at})
			for _, point := range at {
				f.Data.Rows = append(f.Data.Rows, []table.Cell{table.Text(letter), table.Text(p.Benchmark), table.Text(p.Model), table.Number(point.X), table.Number(point.Y)})
			}
		}
		add(&first, "a", name, risingTasks(p))
		shares := longer(lengths[[2]string{p.Benchmark, p.Model}])
		add(&second, "b", "", shares)
		for _, at := range shares {
			least = min(least, at.Y)
		}
	}
	for at := 1.0; at > least/10; at /= 10 {
		second.Y.Ticks = append(second.Y.Ticks, figure.Tick{At: at, Label: fmt.Sprintf("%g%%", 100*at)})
		second.Y.Cover = []float64{1, at}
	}
	if len(second.Series) == 0 { // a logarithmic axis needs something to show
		second = figure.Panel{Title: second.Title, Instead: "no rollouts are stored"}
	}
	f.Panels = [][]figure.Panel{{first, second}}
	return f
}

// risingTasks are the pass probabilities in rising order, each in the middle of its
// share.
func risingTasks(p profile.Profile) (at []figure.Point) {
	for rank, i := range byPasses(p) {
		at = append(at, figure.Point{X: (float64(rank) + 0.5) / float64(p.N()), Y: p.P(i), Title: fmt.Sprintf("task %s: %.4f", p.TaskIDs[i], p.P(i))})
	}
	return at
}

// longer are the shares of responses that are longer than so many tokens, above
// zero, at lengths that are about 2% apart at least.
func longer(lengths rollout.Lengths) (at []figure.Point) {
	const apart = 1.02
	all, left := lengths.Responses(), lengths.Responses()
	next := 0.0
	for _, l := range lengths {
		left -= l.Responses
		x := math.Max(1, float64(l.Tokens))
		if left == 0 || x < next {
			continue
		}
		next = x * apart
		at = append(at, figure.Point{X: x, Y: float64(left) / float64(all)})
	}
	return at
}

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
	f.Caption = `Variance of HBN relative to Uniform on each of ` + model.Between(profiles) + ` benchmark–checkpoint profiles, by average ` +
		`budget b. Points are profiles, boxes their quartiles and median, diamonds their mean; on the dashed line ` +
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
