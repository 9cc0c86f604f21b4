// Package page is the model of a self-contained HTML page of results: tables whose
// cells show where they come from, figures, and the stages of a run.
package page

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"speceval/internal/agreement"
	"speceval/internal/table"
)

// Page is everything that the page shows. It holds text and times; how they
// look is decided here, where they are written. Names may be anybody's: whatever
// they hold is shown, never obeyed. Figures are the exception, see [Figure].
type Page struct {
	Title    string
	Lead     string   // a paragraph under the title
	Warnings []string // what a reader must know first: results that are stale, stages that have not run
	Summary  *Summary // nil where nothing is compared
	Tables   []Table
	Others   []Group // numbers that are compared and stand in no table
	Figures  []Figure
	Stages   []Stage // of the run that made the results, in order
	Settings []Setting
	Facts    []Fact // about the machines and programs that made the results
}

// Summary is the outcome of all comparisons.
type Summary struct {
	Line    string // the outcome in one sentence
	Against string // what numbers are compared with; the paper’s where empty
	Passed  bool
	Counts  []Count   // by verdict, the most agreeing first
	Tables  []Tally   // by table, in their order
	Differ  []Pointer // the cells that do not agree, and decide
	Astray  []Pointer // those that do not agree, and do not decide: predictions and copies
	Legend  []string  // what the verdicts mean, a paragraph each
	Skipped string    // numbers that were not compared, and why; may be empty
}

// Beside names what numbers are compared with.
func (s Summary) Beside() string { return cmp.Or(s.Against, "the paper’s") }

// Count is how many cells have a verdict.
type Count struct {
	Verdict Verdict
	Cells   int
}

// Tally is how many cells of a table there are of each class, and how many agree.
type Tally struct {
	Table string // its ID, which may be that of a group
	Name  string
	Words string
}

// Pointer names a cell and leads to it.
type Pointer struct {
	Table, Row, Column string
	Name               string // the table as people call it
	Text               string // what is to be said of it
}

// Verdict is the outcome of one comparison: a word with a mark, and the class
// that it is coloured by. The zero Verdict is none.
type Verdict struct {
	Mark string // "✓"
	Word string // "agrees"
	Kind string // "good", "noise", "bad" or "none"
}

// Table is a table of results.
type Table struct {
	ID      string // its file name without extension, and its anchor
	Name    string // as the paper counts it: "Table 1"; may be empty
	Title   string // what the rows are
	Absent  string // why there are no rows: "not run: systems"; empty where there are
	Columns []Column
	Rows    []Row
	Notes   []string
	Extra   []Line // numbers compared that belong to the table but are none of its cells
	Folded  bool   // long: shown when asked for

	Files []string // that hold the table, by their paths in the output folder
}

// Column is a column of a table. Key columns come first and name the rows.
type Column struct {
	Name    string // in CSV and in the arguments of `speceval explain`
	Head    string // in words
	Key     bool
	Text    bool   // its cells are names
	Spread  string // what stands behind ±: "s.e."; empty where nothing does
	Formula string // in words and plain symbols; empty if none is known
	Beside  string // what Cell.Paper is in this column: "predicted"; the paper's where empty
}

// Row is a row of a table.
type Row struct {
	Label string   // in the arguments of `speceval explain`
	Keys  []string // in the key columns
	Cells []Cell   // in the others
}

// Cell is a value as shown, with what there is to say about it.
type Cell struct {
	Text   string // rounded; empty where there is no value
	Spread string // rounded; may be empty
	Exact  string // with nothing lost
	Paper  string // the paper's value, or what Column.Beside says; empty where there is none
	Verdict
	Class      string // where it comes from, of a number that is compared
	Difference string // from the paper's
	SEs        string // the same in standard errors
	Note       string // why the verdict, where that is not plain
}

// Line is a number that is compared and has no cell.
type Line struct {
	Row, Column string
	Cell
}

// Group is numbers of the paper's that belong together and to no table.
type Group struct {
	ID, Name string
	Lines    []Line
}

// Figure is a figure as an <svg> element. SVG is written as it is: it must come
// from a drawing program that escapes the names in it.
type Figure struct {
	ID, Name, Title string
	Caption         string // plain text
	Absent          string // why there is no drawing
	SVG             string
	Width           float64 // at printed size, in points
	Files           []string
}

// Stage is a stage of the run, with what its units took.
type Stage struct {
	Name, About string
	State       string // "fresh", or what else it is
	Units       int
	First, Last time.Time // from the first start to the last end; zero where no unit has run
	Wall, CPU   float64   // seconds, in sum
	PeakBytes   int64     // the largest resident set of a process
}

// Ran reports whether a unit of the stage has run.
func (s Stage) Ran() bool { return !s.First.IsZero() }

// Share is the CPU time as a part of the units' time: "97%".
func (s Stage) Share() string { return share(s.CPU, s.Wall) }

// Setting is a key of the configuration with its value.
type Setting struct {
	Key, Value string
	Default    string // the default value, where it is another; empty otherwise
}

// Fact is a fact of the environment.
type Fact struct {
	Name   string
	Values []string
}

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
