package figures

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/figure"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Case is the paper's Figure 2: a profile with many tasks near the ends, and what
// the policies make of it.
var Case = &Figure{&model.Table{
	Base: "figure2_case_study", Label: "fig:case-study",
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef}, Case: true},
	Has:     (*stored.Settings).HasCase,
	Judged:  paper.CaseStudy,
	Chapter: "Variance",
	Remarks: []string{
		`<ref figure2_case_study> follows one profile from its task probabilities to the spread of the estimates.`,
		`Of its \specCaseTasks{} tasks, \specCaseShareBelow{} are passed with a probability below 0.2 and \specCaseShareAbove{} with one above 0.8.`,
	},
}, func(src *stored.Source) (figure.Figure, error) {
	c, err := stored.Case(src)
	return drawCase(c), err
}}

func drawCase(c variance.Case) figure.Figure {
	who := model.ProfileTitle(c.Benchmark, c.Model)
	f := newFigure(pageWidth, 262,
		"Case study of "+who+": task probabilities, interval half-width, variance ratio and sampling densities",
		"panel", "quantity", "policy", "task_id", "budget", "x", "value", "value_se", "count")
	tasks := caseTasks(&f, c)
	widths := overBudgets(&f, c, figure.NewPanel("(b) Half-width of the 95% interval", budgetAxis, "Percentage points"), "b", "half_width_points",
		func(ratio, se float64, b int32) (float64, float64) {
			half := 100 * c.HalfWidth(ratio, b)
			return half, float64(half*se) / (2 * ratio) // d√r = dr/(2√r)
		})
	if len(c.Ratios) > 0 {
		widths.Y.Min = 0
	}
	ratios := overBudgets(&f, c, figure.NewPanel("(c) Variance relative to Uniform", budgetAxis, "Ratio"), "c", "variance_ratio",
		func(ratio, se float64, _ int32) (float64, float64) { return ratio, se })
	f.Panels = [][]*figure.Panel{{tasks, widths}, {ratios, densities(&f, c)}}
	f.Caption = who + fmt.Sprintf(`: (a) the pass probabilities of its %d tasks, in rising order; (b) half of the `+
		`95%% interval that a normal law would give the benchmark mean, in percentage points, by average budget b; `+
		`(c) the variance relative to Uniform; (d) densities of the estimated mean at b = %d, with standard deviations in percentage points`, c.N(), c.Budget)
	if d := c.Distribution(policy.HBN); len(d) > 0 {
		f.Caption += fmt.Sprintf(`, from %s simulated evaluations of each policy`, display.Thousands(d[0].Repetitions))
	}
	f.Caption += `. Oracle knows the probabilities.`
	return f
}

// caseTasks is panel (a): the task probabilities in rising order, endpoint tasks apart.
func caseTasks(f *figure.Figure, c variance.Case) *figure.Panel {
	p := figure.NewPanel("(a) Task probabilities", "Tasks, in rising order", "Pass probability")
	n := c.N()
	if n == 0 {
		return p.Instead(variance.NotReplayed)
	}
	var inner, ends plotter.XYs
	for rank, i := range byPasses(c.Profile) {
		to := &inner
		if c.Endpoint(i) {
			to = &ends
		}
		*to = append(*to, plotter.XY{X: float64(rank + 1), Y: c.P(i)})
		addRow(f, "a", "task_probability", "", c.TaskIDs[i], nil, int64(rank+1), c.P(i), nil, int64(c.PassCounts[i]))
	}
	guide := figure.Style{Ink: figure.Grey, Dash: figure.Dotted, Width: 0.6}
	for _, at := range []float64{0.2, 0.8} {
		p.Series("", "", guide, plotter.XYs{{X: 1, Y: at}, {X: float64(n), Y: at}})
	}
	p.Series("task", "", figure.Style{Ink: figure.Blue, Marker: draw.CircleGlyph{}, Size: 2}, inner)
	p.Series(fmt.Sprintf("task at an endpoint (%d)", len(ends)), "", figure.Style{Ink: figure.Vermilion, Marker: figure.Hollow(draw.BoxGlyph{}), Size: 2.6}, ends)
	share := func(tasks int) string { return fmt.Sprintf("%.1f%% of tasks", 100*float64(tasks)/float64(n)) }
	p.Note(share(c.Above(0.8))+" above 0.8", draw.XLeft, 1, 0.8, -6)
	p.Note(share(c.Below(0.2))+" below 0.2", draw.XRight, float64(n), 0.2, -6)
	figure.Cover(&p.Y, 0, 1)
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 1, Label: "1"}, {Value: float64(n), Label: fmt.Sprintf("N = %d", n)}}
	return p
}

