package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"speceval/internal/table"
)

// on is the verdicts on a table, or on the figure of the case study.
func (v Verdicts) on(base string) []Cell {
	if base == "figure2_case_study" {
		base = caseTable
	}
	return v.of(base)
}

// listed is how many cells a verdict under a table tells of at most.
const listed = 6

// verdict sets the verdict on a table or a figure beneath it.
func (p *prose) verdict(base string) {
	cells := p.verdicts.on(base)
	if len(cells) == 0 {
		return
	}
	p.line("\\verdict{%s}", verdictText(cells))
}

// verdictText is the verdict on a table in words: how many cells agree, and
// which ones not, or only as a tie, and why.
func verdictText(cells []Cell) string {
	all := Verdicts{Cells: cells}
	var noise, shown int
	var told []string
	for _, c := range cells {
		switch c.Verdict {
		case WithinNoise:
			noise++
		case Shown:
			shown++
		case Differs, Absent, Tie:
			told = append(told, c.told())
		}
	}
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if all.Judged() > 0 {
		within := ""
		if noise > 0 {
			within = fmt.Sprintf(", %d of them within noise", noise)
		}
		whom := "the paper's"
		if cells[0].Live {
			whom = "what was predicted"
		}
		say("%d of %d numbers agree with %s%s.", all.Agreeing(), all.Judged(), whom, within)
	}
	if shown > 0 {
		say("Shown without a verdict: %d.", shown)
	}
	if n := all.Missing(); n > 0 {
		say("Of a stage that has not run: %d.", n)
	}
	rest := ""
	if len(told) > listed {
		rest = fmt.Sprintf("; %d more in Appendix~\\ref{app:verdicts}", len(told)-listed)
		told = told[:listed]
	}
	if len(told) > 0 {
		say("%s%s.", strings.Join(told, "; "), rest)
	}
	return strings.Join(said, " ")
}

// told is a cell that is not as the paper's or as predicted, in words.
func (c Cell) told() string {
	obtained, paper := c.values()
	text := fmt.Sprintf("%s, %s: %s (%s for the paper's %s", c.Row, c.Column, c.Verdict, obtained, paper)
	if c.Live {
		text = fmt.Sprintf("%s, %s: %s (%s, where %s", c.Row, c.Column, c.Verdict, obtained, c.wanted())
	}
	if c.Note != "" {
		text += "; " + c.Note
	}
	return table.Escape(text + ")")
}

// values are the cell's two values as text.
func (c Cell) values() (obtained, paper string) {
	obtained, paper = c.ObtainedName, c.PaperName
	if c.PaperName == "" {
		line := c.line()
		obtained, paper = minus(line[2].Exact()), minus(line[3].Exact())
	}
	if obtained == "" {
		obtained = "nothing"
	}
	return obtained, paper
}

// verdictAppendix is every comparison: with the paper, and with what was
// predicted.
func (p *prose) verdictAppendix() {
	paper, live := p.verdicts.sides()
	title, label := "Every number beside the paper's", "app:verdicts"
	p.comparisons(paper.Cells, title, label, legend, table.Table{
		Title: "Every number of the paper that is compared: ours (obtained), the paper's, the difference, its standard error, and the verdict.",
		Label: "tab:verdicts",
	})
	title = "Every measurement beside its prediction"
	if len(paper.Cells) > 0 {
		label = "app:measured"
	}
	p.comparisons(live.Cells, title, label, liveLegend, table.Table{
		Title: "Every measured number that was predicted, the prediction, the difference, its standard error, and the verdict.",
		Label: "tab:measured",
	})
}

// comparisons sets cells of one kind as a section of the appendix.
func (p *prose) comparisons(cells []Cell, title, label, legend string, t table.Table) {
	if len(cells) == 0 {
		return
	}
	p.line("\n\\section{%s}\\label{%s}", title, label)
	p.paragraph(table.Escape(strings.Join(strings.Fields(legend), " ")))
	obtained, expected := cells[0].sides()
	for _, head := range []string{"row", "number", obtained, expected, "difference", "s.e.", "SEs", "verdict"} {
		t.Columns = append(t.Columns, table.Column{Head: table.Head{Plain: head}})
	}
	last := ""
	for _, c := range cells {
		if c.Table != last {
			t.Sections = append(t.Sections, table.Section{Row: len(t.Rows), Head: table.Head{Plain: c.Table}})
			last = c.Table
		}
		t.Rows = append(t.Rows, c.appendixRow())
	}
	p.longTable(t, `@{}>{\raggedright\arraybackslash}p{20mm}>{\raggedright\arraybackslash}p{34mm}rrrrr>{\raggedright\arraybackslash}p{28mm}@{}`)
}

// appendixRow is the cell as a row of the appendix.
func (c Cell) appendixRow() []table.Cell {
	line := c.line()
	line[0], line[1] = inBreaks(c.Row), inBreaks(c.Column)
	for i := 2; i < 7; i++ {
		if text := line[i].Exact(); strings.HasPrefix(text, "-") {
			line[i] = table.Math(text, "$-$"+table.Escape(text[1:]))
		}
	}
	verdict := string(c.Verdict)
	if c.PaperName != "" {
		verdict += ": " + c.PaperName
		if c.Verdict != Agrees {
			verdict = fmt.Sprintf("%s: %s, paper %s", c.Verdict, c.ObtainedName, c.PaperName)
		}
		line[2], line[3] = table.Text("name"), table.Text("name")
	}
	if c.Note != "" {
		verdict += "; " + c.Note
	}
	line[7] = inBreaks(verdict)
	return line
}

// inBreaks is text that may break after every sign.
func inBreaks(s string) table.Cell { return table.Math(s, breakable(s)) }

// longTable sets a table over pages, with columns of its own if align says so.
func (p *prose) longTable(t table.Table, align string) {
	var b bytes.Buffer
	if err := table.LaTeX(&b, t); err != nil {
		p.failed = errors.Join(p.failed, err)
		return
	}
	printed, err := table.ReadLaTeX(b.Bytes())
	p.failed = errors.Join(p.failed, err)
	if align != "" {
		printed.Align = align
	}
	p.number("")
	p.line("{\\scriptsize\\setlength{\\tabcolsep}{3.5pt}\n%s}", printed.Long())
}
