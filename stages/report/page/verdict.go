package page

import (
	"cmp"
	"fmt"
	"strings"

	"speceval/internal/results/agreement"
	"speceval/stages/report"
	"speceval/stages/report/model"
)

// verdict is the outcome of all comparisons.
type verdict struct {
	Line    string // in one sentence
	Passed  bool
	Counts  string // by class
	Tables  []tableCount
	Differ  []line // what decides and does not agree
	Astray  []line // predictions, and copies that differ
	Scores  string // of the predictions
	Texts   []line // what is compared and stands in no table of the page
	Legend  []string
	Skipped string
}

// tableCount is how many numbers of a table agree, by class.
type tableCount struct{ Name, Words string }

// line is a comparison in a list.
type line struct {
	Name, Row, Column, Text string
	mark
}

// mark is a verdict as a cell shows it.
type mark struct{ Sign, Word, Kind string }

// markOf is the mark of a comparison. Only a number that should agree and does not is bad.
func markOf(c agreement.Comparison) mark {
	m := mark{Word: string(c.Verdict)}
	switch {
	case c.Verdict == agreement.Agrees:
		m.Sign, m.Kind = "✓", "good"
	case c.Verdict.Passes():
		m.Sign, m.Kind = "≈", "good"
	case c.Verdict == agreement.Shown, c.Verdict == agreement.NotRun:
		m.Sign, m.Kind = "○", "none"
	case c.Class.Decides():
		m.Sign, m.Kind = "✗", "bad"
	default:
		m.Sign, m.Kind = "≠", "noise"
	}
	return m
}

func newVerdict(of report.Verdicts, left agreement.Comparisons) *verdict {
	v := &verdict{Passed: of.Cells.Passed(), Line: outcome(of), Counts: strings.TrimPrefix(of.Summary(), "verify: "), Skipped: of.Skipped}
	for _, cells := range of.Cells.ByTable() {
		v.Tables = append(v.Tables, tableCount{placeName(cells[0].Table), cells.Tally()})
	}
	for _, c := range of.Cells {
		switch differs := c.Verdict == agreement.Differs || c.Verdict == agreement.Absent; {
		case differs && c.Class.Decides():
			v.Differ = append(v.Differ, newLine(c))
		case differs || c.Class == agreement.Predicted:
			v.Astray = append(v.Astray, newLine(c))
		}
	}
	v.Scores = of.Cells.InClass(agreement.Predicted).Tally()
	for _, c := range left {
		v.Texts = append(v.Texts, newLine(c))
	}
	for part := range strings.SplitSeq(strings.TrimSpace(report.Legend(of.Cells)), "\n\n") {
		v.Legend = append(v.Legend, strings.Join(strings.Fields(part), " "))
	}
	return v
}

// outcome is the verdict of the numbers that decide.
func outcome(v report.Verdicts) string {
	deciding, other := v.Cells.Deciding(), "the paper"
	if computed := v.Cells.InClass(agreement.Computed); computed.Judged() > 0 && v.Cells.Passed() {
		deciding = computed
	} else if !v.Published {
		other = "their predictions"
	}
	agree, all := deciding.Agreeing(), deciding.Judged()
	text := fmt.Sprintf("%d of %d numbers do not agree with %s.", all-agree, all, other)
	switch {
	case all == 0:
		text = "No number is compared yet."
	case agree == all && v.Published:
		text = fmt.Sprintf("All %d recomputed numbers agree with %s.", all, other)
	case agree == all:
		text = fmt.Sprintf("All %d measured numbers agree with %s.", all, other)
	}
	if n := v.Cells.Missing(); n > 0 {
		text += fmt.Sprintf(" %d are of stages that have not run.", n)
	}
	return text
}

func newLine(c agreement.Comparison) line {
	words := c.Line()
	return line{placeName(c.Table), c.Row, c.Column, cmp.Or(words[2].Exact(), "none") + "; " + c.Sentence(), markOf(c)}
}

func stagesLack(stages []string) string {
	if len(stages) == 1 {
		return "the " + stages[0] + " stage has not run"
	}
	return "the stages " + strings.Join(stages, ", ") + " have not run"
}

// noRows says why a table has no rows, and nothing where it has some.
func noRows(s *model.Sheet) string {
	switch {
	case s.Rows > 0:
		return ""
	case len(s.Lacking) > 0:
		return stagesLack(s.Lacking)
	case len(s.Notes) > 0:
		return strings.TrimSuffix(s.Notes[0], ".")
	}
	return "this experiment has no rows for it"
}
