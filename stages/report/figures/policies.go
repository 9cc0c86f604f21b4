package figures

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/figure"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Policies is the mean variance of every policy over the budgets, a panel for each
// kind of knowledge.
var Policies = &Figure{&model.Table{
	Base: "figure3_policies", Label: "fig:policies",
	Reads:   stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef}},
	Chapter: "Beyond the paper",
	Remarks: []string{`<ref figure3_policies> shows how far each is from the Oracle, which no evaluation can reach.`},
}, func(src *stored.Source) (figure.Figure, error) {
	rows, err := stored.Standings(src)
	return drawPolicies(rows), err
}}

// knowledges are the panels: policies that know things of one kind.
var knowledges = []struct {
	title string
	has   func(*policy.Donors) bool
}{
	{"Nothing known", func(d *policy.Donors) bool { return d == policy.None }},
	{"Siblings known", func(d *policy.Donors) bool { return d.Siblings }},
	{"Earlier run known", func(d *policy.Donors) bool { return d != policy.None && !d.Siblings }},
}

// landmarks are in every panel.
var landmarks = policy.List{policy.HBN, policy.Oracle}

func drawPolicies(rows []variance.Standing) figure.Figure {
	f := newFigure(2*columnWidth, 210, "Mean variance of every policy relative to Uniform, over the budgets",
		"panel", "budget", "policy", "donors", "variance_ratio", "low", "high")
	f.Caption = `Mean variance of every policy relative to Uniform, by average budget b, with 95% intervals over resampled benchmarks; HBN and the Oracle are in every panel. ` +
		`Policies that know nothing beforehand, that know how other checkpoints did on the tasks, and that know an earlier run of the same model: by so many rollouts a task, or by the published counts.`
	f.Panels = [][]*figure.Panel{nil}
	for _, k := range knowledges {
		if !slices.ContainsFunc(rows, func(r variance.Standing) bool { return k.has(r.Policy.Donors) }) {
			continue
		}
		shown := slices.DeleteFunc(slices.Clone(policy.All), func(p *policy.Policy) bool {
			return slices.Contains(landmarks, p) || !k.has(p.Donors) || !slices.ContainsFunc(rows, func(r variance.Standing) bool { return r.Policy == p })
		})
		f.Panels[0] = append(f.Panels[0], policyPanel(&f, rows, k.title, append(shown, landmarks...)))
	}
	if len(f.Panels[0]) == 0 {
		f.Panels[0] = append(f.Panels[0], figure.NewPanel("", "", "").Instead(variance.NotReplayed))
	}
	return f
}

// policyPanel draws some policies, each a little aside of the others at a budget.
func policyPanel(f *figure.Figure, rows []variance.Standing, title string, shown policy.List) *figure.Panel {
	letter, y := string(rune('a'+len(f.Panels[0]))), ""
	if letter == "a" {
		y = "Variance / variance of Uniform"
	}
	p := figure.NewPanel(fmt.Sprintf("(%s) %s", letter, title), budgetAxis, y)
	var budgets []int32
	for i, of := range shown {
		var line plotter.XYs
		bars := &plotter.YErrorBars{LineStyle: draw.LineStyle{Color: styleOf(of).Ink, Width: 0.5}, CapWidth: 2}
		aside := math.Exp2(0.12 * (float64(i) - float64(len(shown)-1)/2))
		for _, r := range rows {
			if r.Policy != of {
				continue
			}
			b, x := r.Budget, aside*float64(r.Budget)
			if !slices.Contains(budgets, b) {
				budgets = append(budgets, b)
			}
			var low, high any
			if i := r.Between; i != nil {
				low, high = i.Low, i.High
				bars.XYs = append(bars.XYs, plotter.XY{X: x, Y: r.Value})
				bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{r.Value - i.Low, i.High - r.Value})
			}
			line = append(line, plotter.XY{X: x, Y: r.Value})
			addRow(f, letter, b, of.Name, of.Donors.Name, r.Value, low, high)
		}
		p.Add(bars)
		p.Series("", shortLabel(of), styleOf(of), line)
	}
	p.Budgets(budgets)
	figure.Cover(&p.Y, 0.35)
	p.Series("", policy.Uniform.Label, figure.Style{Ink: figure.Black, Dash: figure.Dashed, Width: 0.8}, plotter.XYs{{X: p.X.Min, Y: 1}, {X: p.X.Max, Y: 1}})
	return p
}

// shortLabel names a policy next to its line, within its panel, with the rollouts
// that its donors have.
func shortLabel(p *policy.Policy) string {
	label := "two stages"
	switch {
	case p.Donors == policy.None:
		return p.Macro
	case slices.Contains(policy.InformedStaged, p):
		label = "staged"
	}
	if p.Donors.Rollouts > 0 {
		label += fmt.Sprintf(", %d", p.Donors.Rollouts)
	}
	return label
}
