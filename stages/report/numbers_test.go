package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/table/textest"
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
