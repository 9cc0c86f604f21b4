package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/internal/figure"
	"speceval/internal/profile"
	"speceval/internal/table"
	"speceval/stages/report/measured"
)

const spreadFigure = "figure_profile_spread"

// fewLines is how many profiles a figure tells apart; more are drawn alike.
const fewLines = 5

// lineStyles are those of the profiles of a figure, in their order.
var lineStyles = [fewLines]figure.Style{
	{Ink: figure.Blue, Width: 1.2}, {Ink: figure.Vermilion, Dash: figure.Dashed, Width: 1.2}, {Ink: figure.Black, Dash: figure.Dotted, Width: 1.2},
	{Ink: figure.SkyBlue, Width: 1.2}, {Ink: figure.Grey, Dash: figure.Dashed, Width: 1.2},
}

func (s Settings) drawSpread(in locate) (figure.Figure, error) {
	profiles, err := s.profiles(in)
	if err != nil {
		return figure.Figure{}, err
	}
	lengths, err := readLengths(in)
	return spreadOf(profiles, lengths), err
}

// spreadOf draws how sampled profiles spread, and how long their responses are.
func spreadOf(profiles []profile.Profile, lengths map[string]measured.Lengths) figure.Figure {
	f := figure.Figure{
		Base: spreadFigure, Label: "fig:profile-spread", Width: 2 * columnWidth, Height: 190,
		Title:   "Pass probabilities of the tasks, and lengths of the responses",
		Caption: `The sampled profiles. (a)~Pass probabilities of the tasks, in rising order. (b)~How many of the responses are longer than so many tokens; both axes are logarithmic.`,
	}
	f.Data = table.Table{Title: f.Title, Columns: names("panel", "benchmark", "model", "x", "y")}
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
				if letter == "b" {
					least = min(least, point.Y)
				}
				f.Data.Rows = append(f.Data.Rows, []table.Cell{table.Text(letter), table.Text(p.Benchmark), table.Text(p.Model), table.Number(point.X), table.Number(point.Y)})
			}
		}
		add(&first, "a", name, sortedTasks(p))
		add(&second, "b", "", longer(lengths[p.Name()]))
	}
	if len(second.Series) == 0 {
		second.Instead = "no rollouts are stored"
	}
	for at := 1.0; len(f.Data.Rows) > 0 && at > least/10; at /= 10 {
		second.Y.Ticks = append(second.Y.Ticks, figure.Tick{At: at, Label: fmt.Sprintf("%g%%", 100*at)})
	}
	if n := len(second.Y.Ticks); n > 0 {
		second.Y.Cover = []float64{1, second.Y.Ticks[n-1].At}
	}
	f.Panels = [][]figure.Panel{{first, second}}
	return f
}

// sortedTasks are the pass probabilities in rising order, each in the middle of its
// share.
func sortedTasks(p profile.Profile) []figure.Point {
	order := make([]int, p.N())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.PassCounts[a], p.PassCounts[b]) })
	var at []figure.Point
	for rank, i := range order {
		at = append(at, figure.Point{X: (float64(rank) + 0.5) / float64(p.N()), Y: p.P(i), Title: fmt.Sprintf("task %s: %.4f", p.TaskIDs[i], p.P(i))})
	}
	return at
}

// longer are the shares of responses that are longer than so many tokens, above
// zero, at lengths that are about 2% apart at least.
func longer(lengths measured.Lengths) []figure.Point {
	const apart = 1.02
	var at []figure.Point
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
