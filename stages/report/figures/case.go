package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/figure"
	"speceval/internal/paper"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Case is the paper's Figure 2: a profile with many tasks near the ends, and what
// the policies make of it.
var Case = &Figure{
	Base:    caseBase,
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef}, Case: true},
	Has:     (*stored.Settings).HasCase,
	Judged:  paper.CaseStudy,
	Chapter: "Variance",
	Remarks: []string{
		`<ref figure2_case_study> follows one profile from its task probabilities to the spread of the estimates.`,
		`Of its \specCaseTasks{} tasks, \specCaseShareBelow{} are passed with a probability below 0.2 and \specCaseShareAbove{} with one above 0.8.`,
	},
	Make: func(src *stored.Source) (figure.Figure, error) {
		c, err := src.Case()
		return drawCase(c), err
	},
}

const caseBase = "figure2_case_study"

func drawCase(c variance.Case) figure.Figure {
	who := c.Benchmark + ", " + model.ModelName(c.Model)
	f := figure.Figure{
		Base: caseBase, Label: "fig:case-study", Width: pageWidth, Height: 262,
		Title: "Case study of " + who + ": task probabilities, interval half-width, variance ratio and sampling densities",
	}
	data := caseData{table.Table{Title: f.Title, Label: f.Label, Columns: table.Named("panel", "quantity", "policy", "task_id", "budget", "x", "value", "value_se", "count")}}
	f.Panels = [][]figure.Panel{{data.tasks(c), data.widths(c)}, {data.ratios(c), data.densities(c)}}
	f.Data = data.Table
	f.Caption = who + fmt.Sprintf(`: (a) the pass probabilities of its %d tasks, in rising order; (b) half of the `+
		`95%% interval that a normal law would give the benchmark mean, in percentage points, by average budget b; `+
		`(c) the variance relative to Uniform; (d) densities of the estimated mean at b = %d, with standard deviations in percentage points`, c.N(), c.Budget)
	if d := c.Distribution(policy.HBN); len(d) > 0 {
		f.Caption += fmt.Sprintf(`, from %s simulated evaluations of each policy`, model.Grouped(d[0].Repetitions))
	}
	f.Caption += `. Oracle knows the probabilities.`
	return f
}

// caseData is what the panels plot, which each of them adds to.
type caseData struct{ table.Table }

// add adds a row; a text that is empty is missing.
func (d *caseData) add(panel, quantity, of, task string, budget, x table.Cell, value float64, se *float64, count table.Cell) {
	text := func(s string) table.Cell {
		if s == "" {
			return table.Missing()
		}
		return table.Text(s)
	}
	d.Rows = append(d.Rows, []table.Cell{table.Text(panel), table.Text(quantity), text(of), text(task), budget, x,
		table.Number(value), table.Optional(se), count})
}

// tasks is panel (a): the task probabilities in rising order, those of the
// endpoint tasks apart.
func (d *caseData) tasks(c variance.Case) figure.Panel {
	const title = "(a) Task probabilities"
	n := c.N()
	if n == 0 {
		return figure.Panel{Title: title, Instead: variance.NotReplayed}
	}
	inner := figure.Points{Name: "task", Style: figure.Style{Ink: figure.Blue, Marker: figure.Circle, Size: 2}}
	ends := figure.Points{Name: fmt.Sprintf("task at an endpoint (%d)", c.Endpoints()),
		Style: figure.Style{Ink: figure.Vermilion, Marker: figure.Square, Size: 2.3, Hollow: true}}
	for rank, i := range byPasses(c.Profile) {
		p := figure.Point{X: float64(rank + 1), Y: c.P(i),
			Title: fmt.Sprintf("task %s: %d of %d rollouts pass, %.4f", c.TaskIDs[i], c.PassCounts[i], c.Rollouts(i), c.P(i))}
		if c.Endpoint(i) {
			ends.At = append(ends.At, p)
		} else {
			inner.At = append(inner.At, p)
		}
		d.add("a", "task_probability", "", c.TaskIDs[i], table.Missing(), table.Integer(rank+1), c.P(i), nil, table.Integer(c.PassCounts[i]))
	}
	share := func(tasks int) string { return fmt.Sprintf("%.1f%% of tasks", 100*float64(tasks)/float64(n)) }
	guide := figure.Style{Ink: figure.Grey, Dash: figure.Dotted, Width: 0.6}
	p := figure.Panel{
		Title: title,
		X: figure.Axis{Label: "Tasks, in rising order", Cover: []float64{1, float64(n)},
			Ticks: []figure.Tick{{At: 1, Label: "1"}, {At: float64(n), Label: figure.Italic("N") + " = " + strconv.Itoa(n)}}},
		Y:      figure.Axis{Label: "Pass probability", Cover: []float64{0, 1}},
		Series: []figure.Series{figure.Level{At: 0.2, Style: guide}, figure.Level{At: 0.8, Style: guide}, inner},
		Legend: figure.TopLeft,
		Notes: []figure.Note{
			{X: 1, Y: 0.8, Up: -6, Text: share(c.Above(0.8)) + " above 0.8", Align: figure.Start},
			{X: float64(n), Y: 0.2, Up: -6, Text: share(c.Below(0.2)) + " below 0.2", Align: figure.End},
		},
	}
	if len(ends.At) > 0 {
		p.Series = append(p.Series, ends)
	}
	return p
}

