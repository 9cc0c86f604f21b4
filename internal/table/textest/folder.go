package textest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// CompileFolder typesets a document of a folder, until its references are
// right, and returns the paths of the PDF and of TeX's log. Needs and failures
// are those of Compile.
func CompileFolder(t *testing.T, required bool, dir, document string) (pdf, log string) {
	t.Helper()
	lacking(t, required)
	job := filepath.Join(t.TempDir(), strings.TrimSuffix(document, ".tex"))
	for range 4 {
		cmd := exec.Command("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape",
			"-output-directory="+filepath.Dir(job), document)
		cmd.Dir = dir
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Run(); err != nil {
			t.Fatalf("pdflatex: %v\n%s", err, tail(output.String(), 40))
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

// CheckLog reports what a log complains of: references that nothing defines, and
// boxes that are more than so many points too large.
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