// overBudgets is a panel of the policies over the budgets. Value turns a ratio
// with its standard error into what is shown.
func overBudgets(f *figure.Figure, c variance.Case, p *figure.Panel, letter, quantity string, value func(ratio, se float64, budget int32) (v, vse float64)) *figure.Panel {
	if len(c.Ratios) == 0 {
		return p.Instead(variance.NotReplayed)
	}
	budgets := variance.Budgets(c.Ratios)
	p.Budgets(budgets)
	for _, of := range policy.CaseStudy {
		var line plotter.XYs
		for _, b := range budgets {
			r, ok := c.Ratio(of, b)
			if !ok {
				continue
			}
			v, se := value(r.VarianceRatio, r.RatioSE, b)
			line = append(line, plotter.XY{X: float64(b), Y: v})
			addRow(f, letter, quantity, of.Name, "", b, b, v, se, nil)
		}
		p.Series("", of.Label, styleOf(of), line)
	}
	return p
}

// densities is panel (d): how the estimates of each policy spread about the true
// mean.
func densities(f *figure.Figure, c variance.Case) *figure.Panel {
	p := figure.NewPanel(fmt.Sprintf("(d) Sampling density at b = %d", c.Budget), "Estimated benchmark mean (%)", "Density")
	if len(c.Estimates) == 0 {
		return p.Instead(variance.NotReplayed)
	}
	var off []string
	var drawn int
	for _, of := range policy.CaseStudy {
		bins := c.Distribution(of)
		if len(bins) == 0 {
			continue
		}
		about := bins[0]
		if drawn++; drawn == 1 {
			truth, spread := 100*about.Truth, 100*max(about.Expected, about.SD)
			p.X.Min, p.X.Max = truth-4.2*spread, truth+4.2*spread
			addRow(f, "d", "truth", "", "", c.Budget, nil, truth, nil, nil)
		}
		density(f, p, of, bins)
		if math.Abs(about.Mean-about.Truth) > agreement.Sigmas*about.MeanSE {
			off = append(off, of.Label)
		}
	}
	note := fmt.Sprintf("all %d centred on the\ntrue mean (vertical)", drawn)
	if len(off) > 0 {
		note = strings.Join(off, ", ") + " off centre\nby more than 3 s.e."
	}
	peak := p.Y.Max
	p.Note(note, draw.XRight, p.X.Max, peak, 0)
	figure.Cover(&p.Y, 0, 1.35*peak)
	truth := (p.X.Min + p.X.Max) / 2
	p.Series("", "", figure.Style{Ink: figure.Grey, Width: 0.6}, plotter.XYs{{X: truth}, {X: truth, Y: peak}})
	return p
}

// density adds a line through the middles of a policy's bins, in percent and per
// percentage point, within the shown range.
func density(f *figure.Figure, p *figure.Panel, of *policy.Policy, bins []variance.Estimates) {
	about := bins[0]
	var line plotter.XYs
	for _, b := range bins {
		x, y := 50*(b.Low+b.High), float64(b.Count)/(100*float64(float64(b.Repetitions)*(b.High-b.Low)))
		addRow(f, "d", "density", of.Name, "", about.Budget, x, y, nil, b.Count)
		if x >= p.X.Min && x <= p.X.Max {
			line = append(line, plotter.XY{X: x, Y: y})
		}
	}
	style := styleOf(of)
	style.Marker = nil
	p.Series(fmt.Sprintf("%s, s.d. %.2f", of.Label, 100*about.SD), "", style, line)
	addRow(f, "d", "mean", of.Name, "", about.Budget, nil, 100*about.Mean, 100*about.MeanSE, about.Repetitions)
	addRow(f, "d", "sd", of.Name, "", about.Budget, nil, 100*about.SD, nil, about.Repetitions)
}
