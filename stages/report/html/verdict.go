package html

import (
	"slices"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/page"
	"speceval/internal/paper"
	"speceval/stages/report/verify"
)

// summary is the outcome of all comparisons.
func summary(v verify.Verdicts) *page.Summary {
	s := &page.Summary{Line: strings.TrimPrefix(v.Summary(), "verify: ") + ".", Passed: v.Passed(), Counts: page.Counts(v.Cells), Legend: page.Paragraphs(verify.Legend(v.Cells)), Skipped: v.Skipped}
	switch ofPaper, live := v.Cells.Sides(); {
	case len(live) > 0 && len(ofPaper) > 0:
		s.Against = "the paper’s or the prediction"
	case len(live) > 0:
		s.Against = "the prediction"
	}
	for _, table := range v.Cells.Tables() {
		own := v.Cells.Of(table)
		s.Tables = append(s.Tables, page.Tally{Table: table, Name: placeName(table), Words: own.Tally()})
	}
	for _, c := range v.Cells {
		if c.Verdict != agreement.Differs && c.Verdict != agreement.Absent {
			continue
		}
		at := page.Pointer{Table: c.Table, Name: placeName(c.Table), Row: c.Row, Column: c.Column, Text: page.Disagreement(c)}
		if c.Class.Decides() {
			s.Differ = append(s.Differ, at)
		} else {
			s.Astray = append(s.Astray, at)
		}
	}
	return s
}

// placeName is a table as people call it: "Table 1", or "Robustness".
func placeName(base string) string {
	if _, name := paper.Number(base); name != "" {
		return name
	}
	return page.Spaced(base)
}

// others is the verdicts of what is no table of the page.
func others(all agreement.Comparisons, shown []page.Table) (groups []page.Group) {
	for _, base := range all.Tables() {
		if slices.ContainsFunc(shown, func(t page.Table) bool { return t.ID == base }) {
			continue
		}
		g := page.Group{ID: base, Name: placeName(base)}
		for _, c := range all.Of(base) {
			g.Lines = append(g.Lines, page.NewLine(c))
		}
		groups = append(groups, g)
	}
	return groups
}
