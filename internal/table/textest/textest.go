// Package textest typesets LaTeX in tests with a real pdflatex.
package textest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Document is the LaTeX document that inputs the tables, files by path, each
// in a table environment of its own.
func Document(tables []string) string {
	var b strings.Builder
	b.WriteString("\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n")
	for _, path := range tables {
		fmt.Fprintf(&b, "\\begin{table}\\centering\\small\\input{%s}\\end{table}\n\\clearpage\n",
			filepath.ToSlash(path))
	}
	b.WriteString("\\end{document}\n")
	return b.String()
}

// Compile typesets document, source text, in a fresh folder and returns the
// path of the PDF. Without pdflatex or booktabs the test is skipped, or
// fails where required.
func Compile(t *testing.T, required bool, document string) string {
	t.Helper()
	lacking(t, required)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "doc.tex"), []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "doc.tex")
	cmd.Dir = dir
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("pdflatex: %v\n%s", err, tail(log.String(), 40))
	}
	return filepath.Join(dir, "doc.pdf")
}

// lacking skips the test where pdflatex or booktabs is not there, or fails it
// where required.
func lacking(t *testing.T, required bool) {
	t.Helper()
	lack := t.Skipf
	if required {
		lack = t.Fatalf
	}
	if _, err := exec.LookPath("pdflatex"); err != nil {
		lack("pdflatex is not installed (Debian: texlive-latex-base): %v", err)
	}
	if err := exec.Command("kpsewhich", "booktabs.sty").Run(); err != nil {
		lack("LaTeX lacks booktabs (Debian: texlive-latex-recommended): %v", err)
	}
}

// tail is the last n lines of s.
func tail(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