// widths is panel (b): half-widths in percentage points.
func (d *caseData) widths(c variance.Case) figure.Panel {
	p := figure.Panel{Title: "(b) Half-width of the 95% interval", Y: figure.Axis{Label: "Percentage points", Zero: true}}
	return d.overBudgets(c, p, "b", "half_width_points", " points", func(ratio, se float64, b int32) (float64, float64) {
		half := 100 * c.HalfWidth(ratio, b)
		return half, float64(half*se) / (2 * ratio) // d√r = dr/(2√r)
	})
}

// ratios is panel (c): variance ratios.
func (d *caseData) ratios(c variance.Case) figure.Panel {
	p := figure.Panel{Title: "(c) Variance relative to Uniform", Y: figure.Axis{Label: "Ratio"}}
	return d.overBudgets(c, p, "c", "variance_ratio", "", func(ratio, se float64, _ int32) (float64, float64) { return ratio, se })
}

// overBudgets is a panel of the policies over the budgets. Value turns a ratio
// with its standard error into what is shown.
func (d *caseData) overBudgets(c variance.Case, p figure.Panel, letter, quantity, unit string, value func(ratio, se float64, budget int32) (v, vse float64)) figure.Panel {
	if p.Instead = c.NoRatios(); p.Instead != "" {
		return p
	}
	budgets := variance.Budgets(c.Ratios)
	p.X = figure.Axis{Label: budgetAxis, Log: true, Ticks: []figure.Tick{}}
	for _, b := range budgets {
		p.X.Ticks = append(p.X.Ticks, figure.Tick{At: float64(b), Label: fmt.Sprint(b)})
	}
	for _, of := range policy.CaseStudy {
		line := figure.Line{Label: of.Label, Style: styles[of]}
		for _, b := range budgets {
			r, ok := c.Ratio(of, b)
			if !ok {
				continue
			}
			v, se := value(r.VarianceRatio, r.RatioSE, b)
			title := fmt.Sprintf("%s, b = %d: %.4g%s", of.Label, b, v, unit)
			if se > 0 {
				title += fmt.Sprintf(" ± %.1g", se)
			}
			line.At = append(line.At, figure.Point{X: float64(b), Y: v, Title: title})
			d.add(letter, quantity, of.Name, "", table.Integer(b), table.Integer(b), v, &se, table.Missing())
		}
		if len(line.At) > 0 {
			p.Series = append(p.Series, line)
		}
	}
	return p
}

// densities is panel (d): how the estimates of each policy spread about the true
// mean.
func (d *caseData) densities(c variance.Case) figure.Panel {
	p := figure.Panel{
		Title:  fmt.Sprintf("(d) Sampling density at %s = %d", figure.Italic("b"), c.Budget),
		X:      figure.Axis{Label: "Estimated benchmark mean (%)", Tight: true},
		Y:      figure.Axis{Label: "Density", Zero: true},
		Legend: figure.TopLeft,
	}
	if p.Instead = c.NoEstimates(); p.Instead != "" {
		return p
	}
	var off []string
	var drawn int
	var peak float64
	for _, of := range policy.CaseStudy {
		bins := c.Distribution(of)
		if len(bins) == 0 {
			continue
		}
		about := bins[0]
		if drawn++; drawn == 1 {
			truth, spread := 100*about.Truth, 100*max(about.Expected, about.SD)
			p.Series = append(p.Series, figure.Level{At: truth, Upright: true, Style: figure.Style{Ink: figure.Grey, Width: 0.6}})
			p.X.Cover = []float64{truth - 4.2*spread, truth + 4.2*spread}
			d.add("d", "truth", "", "", table.Integer(c.Budget), table.Missing(), truth, nil, table.Missing())
		}
		line := d.density(of, bins, p.X.Cover)
		for _, at := range line.At {
			peak = max(peak, at.Y)
		}
		p.Series = append(p.Series, line)
		if math.Abs(about.Mean-about.Truth) > agreement.Sigmas*about.MeanSE {
			off = append(off, of.Label)
		}
	}
	note := fmt.Sprintf("all %d centred on the\ntrue mean (vertical)", drawn)
	if len(off) > 0 {
		note = strings.Join(off, ", ") + " off centre\nby more than 3 s.e."
	}
	p.Notes = []figure.Note{{X: p.X.Cover[1], Y: peak, Align: figure.End, Up: -8, Text: note}}
	return p
}

