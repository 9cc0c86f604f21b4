package figures

import (
	"fmt"
	"math"

	"speceval/internal/figure"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/stored"
)

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
		Caption: `The sampled profiles. (a)~Pass probabilities of the tasks, in rising order. (b)~How many of the responses are longer than so many tokens; both axes are logarithmic.`,
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
