package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/page"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/stages/report/verify"
)

// marks are the verdicts as cells show them, from the best to the worst.
var marks = []struct {
	verdict agreement.Verdict
	mark    page.Verdict
}{
	{agreement.Agrees, page.Verdict{Mark: "✓", Word: "agrees", Kind: "good"}},
	{agreement.Within, page.Verdict{Mark: "≈", Word: "within noise", Kind: "good"}},
	{agreement.Tie, page.Verdict{Mark: "≈", Word: "tie", Kind: "good"}},
	{agreement.Differs, page.Verdict{Mark: "✗", Word: "differs", Kind: "bad"}},
	{agreement.Absent, page.Verdict{Mark: "✗", Word: "missing", Kind: "bad"}},
	{agreement.Shown, page.Verdict{Mark: "○", Word: "shown", Kind: "none"}},
	{agreement.NotRun, page.Verdict{Mark: "–", Word: "not run", Kind: "none"}},
}

// markOf is a verdict as cells show it.
func markOf(v agreement.Verdict) page.Verdict {
	for _, m := range marks {
		if m.verdict == v {
			return m.mark
		}
	}
	return page.Verdict{Mark: "✗", Word: string(v), Kind: "bad"}
}

// summary is the outcome of all comparisons.
func summary(v verify.Verdicts) *page.Summary {
	s := &page.Summary{Line: strings.TrimPrefix(v.Summary(), "verify: ") + ".", Passed: v.Passed(), Legend: paragraphs(v.Legend()), Skipped: v.Skipped}
	switch ofPaper, live := v.Sides(); {
	case len(live.Cells) > 0 && len(ofPaper.Cells) > 0:
		s.Against = "the paper’s or the prediction"
	case len(live.Cells) > 0:
		s.Against = "the prediction"
	}
	for _, m := range marks {
		if n := v.Count(func(one agreement.Verdict) bool { return one == m.verdict }); n > 0 {
			m.mark.Word = string(m.verdict)
			s.Counts = append(s.Counts, page.Count{Verdict: m.mark, Cells: n})
		}
	}
	for _, table := range v.Tables() {
		own := v.Of(table)
		s.Tables = append(s.Tables, page.Tally{Table: table, Name: placeName(table), Agreeing: own.Agreeing(), Total: own.Judged()})
	}
	for _, c := range v.Cells {
		if c.Verdict == agreement.Differs || c.Verdict == agreement.Absent {
			s.Differ = append(s.Differ, page.Pointer{Table: c.Table, Name: placeName(c.Table), Row: c.Row, Column: c.Column, Text: disagreement(c)})
		}
	}
	return s
}

// placeName is a table as people call it: "Table 1", or "Robustness".
func placeName(base string) string {
	if _, name := paper.Number(base); name != "" {
		return name
	}
	words := strings.ReplaceAll(base, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// disagreement says of a cell what is wrong with it.
func disagreement(c agreement.Comparison) string {
	line := c.Line() // as verify prints it
	if c.Live {
		return fmt.Sprintf("%s, where %s: %s", line[2].Exact(), c.Wanted(), c.LiveReason())
	}
	words := fmt.Sprintf("%s, where the paper has %s", cmp.Or(line[2].Exact(), "there is none"), line[3].Exact())
	if c.SEs != nil {
		words += fmt.Sprintf("; %s standard errors beyond what prints alike", line[6].Exact())
	}
	if c.Note != "" {
		words += ": " + c.Note
	}
	return words
}

// paragraphs is a text with its lines joined.
func paragraphs(text string) []string {
	var all []string
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		all = append(all, strings.Join(strings.Fields(part), " "))
	}
	return all
}

// others is the verdicts of what is no table of the page.
func others(v verify.Verdicts, shown []page.Table) (groups []page.Group) {
	for _, base := range v.Tables() {
		if slices.ContainsFunc(shown, func(t page.Table) bool { return t.ID == base }) {
			continue
		}
		g := page.Group{ID: base, Name: placeName(base)}
		for _, c := range v.Of(base).Cells {
			g.Lines = append(g.Lines, verdictLine(c))
		}
		groups = append(groups, g)
	}
	return groups
}

// verdictLine is a verdict with its numbers, as verify prints them.
func verdictLine(c agreement.Comparison) page.Line {
	line := c.Line()
	return page.Line{Row: c.Row, Column: c.Column, Cell: page.Cell{
		Text: table.Minus(line[2].Exact()), Paper: table.Minus(line[3].Exact()), Verdict: markOf(c.Verdict), Note: c.Note,
	}}
}
