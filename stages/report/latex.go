package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// The document of the report is report.tex: an article with every table and figure, and the
// verdict beneath each. It is text made of a value: it quotes only what is given, and omits what is missing.

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
	Verdicts Verdicts
}

// Figure is a figure as the document places it.
type Figure struct {
	Base    string   // file name in figures/, without extension
	Chapter string   // that shows it; empty: the one after all others
	Remarks []string // sentences before it, as those of model.Table

	Caption string // plain text
	Label   string
	Judged  string // what the verdicts beneath it call it; Base where empty
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
func LaTeX(d Document) (string, error) {
	p := &prose{Document: d}
	for _, s := range d.Sheets {
		printed, err := table.Print(s.Print())
		if err != nil {
			return "", err
		}
		placed := Figure{Base: s.Base, Chapter: s.Chapter, Remarks: s.Remarks, Caption: s.Title, Label: s.Label}
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
		p.line("\\caption{%s}\\label{%s}", table.Escape(e.Caption), e.Label)
		p.line(`\fitted{\input{tables/%s.tex}}`, e.Base)
		p.verdict(e)
		p.line(`\end{table}`)
	default:
		p.before(about)
		p.line("\\begin{figure}[H]\n\\centering")
		p.line(`\fitted{\includegraphics{figures/%s.pdf}}`, e.Base)
		p.line("\\caption{%s}\\label{%s}", table.Escape(e.Caption), e.Label)
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

// prose is the document in the making. A sentence that quotes a number or a table
// that is not there is left out.
type prose struct {
	Document
	exhibits []exhibit // tables, then figures
	count    int       // LaTeX's counter of tables
	most     int       // the greatest that it was
	failed   error
	strings.Builder
}

func (p *prose) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// paragraph sets those of the sentences that can be said, as one paragraph.
func (p *prose) paragraph(sentences ...string) {
	if said := p.sayable(sentences); len(said) > 0 {
		p.line("\n%s", strings.Join(said, "\n"))
	}
}

// goOn adds sentences to the paragraph before.
func (p *prose) goOn(sentences ...string) {
	for _, text := range p.sayable(sentences) {
		p.line("%s", text)
	}
}

// sayable is those of the sentences that can be said, filled in.
func (p *prose) sayable(sentences []string) (said []string) {
	for _, s := range sentences {
		if text, ok := p.expand(s); ok {
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
func (p *prose) expand(s string) (text string, ok bool) {
	if len(p.Budgets) > 0 {
		low, high := slices.Min(p.Budgets), slices.Max(p.Budgets)
		s = strings.NewReplacer("<low>", fmt.Sprint(low), "<high>", fmt.Sprint(high),
			"<LOW>", "B"+model.Spelled(low), "<HIGH>", "B"+model.Spelled(high)).Replace(s)
	}
	ok = true
	s = refMark.ReplaceAllStringFunc(s, func(mark string) string {
		base := refMark.FindStringSubmatch(mark)[1]
		for _, e := range p.exhibits {
			switch {
			case e.Base != base || e.empty():
			case e.sheet != nil:
				return fmt.Sprintf(`Table~\ref{%s}`, e.Label)
			default:
				return fmt.Sprintf(`Figure~\ref{%s}`, e.Label)
			}
		}
		ok = false
		return mark
	})
	for _, m := range macro.FindAllStringSubmatch(s, -1) {
		ok = ok && p.Macros[m[1]]
	}
	return s, ok
}

// paperTables is how many tables the paper has.
const paperTables = 8

// number gives the next table the number of the paper's, and one beyond all of the
// paper's where it has none, whatever tables are missing: texts name tables by
// these numbers. base is empty for a table that is no file.
func (p *prose) number(base string) {
	next, _ := paper.Number(base)
	next = cmp.Or(next, max(p.most, paperTables)+1)
	if next != p.count+1 {
		p.line(`\setcounter{table}{%d}`, next-1)
	}
	p.count, p.most = next, max(p.most, next)
}

// abstract is what the document finds, by the numbers.
func (p *prose) abstract() {
	p.line(`\begin{abstract}`)
	p.line("\\noindent A stochastic language model is evaluated by repeated rollouts, and the same number for every task wastes most of them.")
	switch ofPaper, live := p.Verdicts.Cells.Sides(); {
	case p.Published:
		p.goOn("This document recomputes the numbers of the paper on HBN, which gives most of a budget to the noisy tasks, from the paper's published task-probability profiles.")
	case len(live) > len(ofPaper):
		p.goOn("This document shows what HBN, which gives most of a budget to the noisy tasks, is worth on profiles of our own, and holds what was measured against what was predicted of it. The profiles are not the paper's, whose numbers do not apply.")
	default:
		p.goOn("This document shows what HBN, which gives most of a budget to the noisy tasks, is worth on profiles that are not the paper's, and so without the paper's numbers and without verdicts.")
	}
	p.goOn(
		`Over \specProfiles{} profiles of benchmark and checkpoint, HBN's variance is on average \specHBNVariance<LOW>{} of Uniform's at $b=<low>$ rollouts per task and \specHBNVariance<HIGH>{} at $b=<high>$: a reduction by \specHBNReductionLeast{} to \specHBNReductionMost{}.`,
		`At these budgets it gains beyond noise on \specProfilesGaining<LOW>{} and \specProfilesGaining<HIGH>{} of them.`,
		`In the published runs, HBN-async takes \specPublishedAsyncTime<HIGH>{} more time than Uniform at $b=<high>$; a Uniform of the same variance takes \specPublishedEquivalentTime<HIGH>{} more.`,
	)
	if summary := p.summary(); summary != "" {
		p.goOn(summary)
	}
	p.line(`\end{abstract}`)
}

// summary is the verdict on everything: a sentence about the paper's numbers, and
// one about what was measured.
func (p *prose) summary() string {
	ofPaper, live := p.Verdicts.Cells.Sides()
	var said []string
	if p.Published {
		said = append(said, inWords(ofPaper, "numbers of the paper that are compared here", "No number can be compared with the paper's yet."))
	}
	if len(live) > 0 {
		said = append(said, inWords(live, "measured numbers that are held against a prediction", "No measured number can be held against a prediction yet."))
	}
	return strings.Join(said, " ")
}

// inWords counts the judged cells by class, or is what is said of none.
func inWords(v agreement.Comparisons, what, none string) string {
	if v.Judged() == 0 {
		return none
	}
	return table.Escape(fmt.Sprintf("Of the %s: %s.", what, v.Tally()))
}

// provenance says what kinds of numbers there are.
func (p *prose) provenance() {
	p.line("\n\\section{What is shown}")
	p.paragraph(
		`Budgets $b$ are rollouts per task, averaged over the $N$ tasks of a benchmark. A \emph{profile} is a benchmark with a checkpoint: the probability of each task to be passed.`,
		`The \specProfiles{} profiles are of \specBenchmarks{} benchmarks with \specTasks{} tasks, and come from a corpus of \specResponses{} responses.`,
		`Variances are those of the estimated benchmark mean, relative to Uniform's: 100\% is no gain. A standard error (s.e.) is of Monte Carlo draws unless it says otherwise.`)
	if v := p.Verdicts.Cells.Of(paper.Corpus); len(v) > 0 {
		p.goOn("Of these counts, " + verdictText(v))
	}
	p.paragraph(`Every number has one of four sources, and no row mixes two.`)
	p.line(`\begin{description}`)
	p.line(`\item[computed] from profiles, seeds and formulas alone; the same bytes on every machine.`)
	if p.Published {
		p.line(`\item[published] summed here from the paper's released runs on its own servers.`)
	}
	p.line(`\item[simulated] executed under a virtual clock on a simulated fleet of servers, which was fitted to the published times and useful FLOPs of Uniform and to the useful FLOPs of HBN, and saw none of HBN's times, waste and extra rollouts.`)
	p.line(`\item[measured] executed on real servers under the wall clock, where the experiment has any.`)
	p.line(`\end{description}`)
	if p.Published {
		p.paragraph(`The line under a table is its verdict: how many of its numbers agree with the paper's, by where they come from: computed here, re-aggregated from the authors' measurements, copied, predicted by the simulated fleet, or fitted by it. A number that is computed or re-aggregated agrees if it prints as the paper's or is within three standard errors of the difference; a choice, such as a pilot size, also agrees if the paper's is no worse under our numbers beyond noise (a tie). A prediction has no tolerance: it differs beyond two standard deviations of one suite, and the verdict of the whole does not follow from it. Appendix~\ref{app:verdicts} has every comparison.`)
	}
	if _, live := p.Verdicts.Cells.Sides(); len(live) > 0 {
		p.paragraph(`The line under a table of measured numbers says how many of them agree with what was predicted; the appendix has every comparison, with its tolerance and its error.`)
	}
	if skipped := p.Verdicts.Skipped; skipped != "" {
		p.paragraph(table.Escape(strings.ToUpper(skipped[:1]) + skipped[1:] + "."))
	}
	p.paragraph(`The numbers of this text are commands of \texttt{tables/numbers.tex}, and its tables are files for \texttt{\textbackslash input}.`)
}
