package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/table/textest"
	"speceval/internal/variance"
)

func TestNumbersMatchTheGoldenFileAndLaTeX(t *testing.T) {
	s := paperStudy(t)
	macros, err := numbers(s.Results)
	if err != nil {
		t.Fatal(err)
	}
	costs, err := costNumbers(withFleet(paperCosts(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	macros = append(macros, costs...)
	macros = append(macros, tsNumbers([]variance.Search{
		{Budget: 8, Alpha: 0.07, M0: 5, MSE: 0.886, MSESE: 0.0021, Selected: true}, {Budget: 8, Alpha: 0.06, M0: 5, MSE: 0.887},
		{Budget: 64, Alpha: 0.04, M0: 10, MSE: 0.66, MSESE: 0.001, Selected: true}, {Budget: 12, MSE: 1, Selected: true},
	}, map[int32]float64{8: 0.8725, 64: 0.6644})...)
	macros = append(macros, experimentNumbers(s.Experiment)...)
	seen := map[string]bool{}
	for _, m := range macros {
		if seen[m.name] {
			t.Errorf("\\%s is defined twice", m.name)
		}
		seen[m.name] = true
	}
	var b bytes.Buffer
	if err := writeMacros(&b, "command: c; commit: d; key: e", macros); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "numbers.tex", b.Bytes())

	path := filepath.Join(t.TempDir(), "numbers.tex")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var doc strings.Builder
	doc.WriteString("\\documentclass{article}\n\\input{" + filepath.ToSlash(path) + "}\n\\begin{document}\n")
	for _, m := range macros {
		doc.WriteString("\\" + m.name + "\n\n")
	}
	doc.WriteString("\\end{document}\n")
	textest.Compile(t, os.Getenv("SPECEVAL_CI") != "", doc.String())
}

func TestNumbersBelowZeroHaveASign(t *testing.T) {
	var b bytes.Buffer
	if err := writeMacros(&b, "made up", []macro{{"specA", "-0.2%"}, {"specB", "a-b"}}); err != nil {
		t.Fatal(err)
	}
	if want := "% made up\n\\newcommand{\\specA}{$-$0.2\\%}\n\\newcommand{\\specB}{a-b}\n"; b.String() != want {
		t.Errorf("%s, want %s", b.String(), want)
	}
}
