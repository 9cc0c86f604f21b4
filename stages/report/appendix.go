package report

import (
	"cmp"
	"fmt"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/table"
)

// longTables sets the tables that run over pages, sideways where they have many
// columns.
func (p *prose) longTables() {
	first := true
	for i := range p.exhibits {
		e := &p.exhibits[i]
		if !e.long() {
			continue
		}
		if first {
			p.line("\n\\section{Profile by profile}\\label{app:profiles}")
			first = false
		}
		if !e.inChapter() {
			p.paragraph(e.Remarks...)
		}
		p.number(e.Base)
		p.line("%% tables/%s.tex, over pages", e.Base)
		p.line("%s", e.printed.Fitted())
	}
}

// longTable sets a table that is no file over pages, with the given columns.
func (p *prose) longTable(t table.Table, align ...string) {
	printed, err := table.Print(t)
	if err != nil {
		p.failed = err
		return
	}
	printed.Align = "@{}" + strings.Join(align, "") + "@{}"
	p.number("")
	p.line("{\\scriptsize\\setlength{\\tabcolsep}{3.5pt}\n%s}", printed.Long())
}

// listed is how many cells a verdict under a table tells of at most.
const listed = 6

// verdict sets the verdict on a table or a figure beneath it.
func (p *prose) verdict(e *exhibit) {
	if v := p.Verdicts.Cells.Of(cmp.Or(e.Judged, e.Base)); len(v) > 0 {
		p.line("\\verdict{%s}", verdictText(v))
	}
}

// verdictText is the verdict on a table in words: how many cells of each class
// agree, and which ones not, or only as a tie, and why.
func verdictText(v agreement.Comparisons) string {
	var said, told []string
	count := map[agreement.Verdict]int{}
	for _, c := range v {
		count[c.Verdict]++
		if c.Verdict == agreement.Differs || c.Verdict == agreement.Absent || c.Verdict == agreement.Tie {
			told = append(told, inFull(c))
		}
	}
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if judged := v.Tally(); judged != "" {
		within := ""
		if noise := count[agreement.Within]; noise > 0 {
			within = fmt.Sprintf(" (%d within noise)", noise)
		}
		say("%s%s.", table.Escape(strings.ToUpper(judged[:1])+judged[1:]), within)
	}
	if shown := count[agreement.Shown]; shown > 0 {
		say("Shown without a verdict: %d.", shown)
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

// verdictAppendix is every comparison: with the paper, and with what was
// predicted.
func (p *prose) verdictAppendix() {
	ofPaper, live := p.Verdicts.Cells.Sides()
	label := "app:verdicts"
	p.comparisons(ofPaper, "Every number beside the paper's", label, table.Table{
		Title: "Every number of the paper that is compared: ours (obtained), the paper's, the difference, its standard error, and the verdict.",
		Label: "tab:verdicts",
	})
	if len(ofPaper) > 0 {
		label = "app:measured"
	}
	p.comparisons(live, "Every measurement beside its prediction", label, table.Table{
		Title: "Every measured number that was predicted, the prediction, the difference, its standard error, and the verdict.",
		Label: "tab:measured",
	})
}

// comparisons sets cells of one kind as a section of the appendix.
func (p *prose) comparisons(v agreement.Comparisons, title, label string, t table.Table) {
	if len(v) == 0 {
		return
	}
	p.line("\n\\section{%s}\\label{%s}", title, label)
	p.paragraph(table.Escape(strings.Join(strings.Fields(Legend(v)), " ")))
	obtained, expected := v[0].Sides()
	t.Columns = table.Named("row", "number", obtained, expected, "difference", "s.e.", "SEs", "class and verdict")
	last := ""
	for _, c := range v {
		if c.Table != last {
			t.Sections = append(t.Sections, table.Section{Row: len(t.Rows), Head: table.Head{Plain: c.Table}})
			last = c.Table
		}
		t.Rows = append(t.Rows, appendixRow(c))
	}
	p.longTable(t, table.Ragged(20), table.Ragged(34), "rrrrr", table.Ragged(28))
}

// appendixRow is a comparison as a row of the appendix.
func appendixRow(c agreement.Comparison) []table.Cell {
	line := c.Line()
	line[0], line[1] = table.Breaking(c.Row), table.Breaking(c.Column)
	for i := 2; i < 7; i++ {
		if text := line[i].Exact(); strings.HasPrefix(text, "-") {
			line[i] = table.Math(text, "$-$"+table.Escape(text[1:]))
		}
	}
	verdict := string(c.Verdict)
	if c.PaperName != "" {
		verdict += ": " + c.PaperName
		if c.Verdict != agreement.Agrees {
			verdict = fmt.Sprintf("%s: %s, paper %s", c.Verdict, c.ObtainedName, c.PaperName)
		}
		line[2], line[3] = table.Text("name"), table.Text("name")
	}
	if c.Class != "" {
		verdict = string(c.Class) + ", " + verdict
	}
	if c.Note != "" {
		verdict += "; " + c.Note
	}
	line[7] = table.Breaking(verdict)
	return line
}
