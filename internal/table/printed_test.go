package table

import (
	"os"
	"testing"

	"speceval/internal/golden"
)

func printed(t *testing.T, tab Table) Printed {
	t.Helper()
	p, err := Print(tab)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPrintedTablesHaveParts(t *testing.T) {
	p := printed(t, sample())
	if p.Label != "tab:sample" ||
		p.Caption != `Variance of A \& B: 100\% of it` || p.Align != "@{}lrrrrr@{}" || p.Rows() != 6 || len(p.Notes) != 2 {
		t.Errorf("%+v, %d rows", p, p.Rows())
	}
	// Headings of sections are wider than the first column, and do not count.
	if got, want := p.Width(), len(`[odd], "x"`)+len("100")+len("50.0%1.2")+len("-25.0%20.0[0pt][l]")+len("0.0000001")+len("2774773760"); got != want || p.Columns() != 6 {
		t.Errorf("%d columns, %d characters wide, want %d", p.Columns(), got, want)
	}
	empty := sample()
	empty.Rows, empty.Sections = nil, nil
	if p := printed(t, empty); p.Rows() != 0 || len(p.Heads) == 0 {
		t.Errorf("an empty table: %+v", p)
	}
}

// TestLongTablesRunOverPages sets a table that no page holds.
func TestLongTablesRunOverPages(t *testing.T) {
	golden.Check(t, "sample_long.tex", []byte(printed(t, sample()).Long()))
	tall := sample()
	for range 150 {
		tall.Rows = append(tall.Rows, tall.Rows[1])
	}
	doc := "\\documentclass{article}\\usepackage{booktabs,longtable}\\begin{document}\n" +
		printed(t, tall).Long() + "\\ifnum\\value{page}<4 \\ERROR\\fi\\end{document}\n"
	golden.Compile(t, os.Getenv("SPECEVAL_CI") != "", doc)
}
