package figures

import (
	"math"

	"gonum.org/v1/plot"

	"speceval/internal/figure"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/pipeline/dag"
	"speceval/stages/report/stored"
)

// Spread is how sampled profiles spread, and how long their responses are.
var Spread = &Figure{
	Base:    "figure_profile_spread",
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

// lineStyles are the styles of the profiles of a figure, in their order; more profiles
// than these are drawn alike, without a name.
var lineStyles = [...]figure.Style{
	{Ink: figure.Blue, Width: 1.2}, {Ink: figure.Vermilion, Dash: figure.Dashed, Width: 1.2}, {Ink: figure.Black, Dash: figure.Dotted, Width: 1.2},
	{Ink: figure.SkyBlue, Width: 1.2}, {Ink: figure.Grey, Dash: figure.Dashed, Width: 1.2},
}

func drawSpread(profiles []profile.Profile, lengths map[[2]string]rollout.Lengths) figure.Figure {
	f := newFigure("figure_profile_spread", "fig:profile-spread", 2*columnWidth, 190, "Pass probabilities of the tasks, and lengths of the responses",
		"panel", "benchmark", "model", "x", "y")
	f.Caption = `The sampled profiles. (a) Pass probabilities of the tasks, in rising order. (b) How many of the responses are longer than so many tokens; both axes are logarithmic.`
	first := figure.NewPanel("(a) Task probabilities", "Share of the tasks", "Pass probability")
	figure.Cover(&first.X, 0, 1)
	figure.Cover(&first.Y, 0, 1)
	second := figure.NewPanel("(b) Response lengths", "Tokens of a response", "Share of longer responses")
	for _, a := range []*plot.Axis{&second.X, &second.Y} {
		a.Scale, a.Tick.Marker, a.AutoRescale = plot.LogScale{}, plot.LogTicks{Prec: -1}, true
	}
	for i, p := range profiles {
		style, name := lineStyles[0], ""
		if len(profiles) <= len(lineStyles) {
			style, name = lineStyles[i], p.Name()
		}
		var rising []figure.Point // each task in the middle of its share
		for rank, i := range byPasses(p) {
			rising = append(rising, figure.Point{X: (float64(rank) + 0.5) / float64(p.N()), Y: p.P(i)})
			add(&f, "a", p.Benchmark, p.Model, rising[rank].X, rising[rank].Y)
		}
		shares := longer(lengths[[2]string{p.Benchmark, p.Model}])
		for _, at := range shares {
			add(&f, "b", p.Benchmark, p.Model, at.X, at.Y)
		}
		first.Series(name, "", style, rising)
		second.Series("", "", style, shares)
	}
	if second.X.Min > second.X.Max {
		second = figure.NewPanel("(b) Response lengths", "", "").Instead("no rollouts are stored")
	}
	f.Panels = [][]*figure.Panel{{first, second}}
	return f
}

// longer are the shares of responses that are longer than so many tokens, above
// zero, at lengths that are about 2% apart at least.
func longer(lengths rollout.Lengths) (at []figure.Point) {
	all, left := lengths.Responses(), lengths.Responses()
	next := 0.0
	for _, l := range lengths {
		left -= l.Responses
		x := math.Max(1, float64(l.Tokens))
		if left == 0 || x < next {
			continue
		}
		next = x * 1.02
		at = append(at, figure.Point{X: x, Y: float64(left) / float64(all)})
	}
	return at
}
