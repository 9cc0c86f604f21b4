package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// The document of the report is report.tex: an article with every table and figure, and the
// verdict beneath each. It quotes only what is given, and omits what is missing.

// preamble is a sober article that needs texlive-latex-base and
// texlive-latex-recommended. With lmodern characters can be copied and
// searched; without it the fonts are those of plain TeX. Neither has bitmaps.
//
// \fitted makes a table that is too wide as wide as the text, and moves one whose
// notes, which are in boxes of no width, would stick out. \verdict is the line
// under a table, centred where it is one line.
//
//go:embed preamble.tex
var preamble string

//go:embed document.tex.tmpl
var documentText string

const title = "Speculative evaluation of stochastic LLMs: results recomputed"

// Document is report.tex and what it is made of. A sentence that quotes a number or a table
// that is not there is left out.
type Document struct {
	stored.Experiment
	Comment  string          // its first line: command, commit and key
	Macros   map[string]bool // names of the commands that tables/numbers.tex defines
	Exhibits []Exhibit       // tables, then figures, in the order of the report
	Verdicts Verdicts

	// What LaTeX makes of that.
	Chapters      []chapter
	Long          []Exhibit
	OfPaper, Live agreement.Comparisons

	count int // LaTeX's counter of tables
	most  int // the greatest that it was
}

// Exhibit is a table or a figure as the document places it.
type Exhibit struct {
	*model.Table
	Caption string       // plain text
	Sheet   *model.Sheet // nil for a figure

	Printed   table.Printed
	InChapter bool     // of chapters
	About     []string // sentences of its chapter before its own
}

// chapter is a section of the document.
type chapter struct {
	Title    string
	about    []string // sentences before its first table or figure
	Exhibits []Exhibit
}

// chapters are the sections of the document; model.Table says which one shows it. What none of them shows comes after them.
var chapters = []chapter{
	{Title: "Variance"},
	{Title: "What speculation costs", about: []string{
		"Times and computation are summed over the profiles and relative to Uniform's at the same budget.",
		"Rows of a simulated or a measured run are means over repeats of the whole suite, with the standard deviation of one suite after the sign $\\pm$."}},
	{Title: "Prediction against measurement", about: []string{
		"What the other tables say of these profiles are predictions of what servers do. Here they are held against runs and rollouts that none of them has seen."}},
	{Title: "Designs and constants", about: []string{
		"A two-stage policy has a pilot of $m$ rollouts per task, and a weight $w$ that the pilot has in the estimate."}},
	{Title: "A sequential baseline"},
	{Title: "Beyond the paper"},
	{Title: "Profiles, one by one"},
	{Title: "How sure these numbers are"},
}

// longRows is from how many lines on a table runs over pages, in the appendix.
const longRows = 36

// Empty reports whether it is a table without rows, which is mentioned alone.
func (e Exhibit) Empty() bool { return e.Sheet != nil && e.Printed.Rows == 0 }

// Long reports whether it is a table that is set over pages, in the appendix.
func (e Exhibit) Long() bool { return e.Printed.Rows > longRows }

// Notes are the notes of a table.
func (e Exhibit) Notes() string { return strings.Join(e.Sheet.Print().Notes, " ") }

