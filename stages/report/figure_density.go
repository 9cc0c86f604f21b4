package report

import (
	"fmt"
	"math"
	"strings"

	"speceval/internal/figure"
	"speceval/internal/table"
	"speceval/internal/variance"
)

// caseDensities is panel (d): how the estimates of each policy spread about the
// true mean.
func caseDensities(c caseStudy, data *table.Table) figure.Panel {
	p := figure.Panel{
		Title:  fmt.Sprintf("(d) Sampling density at %s = %d", figure.Italic("b"), c.budget),
		X:      figure.Axis{Label: "Estimated benchmark mean (%)", Tight: true},
		Y:      figure.Axis{Label: "Density", Zero: true},
		Legend: figure.TopLeft,
	}
	if p.Instead = c.noEstimates(); p.Instead != "" {
		return p
	}
	var off []string
	var seen int
	for _, policy := range casePolicies {
		bins := c.distribution(policy)
		if len(bins) == 0 {
			continue
		}
		seen++
		about := bins[0]
		truth, spread := 100*about.Truth, 100*max(about.Expected, about.SD)
		if seen == 1 {
			p.Series = append(p.Series, figure.Level{At: truth, Upright: true, Style: figure.Style{Ink: figure.Grey, Width: 0.6}})
			p.X.Cover = []float64{truth - 4.2*spread, truth + 4.2*spread}
			data.Rows = append(data.Rows, caseRow("d", "truth", "", "", table.Integer(c.budget), table.Missing(), truth, nil, table.Missing()))
		}
		p.Series = append(p.Series, density(policy, bins, p.X.Cover, data))
		if math.Abs(about.Mean-about.Truth) > sigmas*about.MeanSE {
			off = append(off, shownName(policy))
		}
	}
	p.Notes = []figure.Note{{X: p.X.Cover[1], Y: peak(p), Align: figure.End, Up: -8, Text: centredNote(off, seen)}}
	return p
}

// centredNote says whether the estimators are centred.
func centredNote(off []string, of int) string {
	if len(off) > 0 {
		return strings.Join(off, ", ") + " off centre\nby more than 3 s.e."
	}
	return fmt.Sprintf("all %d centred on the\ntrue mean (vertical)", of)
}

// peak is the highest density of a panel.
func peak(p figure.Panel) float64 {
	var top float64
	for _, s := range p.Series {
		if l, ok := s.(figure.Line); ok {
			for _, at := range l.At {
				top = max(top, at.Y)
			}
		}
	}
	return top
}

// density is a line through the middles of a policy's bins, in percent and per
// percentage point, within the shown range.
func density(policy string, bins []variance.Estimates, shown []float64, data *table.Table) figure.Line {
	about := bins[0]
	style := policyStyle[policy]
	style.Marker = figure.None
	line := figure.Line{
		Name: fmt.Sprintf("%s, s.d. %.2f", shownName(policy), 100*about.SD), Style: style,
	}
	for _, b := range bins {
		x, y := 50*(b.Low+b.High), float64(b.Count)/(100*float64(float64(b.Repetitions)*(b.High-b.Low)))
		data.Rows = append(data.Rows, caseRow("d", "density", policy, "", table.Integer(about.Budget), table.Number(x), y, nil, table.Integer(b.Count)))
		if x >= shown[0] && x <= shown[1] {
			line.At = append(line.At, figure.Point{X: x, Y: y,
				Title: fmt.Sprintf("%s: %s of %s estimates from %.2f%% to %.2f%%", shownName(policy), grouped(b.Count), grouped(b.Repetitions), 100*b.Low, 100*b.High)})
		}
	}
	se := 100 * about.MeanSE
	data.Rows = append(data.Rows, caseRow("d", "mean", policy, "", table.Integer(about.Budget), table.Missing(), 100*about.Mean, &se, table.Integer(about.Repetitions)),
		caseRow("d", "sd", policy, "", table.Integer(about.Budget), table.Missing(), 100*about.SD, nil, table.Integer(about.Repetitions)))
	return line
}
