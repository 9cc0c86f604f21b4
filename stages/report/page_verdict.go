package report

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/page"
)

// verdictOrder is the verdicts from the best to the worst, as they are counted.
var verdictOrder = []Verdict{Agrees, WithinNoise, Tie, Differs, Absent, Shown, NotRun}

// verdictMark is a verdict as cells show it.
func verdictMark(v Verdict) page.Verdict {
	switch v {
	case Agrees:
		return page.Verdict{Mark: "✓", Word: "agrees", Kind: "good"}
	case WithinNoise:
		return page.Verdict{Mark: "≈", Word: "within noise", Kind: "good"}
	case Tie:
		return page.Verdict{Mark: "≈", Word: "tie", Kind: "good"}
	case Shown:
		return page.Verdict{Mark: "○", Word: "shown", Kind: "none"}
	case NotRun:
		return page.Verdict{Mark: "–", Word: "not run", Kind: "none"}
	}
	return page.Verdict{Mark: "✗", Word: string(v), Kind: "bad"}
}

// summary is the outcome of all comparisons.
func summary(v Verdicts) *page.Summary {
	_, line, _ := strings.Cut(v.Summary(), ": ")
	s := &page.Summary{Line: line + ".", Passed: v.Passed(), Legend: paragraphs(v.legend()), Skipped: v.Skipped}
	switch paper, live := v.sides(); {
	case len(live.Cells) > 0 && len(paper.Cells) > 0:
		s.Against = "the paper’s or the prediction"
	case len(live.Cells) > 0:
		s.Against = "the prediction"
	}
	for _, verdict := range verdictOrder {
		if n := v.count(func(one Verdict) bool { return one == verdict }); n > 0 {
			mark := verdictMark(verdict)
			mark.Word = string(verdict)
			s.Counts = append(s.Counts, page.Count{Verdict: mark, Cells: n})
		}
	}
	for _, table := range tablesOf(v.Cells) {
		own := Verdicts{Cells: v.of(table)}
		s.Tables = append(s.Tables, page.Tally{Table: table, Name: placeName(table), Agreeing: own.Agreeing(), Total: own.Judged()})
	}
	for _, c := range v.Cells {
		if c.Verdict == Differs || c.Verdict == Absent {
			s.Differ = append(s.Differ, page.Pointer{Table: c.Table, Name: placeName(c.Table), Row: c.Row, Column: c.Column, Text: disagreement(c)})
		}
	}
	return s
}

// tablesOf is the tables that cells are of, each once, in their order.
func tablesOf(cells []Cell) []string {
	var tables []string
	for _, c := range cells {
		if !slices.Contains(tables, c.Table) {
			tables = append(tables, c.Table)
		}
	}
	return tables
}

// placeName is a table as people call it: "Table 1", or "Robustness".
func placeName(base string) string {
	if name := printedName(base); name != "" {
		return name
	}
	words := strings.ReplaceAll(base, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// disagreement says of a cell what is wrong with it.
func disagreement(c Cell) string {
	line := c.line() // as verify prints it
	words := fmt.Sprintf("%s, where the paper has %s", line[2].Exact(), line[3].Exact())
	if c.Live {
		return fmt.Sprintf("%s, where %s: %s", line[2].Exact(), c.wanted(), c.liveReason())
	}
	if line[2].IsMissing() {
		words = fmt.Sprintf("there is none, where the paper has %s", line[3].Exact())
	}
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

// cellPlace is where a verdict belongs.
type cellPlace struct{ table, row, column string }

// cellIndex finds verdicts by their place, and knows which have been shown.
type cellIndex struct {
	all   []Cell
	place map[cellPlace]int
	taken []bool
}

func newCellIndex(cells []Cell) *cellIndex {
	x := &cellIndex{all: cells, place: map[cellPlace]int{}, taken: make([]bool, len(cells))}
	for i, c := range cells {
		x.place[cellPlace{c.Table, c.Row, c.Column}] = i
	}
	return x
}

// take is the verdict on a cell, which then has been shown.
func (x *cellIndex) take(table, row, column string) (*Cell, bool) {
	i, ok := x.place[cellPlace{table, row, column}]
	if !ok {
		return nil, false
	}
	x.taken[i] = true
	return &x.all[i], true
}

// column is the verdicts on a column.
func (x *cellIndex) column(table string, rows []string, column string) []Cell {
	var cells []Cell
	for _, row := range rows {
		if i, ok := x.place[cellPlace{table, row, column}]; ok {
			cells = append(cells, x.all[i])
		}
	}
	return cells
}

// extra is the verdicts of a table that belong to none of its cells.
func (x *cellIndex) extra(table string) []page.Line {
	var lines []page.Line
	for i, c := range x.all {
		if c.Table == table && !x.taken[i] {
			x.taken[i] = true
			lines = append(lines, verdictLine(c))
		}
	}
	return lines
}

// rest is the verdicts of what is no table of the report.
func (x *cellIndex) rest() []page.Group {
	var groups []page.Group
	for _, table := range tablesOf(x.all) {
		if lines := x.extra(table); len(lines) > 0 {
			groups = append(groups, page.Group{ID: table, Name: placeName(table), Lines: lines})
		}
	}
	return groups
}

// verdictLine is a verdict with its numbers, as verify prints them.
func verdictLine(c Cell) page.Line {
	line := c.line()
	return page.Line{Row: c.Row, Column: c.Column, Cell: page.Cell{
		Text: withMinus(line[2].Exact()), Paper: withMinus(line[3].Exact()), Verdict: verdictMark(c.Verdict), Note: c.Note,
	}}
}
