// Package golden compares the output of a test with a file that a person has
// reviewed. It is for tests only.
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Check compares got with testdata/name of the test's package, and leaves a
// .got file next to it when they differ. With -update it writes the file.
func Check(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		if err := os.WriteFile(path+".got", got, 0o644); err != nil {
			t.Error(err)
		}
		t.Errorf("%s differs from the golden file; see %s.got\n%s", name, path, got)
	}
}

// The functions below typeset LaTeX in tests with a real pdflatex.

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

// Compile typesets document, source text, in a fresh folder, like CompileFolder.
func Compile(t *testing.T, required bool, document string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "doc.tex"), []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	CompileFolder(t, required, dir, "doc.tex")
}

// CompileFolder typesets a document of a folder, until its references are right, and returns
// the paths of the PDF and of TeX's log. Without pdflatex or booktabs the test is skipped, or
// fails where required.
func CompileFolder(t *testing.T, required bool, dir, document string) (pdf, log string) {
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
	job := filepath.Join(t.TempDir(), strings.TrimSuffix(document, ".tex"))
	for range 4 {
		cmd := exec.Command("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape",
			"-output-directory="+filepath.Dir(job), document)
		cmd.Dir = dir
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("pdflatex: %v\n%s", err, output[max(0, len(output)-4000):])
		}
		said, err := os.ReadFile(job + ".log")
		if err != nil {
			t.Fatal(err)
		}
		if !again.Match(said) {
			return job + ".pdf", job + ".log"
		}
	}
	t.Fatal("references change in every pass")
	return "", ""
}

// again is how LaTeX and its packages ask for another run.
var again = regexp.MustCompile(`Rerun (LaTeX|to get)|may have changed`)

var overfull = regexp.MustCompile(`Overfull \\[hv]box \(([0-9.]+)pt too (?:wide|high)\).*`)

// CheckLog reports the complaints of a log: references that nothing defines, and boxes that
// are too large by more than the given points.
func CheckLog(t *testing.T, log string, points float64) {
	t.Helper()
	said, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range overfull.FindAllStringSubmatch(string(said), -1) {
		if too, err := strconv.ParseFloat(m[1], 64); err != nil || too > points {
			t.Error(m[0])
		}
	}
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "undefined") || strings.Contains(line, "multiply defined") || strings.Contains(line, "Font Warning") {
			t.Error(strings.TrimSpace(line))
		}
	}
}

// CheckFonts reports fonts of a PDF that are not part of it, and bitmaps. It
// takes pdffonts, of Debian's poppler-utils.
func CheckFonts(t *testing.T, required bool, pdf string) {
	t.Helper()
	if _, err := exec.LookPath("pdffonts"); err != nil {
		if required {
			t.Fatalf("pdffonts is not installed (Debian: poppler-utils): %v", err)
		}
		t.Logf("fonts are not looked at: pdffonts is not installed (Debian: poppler-utils)")
		return
	}
	out, err := exec.Command("pdffonts", pdf).CombinedOutput()
	if err != nil {
		t.Fatalf("pdffonts: %v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 3 {
		t.Fatalf("no fonts in %s:\n%s", pdf, out)
	}
	column := strings.Index(lines[0], "emb")
	for _, line := range lines[2:] {
		if column < 0 || len(line) < column+3 || strings.TrimSpace(line[column:column+3]) != "yes" || strings.Contains(line, "Type 3") {
			t.Errorf("a font that is not embedded, or a bitmap: %s", line)
		}
	}
}
