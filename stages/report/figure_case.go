package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"speceval/internal/figure"
	"speceval/internal/table"
	"speceval/internal/variance"
)

// casePolicies are those of the case study, from back to front.
var casePolicies = []string{variance.Uniform, variance.HBN, variance.Oracle}

// Widths of a figure over both columns of a paper, and its height, in points.
const (
	pageWidth  = 468
	caseHeight = 262
)

// caseFigure is the paper's Figure 2: a profile with many tasks near the ends,
// and what the policies make of it.
func caseFigure(c caseStudy) (figure.Figure, error) {
	who := c.Benchmark + ", " + modelName(c.Model)
	f := figure.Figure{
		Base: "figure2_case_study", Label: "fig:case-study", Width: pageWidth, Height: caseHeight,
		Title: "Case study of " + who + ": task probabilities, interval half-width, variance ratio and sampling densities",
	}
	f.Data.Title, f.Data.Label = f.Title, f.Label
	f.Data.Columns = names("panel", "quantity", "policy", "task_id", "budget", "x", "value", "value_se", "count")
	first, second, third := caseTasks(c, &f.Data), caseWidths(c, &f.Data), caseRatios(c, &f.Data)
	f.Panels = [][]figure.Panel{{first, second}, {third, caseDensities(c, &f.Data)}}
	f.Caption = table.Escape(who) + fmt.Sprintf(`: (a)~the pass probabilities of its %d tasks, in rising order; (b)~half of the `+
		`95\%% interval that a normal law would give the benchmark mean, in percentage points, by average budget~$b$; `+
		`(c)~the variance relative to Uniform; (d)~densities of the estimated mean at $b=%d$, with standard deviations in percentage points`, c.N(), c.budget)
	if d := c.distribution(variance.HBN); len(d) > 0 {
		f.Caption += fmt.Sprintf(`, from %s simulated evaluations of each policy`, grouped(d[0].Repetitions))
	}
	f.Caption += `. Oracle knows the probabilities.`
	return f, nil
}

// grouped is a count with commas: 200,000.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// caseTasks is panel (a): the task probabilities in rising order, those of the
// endpoint tasks apart.
func caseTasks(c caseStudy, data *table.Table) figure.Panel {
	if c.N() == 0 {
		return figure.Panel{Title: "(a) Task probabilities", Instead: notReplayed}
	}
	order := make([]int, c.N())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.PassCounts[a], c.PassCounts[b]) })
	inner := figure.Points{Name: "task", Style: figure.Style{Ink: figure.Blue, Marker: figure.Circle, Size: 2}}
	ends := figure.Points{Name: fmt.Sprintf("task at an endpoint (%d)", c.endpoints()),
		Style: figure.Style{Ink: figure.Vermilion, Marker: figure.Square, Size: 2.3, Hollow: true}}
	for rank, i := range order {
		p := figure.Point{X: float64(rank + 1), Y: c.P(i),
			Title: fmt.Sprintf("task %s: %d of %d rollouts pass, %.4f", c.TaskIDs[i], c.PassCounts[i], c.TestedK, c.P(i))}
		if c.endpoint(i) {
			ends.At = append(ends.At, p)
		} else {
			inner.At = append(inner.At, p)
		}
		data.Rows = append(data.Rows, caseRow("a", "task_probability", "", c.TaskIDs[i], table.Missing(),
			table.Integer(rank+1), c.P(i), nil, table.Integer(c.PassCounts[i])))
	}
	share := func(n int) string { return fmt.Sprintf("%.1f%% of tasks", 100*float64(n)/float64(c.N())) }
	guide := figure.Style{Ink: figure.Grey, Dash: figure.Dotted, Width: 0.6}
	p := figure.Panel{
		Title:  "(a) Task probabilities",
		X:      figure.Axis{Label: "Tasks, in rising order", Cover: []float64{1, float64(c.N())}, Ticks: rankTicks(c.N())},
		Y:      figure.Axis{Label: "Pass probability", Cover: []float64{0, 1}},
		Series: []figure.Series{figure.Level{At: 0.2, Style: guide}, figure.Level{At: 0.8, Style: guide}, inner},
		Legend: figure.TopLeft,
		Notes: []figure.Note{
			{X: 1, Y: 0.8, Up: -6, Text: share(c.above(0.8)) + " above 0.8", Align: figure.Start},
			{X: float64(c.N()), Y: 0.2, Up: -6, Text: share(c.below(0.2)) + " below 0.2", Align: figure.End},
		},
	}
	if len(ends.At) > 0 {
		p.Series = append(p.Series, ends)
	}
	return p
}

