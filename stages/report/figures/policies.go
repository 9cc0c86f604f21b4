package figures

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/figure"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/stored"
)

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
		Caption: `Mean variance of every policy relative to Uniform, by average budget~$b$, with 95\% intervals over resampled benchmarks; HBN and the Oracle are in every panel. ` +
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

// shortLabel names a policy beside its line, within its panel.
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