// density is a line through the middles of a policy's bins, in percent and per
// percentage point, within the shown range.
func (d *caseData) density(of *policy.Policy, bins []variance.Estimates, shown []float64) figure.Line {
	about := bins[0]
	line := figure.Line{Name: fmt.Sprintf("%s, s.d. %.2f", of.Label, 100*about.SD), Style: styles[of]}
	line.Style.Marker = figure.None
	budget := table.Integer(about.Budget)
	for _, b := range bins {
		x, y := 50*(b.Low+b.High), float64(b.Count)/(100*float64(float64(b.Repetitions)*(b.High-b.Low)))
		d.add("d", "density", of.Name, "", budget, table.Number(x), y, nil, table.Integer(b.Count))
		if x >= shown[0] && x <= shown[1] {
			line.At = append(line.At, figure.Point{X: x, Y: y,
				Title: fmt.Sprintf("%s: %s of %s estimates from %.2f%% to %.2f%%", of.Label, model.Grouped(b.Count), model.Grouped(b.Repetitions), 100*b.Low, 100*b.High)})
		}
	}
	se := 100 * about.MeanSE
	d.add("d", "mean", of.Name, "", budget, table.Missing(), 100*about.Mean, &se, table.Integer(about.Repetitions))
	d.add("d", "sd", of.Name, "", budget, table.Missing(), 100*about.SD, nil, table.Integer(about.Repetitions))
	return line
}

// Policies is the mean variance of every policy over the budgets, a panel for each
// kind of knowledge.
var Policies = &Figure{
	Base:    policiesBase,
	Reads:   stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef}},
	Chapter: "Beyond the paper",
	Remarks: []string{`<ref figure3_policies> shows how far each is from the Oracle, which no evaluation can reach.`},
	Make: func(src *stored.Source) (figure.Figure, error) {
		res, err := src.Results()
		if err != nil {
			return figure.Figure{}, err
		}
		rows, err := variance.Standings(res.Designs, res.Ratios)
		return drawPolicies(rows), err
	},
}

const policiesBase = "figure3_policies"

// knowledge is a panel of policies that know things of one kind.
type knowledge struct {
	title string
	has   func(*policy.Donors) bool
}

var knowledges = []knowledge{
	{"Nothing known", func(d *policy.Donors) bool { return d == policy.None }},
	{"Siblings known", func(d *policy.Donors) bool { return d.Siblings }},
	{"Earlier run known", func(d *policy.Donors) bool { return d != policy.None && !d.Siblings }},
}

// landmarks are in every panel.
var landmarks = policy.List{policy.HBN, policy.Oracle}

// policyStyles are how the policies look that have no style in every figure; those
// that know 16 rollouts a task are hollow and dashed.
var policyStyles = map[string]figure.Style{
	policy.EN.Name:                {Ink: figure.Grey, Marker: figure.Square},
	policy.IBN.Name:               {Ink: figure.Grey, Dash: figure.Dashed, Marker: figure.Triangle, Hollow: true},
	policy.TS.Name:                {Ink: figure.SkyBlue, Marker: figure.Diamond, Size: 2.4},
	policy.LOO.Name:               {Ink: figure.Green, Dash: figure.Dashed, Marker: figure.Square, Hollow: true},
	policy.Staged.Name:            {Ink: figure.Black, Marker: figure.Circle},
	policy.Informed[0].Name:       {Ink: figure.Green, Marker: figure.Square},
	policy.InformedStaged[0].Name: {Ink: figure.Black, Marker: figure.Circle},
}