// rankTicks are the first and the last task.
func rankTicks(n int) []figure.Tick {
	return []figure.Tick{{At: 1, Label: "1"}, {At: float64(n), Label: figure.Italic("N") + " = " + strconv.Itoa(n)}}
}

// caseRow is a row of the figure's data.
func caseRow(panel, quantity, policy, task string, budget, x table.Cell, value float64, se *float64, count table.Cell) []table.Cell {
	text := func(s string) table.Cell {
		if s == "" {
			return table.Missing()
		}
		return table.Text(s)
	}
	return []table.Cell{table.Text(panel), table.Text(quantity), text(policy), text(task), budget, x,
		table.Number(value), table.Optional(se), count}
}

// overBudgets is a panel of the policies over the budgets. Value turns a ratio
// with its standard error into what is shown.
func overBudgets(c caseStudy, data *table.Table, p figure.Panel, letter, quantity, unit string, value func(ratio, se float64, budget int32) (v, vse float64)) figure.Panel {
	all := budgets(c.ratios)
	if p.Instead = c.noRatios(); p.Instead != "" {
		return p
	}
	p.X = figure.Axis{Label: "Rollouts per task, " + figure.Italic("b"), Log: true, Ticks: []figure.Tick{}}
	for _, b := range all {
		p.X.Ticks = append(p.X.Ticks, figure.Tick{At: float64(b), Label: fmt.Sprint(b)})
	}
	for _, policy := range casePolicies {
		line := figure.Line{Label: shownName(policy), Style: policyStyle[policy]}
		for _, b := range all {
			r, ok := c.ratio(policy, b)
			if !ok {
				continue
			}
			v, se := value(r.VarianceRatio, r.RatioSE, b)
			title := fmt.Sprintf("%s, b = %d: %.4g%s", shownName(policy), b, v, unit)
			if se > 0 {
				title += fmt.Sprintf(" ± %.1g", se)
			}
			line.At = append(line.At, figure.Point{X: float64(b), Y: v, Title: title})
			data.Rows = append(data.Rows, caseRow(letter, quantity, policy, "", table.Integer(b), table.Integer(b), v, &se, table.Missing()))
		}
		if len(line.At) > 0 {
			p.Series = append(p.Series, line)
		}
	}
	return p
}

// shownName is a policy in figures.
func shownName(policy string) string {
	if policy == variance.Uniform {
		return "Uniform"
	}
	return policyName[policy]
}

// caseWidths is panel (b): half-widths in percentage points.
func caseWidths(c caseStudy, data *table.Table) figure.Panel {
	p := figure.Panel{Title: "(b) Half-width of the 95% interval", Y: figure.Axis{Label: "Percentage points", Zero: true}}
	return overBudgets(c, data, p, "b", "half_width_points", " points", func(ratio, se float64, b int32) (float64, float64) {
		half := 100 * c.halfWidth(ratio, b)
		return half, float64(half*se) / (2 * ratio) // d√r = dr/(2√r)
	})
}

// caseRatios is panel (c): variance ratios.
func caseRatios(c caseStudy, data *table.Table) figure.Panel {
	p := figure.Panel{Title: "(c) Variance relative to Uniform", Y: figure.Axis{Label: "Ratio"}}
	return overBudgets(c, data, p, "c", "variance_ratio", "", func(ratio, se float64, _ int32) (float64, float64) { return ratio, se })
}