// LaTeX is report.tex. A sheet that cannot be printed is an error.
func LaTeX(d Document) (text string, err error) {
	d.OfPaper, d.Live = d.Verdicts.Cells.Sides()
	for i := range d.Exhibits {
		e := &d.Exhibits[i]
		e.InChapter = slices.ContainsFunc(chapters, func(c chapter) bool { return c.Title == e.Chapter })
		if e.Sheet == nil {
			continue
		}
		if e.Printed, err = table.Print(e.Sheet.Print()); err != nil {
			return "", err
		}
		if e.Long() {
			d.Long = append(d.Long, *e)
		}
	}
	for _, c := range append(slices.Clone(chapters), chapter{Title: "More results"}) {
		for _, e := range d.Exhibits {
			if e.Chapter != c.Title && (e.InChapter || e.Long() || c.Title != "More results") {
				continue
			}
			if c.Exhibits == nil {
				e.About = c.about
			}
			c.Exhibits = append(c.Exhibits, e)
		}
		if c.Exhibits != nil {
			d.Chapters = append(d.Chapters, c)
		}
	}
	var b strings.Builder
	t, err := template.New("report.tex").Funcs(template.FuncMap{
		"preamble": func() string { return preamble }, "title": func() string { return title },
		"say": func(sentence string) string {
			return strings.Join(append([]string{""}, d.sayable([]string{sentence})...), "\n")
		},
		"paragraph": func(e Exhibit) string { return strings.Join(d.sayable(slices.Concat(e.About, e.Remarks)), "\n") },
		"of":        d.Verdicts.Cells.Of, "verdict": verdictText, "number": d.number,
		"tally":    func(v agreement.Comparisons) string { return table.Escape(v.Tally()) },
		"sentence": func(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." },
		"escape":   table.Escape,
	}).Parse(documentText)
	if err == nil {
		err = t.Execute(&b, d)
	}
	return b.String(), err
}

// sayable is those of the sentences that can be said, filled in.
func (d *Document) sayable(sentences []string) (said []string) {
	for _, s := range sentences {
		if text, ok := d.expand(s); ok {
			said = append(said, text)
		}
	}
	return said
}

var (
	refMark = regexp.MustCompile(`<ref (\w+)>`)
	macro   = regexp.MustCompile(`\\(spec[A-Za-z]+)`)
)

// expand fills in a sentence: <low> and <high> are the least and the greatest
// budget, <LOW> and <HIGH> how macros spell them, <ref BASE> is a reference to a
// table or a figure. ok is false if something that it names is not there.
func (d *Document) expand(s string) (text string, ok bool) {
	if len(d.Budgets) > 0 {
		low, high := slices.Min(d.Budgets), slices.Max(d.Budgets)
		s = strings.NewReplacer("<low>", fmt.Sprint(low), "<high>", fmt.Sprint(high),
			"<LOW>", "B"+model.Spelled(low), "<HIGH>", "B"+model.Spelled(high)).Replace(s)
	}
	ok = true
	s = refMark.ReplaceAllStringFunc(s, func(mark string) string {
		base := refMark.FindStringSubmatch(mark)[1]
		for _, e := range d.Exhibits {
			switch {
			case e.Base != base || e.Empty():
			case e.Sheet != nil:
				return fmt.Sprintf(`Table~\ref{%s}`, e.Label)
			default:
				return fmt.Sprintf(`Figure~\ref{%s}`, e.Label)
			}
		}
		ok = false
		return mark
	})
	for _, m := range macro.FindAllStringSubmatch(s, -1) {
		ok = ok && d.Macros[m[1]]
	}
	return s, ok
}

// paperTables is how many tables the paper has.
const paperTables = 8

// number gives the next table the number of the paper's, and one beyond all of the
// paper's where it has none, whatever tables are missing: texts name tables by
// these numbers. base is empty for a table that is no file.
func (d *Document) number(base string) (counter string) {
	next, _ := paper.Number(base)
	next = cmp.Or(next, max(d.most, paperTables)+1)
	if next != d.count+1 {
		counter = fmt.Sprintf(`\setcounter{table}{%d}`, next-1)
	}
	d.count, d.most = next, max(d.most, next)
	return counter
}

// listed is how many cells a verdict under a table tells of at most.
const listed = 6

// verdictText is the verdict on a table in words: how many cells of each class
// agree, and which ones not, or only as a tie, and why.
func verdictText(v agreement.Comparisons) string {
	var said, told []string
	within, shown := 0, 0
	for _, c := range v {
		switch c.Verdict {
		case agreement.Within:
			within++
		case agreement.Shown:
			shown++
		case agreement.Differs, agreement.Absent, agreement.Tie:
			told = append(told, inFull(c))
		}
	}
	if judged := v.Tally(); judged != "" {
		said = append(said, table.Escape(strings.ToUpper(judged[:1])+judged[1:]))
		if within > 0 {
			said[0] += fmt.Sprintf(" (%d within noise)", within)
		}
	}
	if shown > 0 {
		said = append(said, fmt.Sprintf("Shown without a verdict: %d", shown))
	}
	if n := len(told) - listed; n > 0 {
		told = append(told[:listed], fmt.Sprintf(`%d more, which \texttt{speceval verify} lists`, n))
	}
	if len(told) > 0 {
		said = append(said, strings.Join(told, "; "))
	}
	return strings.TrimSpace(strings.Join(append(said, ""), ". "))
}

// inFull is a number that is not as the paper's or as predicted, in words.
func inFull(c agreement.Comparison) string {
	line := c.Line()
	obtained, expected := table.Minus(line[2].Exact()), " for the paper's "+table.Minus(line[3].Exact())
	if c.Live {
		expected = ", where " + c.Wanted()
	}
	text := fmt.Sprintf("%s, %s: %s (%s%s", c.Row, c.Column, c.Verdict, cmp.Or(obtained, "nothing"), expected)
	if c.Note != "" {
		text += "; " + c.Note
	}
	return table.Escape(text + ")")
}
