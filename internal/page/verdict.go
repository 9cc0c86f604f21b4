package page

import (
	"cmp"
	"fmt"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/table"
)

// marks are the verdicts as cells show them, from the best to the worst.
var marks = []struct {
	verdict agreement.Verdict
	mark    Verdict
}{
	{agreement.Agrees, Verdict{Mark: "✓", Word: "agrees", Kind: "good"}},
	{agreement.Within, Verdict{Mark: "≈", Word: "within noise", Kind: "good"}},
	{agreement.Tie, Verdict{Mark: "≈", Word: "tie", Kind: "good"}},
	{agreement.Near, Verdict{Mark: "≈", Word: string(agreement.Near), Kind: "good"}},
	{agreement.Differs, Verdict{Mark: "✗", Word: "differs", Kind: "bad"}},
	{agreement.Absent, Verdict{Mark: "✗", Word: "missing", Kind: "bad"}},
	{agreement.Shown, Verdict{Mark: "○", Word: "shown", Kind: "none"}},
	{agreement.NotRun, Verdict{Mark: "–", Word: "not run", Kind: "none"}},
}

// VerdictOf is the outcome of a comparison as cells show it.
func VerdictOf(v agreement.Verdict) Verdict {
	for _, m := range marks {
		if m.verdict == v {
			return m.mark
		}
	}
	return Verdict{Mark: "✗", Word: string(v), Kind: "bad"}
}

// Disagreement says of a cell what is wrong with it.
func Disagreement(c agreement.Comparison) string {
	line := c.Line()
	if c.Live {
		return fmt.Sprintf("%s, where %s: %s", line[2].Exact(), c.Wanted(), c.LiveReason())
	}
	words := fmt.Sprintf("%s, where the paper has %s", cmp.Or(line[2].Exact(), "there is none"), line[3].Exact())
	switch {
	case c.Score != nil && c.SEs != nil:
		words += fmt.Sprintf("; %s standard deviations of one suite", line[6].Exact())
	case c.SEs != nil:
		words += fmt.Sprintf("; %s standard errors beyond what prints alike", line[6].Exact())
	}
	if c.Note != "" {
		words += ": " + c.Note
	}
	return words
}

// Paragraphs is the paragraphs of a text, each with its lines joined.
func Paragraphs(text string) []string {
	var all []string
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		all = append(all, strings.Join(strings.Fields(part), " "))
	}
	return all
}

// NewLine is a comparison with its numbers, as `speceval verify` prints them.
func NewLine(c agreement.Comparison) Line {
	line := c.Line()
	return Line{Row: c.Row, Column: c.Column, Cell: Cell{
		Text: table.Minus(line[2].Exact()), Paper: table.Minus(line[3].Exact()), Verdict: VerdictOf(c.Verdict), Class: string(c.Class), Note: c.Note,
	}}
}

// Counts is how many of the comparisons have each verdict, the most agreeing first.
func Counts(compared []agreement.Comparison) (counts []Count) {
	for _, m := range marks {
		n := 0
		for _, c := range compared {
			if c.Verdict == m.verdict {
				n++
			}
		}
		if n > 0 {
			m.mark.Word = string(m.verdict)
			counts = append(counts, Count{Verdict: m.mark, Cells: n})
		}
	}
	return counts
}
