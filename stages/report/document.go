package report

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/table"
)

// document is what report.tex is made of.
type document struct {
	Experiment
	settings      Settings
	origin        string                   // its first comment
	quoted        map[string]bool          // commands that numbers.tex defines
	tables        map[string]table.Printed // by base name
	columns       map[string][]string      // of their CSV forms, likewise
	figures       []plate
	verdicts      Verdicts
	inputs        [][2]string // file and SHA-256, sorted
	configuration map[string]string
}

// longRows is from how many lines on a table runs over pages, in the appendix.
const longRows = 36

// tex is the whole document.
func (d document) tex() (string, error) {
	p := &prose{document: d, placed: map[string]bool{}}
	p.line("%% %s", d.origin)
	p.line(`%% Set it from this folder: pdflatex report.tex, until it asks for no further run.`)
	p.line("%s", preamble)
	p.line(`\input{%s}`, numbersFile)
	p.line("\\hypersetup{pdftitle={%s}}\n\\begin{document}", documentTitle)
	p.line("\\begin{center}\\Large\\bfseries %s\\end{center}", documentTitle)
	p.abstract()
	p.provenance()
	for _, c := range chapters {
		p.chapter(c)
	}
	p.rest()
	p.line(`\appendix`)
	p.longTables()
	p.verdictAppendix()
	p.formulaAppendix()
	p.sources()
	p.effective()
	p.line(`\end{document}`)
	return p.String(), p.failed
}

const documentTitle = "Speculative evaluation of stochastic LLMs: results recomputed"

// chapter sets a section with those of its tables and figures that are there.
func (p *prose) chapter(c chapter) {
	var shown bool
	for _, base := range c.shows {
		_, isTable := p.tables[base]
		shown = shown || isTable || p.figure(base) != nil
	}
	if !shown {
		return
	}
	p.line("\n\\section{%s}", c.title)
	about := c.about
	for _, base := range c.shows {
		p.placed[base] = true
		if p.show(base, about) {
			about = nil
		}
	}
}

// rest sets what no chapter names, in the order of the stage.
func (p *prose) rest() {
	var others []string
	for _, kind := range p.document.settings.tables() {
		if !p.placed[kind.base] && !p.long(kind.base) {
			others = append(others, kind.base)
		}
	}
	for _, f := range p.figures {
		if !p.placed[f.base] {
			others = append(others, f.base)
		}
	}
	if len(others) > 0 {
		p.chapter(chapter{title: "More results", shows: others})
	}
}

// long reports whether a table is set over pages, in the appendix.
func (d document) long(base string) bool { return d.tables[base].Rows() > longRows }

// figure is the figure of that base name, nil if there is none.
func (d document) figure(base string) *plate {
	if i := slices.IndexFunc(d.figures, func(f plate) bool { return f.base == base }); i >= 0 {
		return &d.figures[i]
	}
	return nil
}

// show places a table or a figure, after what is to be said of it and, first,
// about it. It reports whether there is one.
func (p *prose) show(base string, about []string) bool {
	about = slices.Concat(about, remarks[base])
	printed, isTable := p.tables[base]
	f := p.figure(base)
	switch {
	case isTable && printed.Rows() == 0:
		p.paragraph(fmt.Sprintf("The table %s has no rows yet. %s", texttt("tables/"+base+".tex"), plainNotes(printed)))
	case isTable && p.long(base):
		p.paragraph(append(about, `It runs over pages, in Appendix~\ref{app:profiles}.`)...)
	case isTable:
		p.before(about)
		p.number(base)
		p.line("\\begin{table}[H]\n\\centering\\small")
		p.line("\\caption{%s}\\label{%s}", printed.Caption, printed.Label)
		p.line(`\fitted{\input{tables/%s.tex}}`, base)
		p.verdict(base)
		p.line(`\end{table}`)
	case f != nil:
		p.before(about)
		p.line("\\begin{figure}[H]\n\\centering")
		p.line(`\fitted{\includegraphics{figures/%s.pdf}}`, f.base)
		p.line("\\caption{%s}\\label{%s}", f.caption, f.label)
		p.verdict(base)
		p.line(`\end{figure}`)
	default:
		return false
	}
	return true
}

// before sets sentences as a paragraph that stays with what follows.
func (p *prose) before(sentences []string) {
	p.line(`\begin{samepage}`)
	p.paragraph(sentences...)
	p.line("\\par\\end{samepage}\n\\nopagebreak")
}

// plainNotes are the notes of a table as running text.
func plainNotes(printed table.Printed) string {
	var words []string
	for _, note := range printed.Notes {
		if _, after, ok := strings.Cut(note, `{\footnotesize `); ok {
			words = append(words, strings.TrimSuffix(after, `}} \\`))
		}
	}
	return strings.Join(words, " ")
}
