package table

import (
	"bytes"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"speceval/internal/golden"
)

// sample has every kind of cell, a grouped heading, sections, marks and notes.
func sample() Table {
	return Table{
		Title: "Variance of A & B: 100% of it",
		Label: "tab:sample",
		Columns: []Column{
			{Name: "model_name", Head: Head{Plain: "Model"}, Align: Left},
			{Name: "n", Head: Head{Plain: "N", TeX: "$N$"}},
			{Name: "ratio", Head: Head{Plain: "Obtained"}, Group: Head{Plain: "Ratio"},
				Format: Format{Decimals: 1, Percent: true}},
			{Name: "paper_ratio", Head: Head{Plain: "Paper"}, Group: Head{Plain: "Ratio"},
				Format: Format{Decimals: 1, Percent: true}},
			{Name: "alpha", Head: Head{Plain: "α"}, Format: Format{Decimals: 7}},
			{Name: "theta", Head: Head{Plain: "θ/10^9"}, Format: Format{Decimals: 6, Scale: 1e-9}},
		},
		Rows: [][]Cell{
			{Text("qwen_3b"), Integer(100), Number(0.8726999), Number(0.872), Number(0.13), Integer(2774773760)},
			{Math("b = 8", "$b=8$"), Integer(-3), Number(-1e-9), Missing(), Missing(), Number(2774773760)},
			{Text("[odd], \"x\""), Integer(0), Number(1.0 / 3).Bold(), Number(-0.25).Marked("†"), Number(1e-7), Missing()},
			{Text("spread"), Integer(0), Number(0.5).PlusMinus(0.0123), Number(-0.25).PlusMinus(0.2).Marked("†"), Missing(), Missing()},
		},
		Sections: []Section{{Row: 0, Head: Head{Plain: "100% real"}}, {Row: 2, Head: Head{Plain: "made (α)", TeX: `made ($\alpha$)`}}},
		Notes:    []string{"† paper: (53, 0.728)"},
	}
}

func TestFormsMatchGoldenFiles(t *testing.T) {
	tex := func(w io.Writer, t Table) error { return LaTeX(w, t, "command: x; commit: y; key: z") }
	for name, write := range map[string]func(io.Writer, Table) error{
		"sample.csv": CSV, "sample.tex": tex, "sample.txt": WriteText,
	} {
		var b bytes.Buffer
		if err := write(&b, sample()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		golden.Check(t, name, b.Bytes())
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	columns := []Column{{Name: "v"}}
	for _, c := range []struct {
		name, want string
		rows       [][]Cell
	}{
		{"short row", "row 2 has 0 cells, want 1", [][]Cell{{Number(1)}, {}}},
		{"NaN", "row 1, column v: NaN", [][]Cell{{Number(math.NaN())}}},
		{"spread", "row 1, column v: NaN", [][]Cell{{Number(1).PlusMinus(math.NaN())}}},
		{"infinity", "row 1, column v: +Inf", [][]Cell{{Number(math.Inf(1))}}},
	} {
		tab := Table{Label: "tab:bad", Columns: columns, Rows: c.rows}
		for form, err := range map[string]error{
			"CSV": CSV(io.Discard, tab), "LaTeX": LaTeX(io.Discard, tab), "text": WriteText(io.Discard, tab),
		} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: error %v, want one with %q", c.name, form, err, c.want)
			}
		}
	}
}

func TestSignsAndFineDecimals(t *testing.T) {
	for v, want := range map[float64]string{-0.001: "0.00", -0.01: "-0.01"} { // a small negative number has no sign
		if got := (Format{Decimals: 2}).Print(v); got != want {
			t.Errorf("%v prints %s, want %s", v, got, want)
		}
	}
	f := Format{Decimals: 2, Percent: true, Signed: true, Fine: true}
	for v, want := range map[float64]string{
		0.028876: "+2.89%", 0.00073463: "+0.073%", -0.0736: "-7.36%", 0.00139457: "+0.14%",
		-0.0007: "-0.070%", 0: "0.000%", 1e-9: "0.000%", -1e-9: "0.000%", 0.001: "+0.10%",
	} {
		if got := f.Print(v); got != want {
			t.Errorf("%v prints %s, want %s", v, got, want)
		}
	}
	for number, want := range map[float64]string{0.05: "0.04", 0.0005: "0.040", 12: "0.04"} {
		if got := f.spread(number, 0.0004); got != want {
			t.Errorf("a spread of %v prints %s, want %s", number, got, want)
		}
	}
}

func TestTextIsWrapped(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "!\n"},
		{" a  b\n", "! a b\n"},
		{strings.Repeat("é", 98) + " b", "! " + strings.Repeat("é", 98) + "\n  b\n"},
		{strings.Repeat("é", 96) + " b c", "! " + strings.Repeat("é", 96) + " b\n  c\n"},
		{strings.Repeat("x", 120) + " b", "! " + strings.Repeat("x", 120) + "\n  b\n"},
	} {
		if got := Wrap("! ", "  ", c.text); got != c.want {
			t.Errorf("%q is %q, want %q", c.text, got, c.want)
		}
	}
}

func TestGrids(t *testing.T) {
	g := Grid{Title: "Units", Heads: []string{"<unit", "n", "<"}, Notes: []string{"and more"}}
	g.Add("a", "10", "")
	g.Add("long", "9", None)
	var b bytes.Buffer
	want := "Units\n\nunit   n\n-----------\na     10\nlong   9  —\nand more\n"
	if err := g.Write(&b); err != nil || b.String() != want {
		t.Errorf("%v, %q, want %q", err, b.String(), want)
	}
	b.Reset()
	if err := (&Grid{Title: "Units"}).Write(&b); err != nil || b.Len() > 0 {
		t.Errorf("%v, %q of an empty grid", err, b.String())
	}
}

func printed(t *testing.T, tab Table) Printed {
	t.Helper()
	p, err := Print(tab)
	if err != nil {
		t.Fatal(err)
	}
	return p
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
