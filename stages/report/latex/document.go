// Package latex is the document of the report: report.tex, an article with every
// table and figure, the verdict beneath each, what every column is, and where the
// numbers come from. It is text made of a value: what it quotes is given, and what
// is not there is not mentioned.
package latex

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"speceval/internal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/verify"
)

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

// Document is what report.tex is made of.
type Document struct {
	stored.Experiment
	Comment  string          // its first line: command, commit and key
	Macros   map[string]bool // names of the commands that tables/numbers.tex defines
	Sheets   []*model.Sheet  // in the order of the report, as are the figures
	Figures  []Figure
	Verdicts verify.Verdicts

	Origins       []Origin          // of the tables
	Inputs        [][2]string       // file and SHA-256 of all that the document is made of, sorted
	Configuration map[string]string // key to canonical value
}

// Figure is a figure as the document places it.
type Figure struct {
	Base    string   // file name in figures/, without extension
	Chapter string   // that shows it; empty: the one after all others
	Remarks []string // sentences before it, as those of model.Table

	Caption, Label string // raw LaTeX
	Judged         string // what the verdicts beneath it call it; Base where empty
}

// Origin is what a table is made of.
type Origin struct {
	Base   string
	MadeOf string // units and files
	Key    string // of the table's unit
}

// chapter is a section of the document.
type chapter struct {
	title string
	about []string // sentences before its first table or figure
}

// chapters are the sections of the document; model.Table and Figure say which one
// shows them. What none of them shows comes after them.
var chapters = []chapter{
	{title: "Variance"},
	{title: "What speculation costs", about: []string{
		"Times and computation are summed over the profiles and relative to Uniform's at the same budget.",
		"Rows of a simulated or a measured run are means over repeats of the whole suite, with the standard deviation of one suite after the sign $\\pm$."}},
	{title: "Prediction against measurement", about: []string{
		"What the other tables say of these profiles are predictions of what servers do. Here they are held against runs and rollouts that none of them has seen."}},
	{title: "The sampled profiles"},
	{title: "Designs and constants", about: []string{
		"A two-stage policy has a pilot of $m$ rollouts per task, and a weight $w$ that the pilot has in the estimate."}},
	{title: "A sequential baseline"},
	{title: "Beyond the paper"},
	{title: "Profiles, one by one"},
	{title: "How sure these numbers are"},
}

// longRows is from how many lines on a table runs over pages, in the appendix.
const longRows = 36

// exhibit is a table or a figure in its place.
type exhibit struct {
	Figure
	sheet   *model.Sheet // nil for a figure
	printed table.Printed
}

// empty reports whether it is a table without rows, which is mentioned alone.
func (e *exhibit) empty() bool { return e.sheet != nil && e.printed.Rows() == 0 }

// long reports whether it is a table that is set over pages, in the appendix.
func (e *exhibit) long() bool { return e.printed.Rows() > longRows }

// inChapter reports whether a chapter shows it.
func (e *exhibit) inChapter() bool {
	return slices.ContainsFunc(chapters, func(c chapter) bool { return c.title == e.Chapter })
}

const title = "Speculative evaluation of stochastic LLMs: results recomputed"

// Text is report.tex. A sheet that cannot be printed is an error.
func Text(d Document) (string, error) {
	p := &prose{Document: d}
	for _, s := range d.Sheets {
		printed, err := table.Print(s.Print())
		if err != nil {
			return "", err
		}
		placed := Figure{Base: s.Base, Chapter: s.Chapter, Remarks: s.Remarks, Caption: printed.Caption, Label: printed.Label}
		p.exhibits = append(p.exhibits, exhibit{placed, s, printed})
	}
	for _, f := range d.Figures {
		p.exhibits = append(p.exhibits, exhibit{Figure: f})
	}
	p.line("%% %s", d.Comment)
	p.line(`%% Set it from this folder: pdflatex report.tex, until it asks for no further run.`)
	p.WriteString(preamble)
	p.line(`\input{tables/numbers.tex}`)
	p.line("\\hypersetup{pdftitle={%s}}\n\\begin{document}", title)
	p.line("\\begin{center}\\Large\\bfseries %s\\end{center}", title)
	p.abstract()
	p.provenance()
	for _, c := range chapters {
		p.chapter(c, func(e *exhibit) bool { return e.Chapter == c.title })
	}
	p.chapter(chapter{title: "More results"}, func(e *exhibit) bool { return !e.inChapter() && !e.long() })
	p.line(`\appendix`)
	p.longTables()
	p.verdictAppendix()
	p.formulaAppendix()
	p.sources()
	p.configuration()
	p.line(`\end{document}`)
	return p.String(), p.failed
}

// chapter sets a section with the tables and figures that are its own, if any.
func (p *prose) chapter(c chapter, shows func(*exhibit) bool) {
	first := true
	for i := range p.exhibits {
		e := &p.exhibits[i]
		if !shows(e) {
			continue
		}
		sentences := e.Remarks
		if first {
			p.line("\n\\section{%s}", c.title)
			sentences = slices.Concat(c.about, e.Remarks)
		}
		first = false
		p.show(e, sentences)
	}
}

// show places a table or a figure, after sentences about it.
func (p *prose) show(e *exhibit, about []string) {
	switch {
	case e.empty():
		notes := strings.Join(e.sheet.Print().Notes, " ")
		p.paragraph(fmt.Sprintf("The table %s has no rows yet. %s", table.Typewriter("tables/"+e.Base+".tex"), table.Escape(notes)))
	case e.long():
		p.paragraph(append(about, `It runs over pages, in Appendix~\ref{app:profiles}.`)...)
	case e.sheet != nil:
		p.before(about)
		p.number(e.Base)
		p.line("\\begin{table}[H]\n\\centering\\small")
		p.line("\\caption{%s}\\label{%s}", e.Caption, e.Label)
		p.line(`\fitted{\input{tables/%s.tex}}`, e.Base)
		p.verdict(e)
		p.line(`\end{table}`)
	default:
		p.before(about)
		p.line("\\begin{figure}[H]\n\\centering")
		p.line(`\fitted{\includegraphics{figures/%s.pdf}}`, e.Base)
		p.line("\\caption{%s}\\label{%s}", e.Caption, e.Label)
		p.verdict(e)
		p.line(`\end{figure}`)
	}
}

// before sets sentences as a paragraph that stays with what follows.
func (p *prose) before(sentences []string) {
	p.line(`\begin{samepage}`)
	p.paragraph(sentences...)
	p.line("\\par\\end{samepage}\n\\nopagebreak")
}