func drawPolicies(rows []variance.Standing) figure.Figure {
	f := figure.Figure{
		Base: policiesBase, Label: "fig:policies", Width: 2 * columnWidth, Height: 200,
		Title: "Mean variance of every policy relative to Uniform, over the budgets",
		Caption: `Mean variance of every policy relative to Uniform, by average budget b, with 95% intervals over resampled benchmarks; HBN and the Oracle are in every panel. ` +
			`Policies that know nothing beforehand, that know how other checkpoints did on the tasks, and that know an earlier run of the same model: by so many rollouts a task, or by the published counts.`,
	}
	f.Data = table.Table{Title: f.Title, Columns: table.Named("panel", "budget", "policy", "donors", "variance_ratio", "low", "high")}
	f.Panels = [][]figure.Panel{nil}
	for _, k := range knowledges {
		if p := k.panel(&f, rows); p != nil {
			p.Title = fmt.Sprintf("(%c) %s", 'a'+len(f.Panels[0]), k.title)
			f.Panels[0] = append(f.Panels[0], *p)
		}
	}
	switch len(f.Panels[0]) {
	case 0:
		f.Panels[0] = []figure.Panel{{Instead: variance.NotReplayed}}
	case 1:
		f.Width, f.Panels[0][0].Title = columnWidth, ""
	default:
		for i := range f.Panels[0][1:] {
			f.Panels[0][i+1].Y.Label = ""
		}
	}
	return f
}

// panel draws the policies of a kind of knowledge, nil where there are none.
func (k knowledge) panel(f *figure.Figure, rows []variance.Standing) *figure.Panel {
	if !slices.ContainsFunc(rows, func(r variance.Standing) bool { return k.has(r.Policy.Donors) }) {
		return nil
	}
	var shown policy.List
	for _, p := range policy.All {
		there := slices.ContainsFunc(rows, func(r variance.Standing) bool { return r.Policy == p })
		if there && k.has(p.Donors) && !slices.Contains(landmarks, p) {
			shown = append(shown, p)
		}
	}
	shown = append(shown, landmarks...)
	p := &figure.Panel{
		X:      figure.Axis{Label: budgetAxis, Log: true, Ticks: []figure.Tick{}},
		Y:      figure.Axis{Label: "Variance / variance of Uniform", Cover: []float64{0.35, 1.05}},
		Series: []figure.Series{figure.Level{At: 1, Style: styles[policy.Uniform]}},
		Notes:  []figure.Note{{X: float64(rows[0].Spread.Budget), Y: 1, Up: 5, Text: policy.Uniform.Label, Align: figure.Start}},
	}
	letter := string(rune('a' + len(f.Panels[0])))
	for i, of := range shown {
		line, aside := figure.Line{Label: shortLabel(of), Style: styleOf(of)}, math.Exp2(0.04*(float64(i)-float64(len(shown)-1)/2))
		for _, r := range rows {
			if r.Policy != of {
				continue
			}
			b, x := r.Spread.Budget, float64(r.Spread.Budget)
			if at := (figure.Tick{At: x, Label: fmt.Sprint(b)}); !slices.Contains(p.X.Ticks, at) {
				p.X.Ticks = append(p.X.Ticks, at)
			}
			title := fmt.Sprintf("%s, b = %d: %.3f", of.Title(), b, r.Value)
			low, high := table.Missing(), table.Missing()
			if between := r.Between; between != nil {
				low, high = table.Number(between.Low), table.Number(between.High)
				title += fmt.Sprintf(", from %.3f to %.3f", between.Low, between.High)
				p.Series = append(p.Series, figure.Line{Style: figure.Style{Ink: line.Style.Ink, Width: 0.5},
					At: []figure.Point{{X: x * aside, Y: between.Low}, {X: x * aside, Y: between.High}}})
			}
			line.At = append(line.At, figure.Point{X: x * aside, Y: r.Value, Title: title})
			f.Data.Rows = append(f.Data.Rows, []table.Cell{table.Text(letter), table.Integer(b),
				table.Text(of.Name), table.Text(of.Donors.Name), table.Number(r.Value), low, high})
		}
		if len(line.At) > 0 {
			p.Series = append(p.Series, line)
		}
	}
	return p
}

// shortLabel names a policy next to its line, within its panel.
func shortLabel(p *policy.Policy) string {
	switch {
	case p.Donors == policy.None:
		return p.Macro
	case slices.Contains(policy.InformedStaged, p):
		return known("staged", p.Donors)
	}
	return known("two stages", p.Donors)
}

// known adds the rollouts that donors have.
func known(label string, d *policy.Donors) string {
	if d.Rollouts > 0 {
		return fmt.Sprintf("%s, %d", label, d.Rollouts)
	}
	return label
}

// styleOf is how a policy looks.
func styleOf(p *policy.Policy) figure.Style {
	if s, ok := styles[p]; ok {
		return s
	}
	s := policyStyles[p.Name]
	if p.Donors.Rollouts == 16 {
		s.Dash, s.Hollow = figure.Dashed, true
	}
	return s
}
