package typeset

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// engine is the TeX of this machine. Where there is none the test is skipped, or fails if
// nothing may be skipped.
func engine(t *testing.T) *Engine {
	t.Helper()
	e, err := Find(t.Context(), exec.LookPath, os.Environ())
	if err != nil {
		if os.Getenv("SPECEVAL_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return e
}

func document(body string) fstest.MapFS {
	text := "\\documentclass{article}\n\\begin{document}\n" + body + "\n\\end{document}\n"
	return fstest.MapFS{"doc.tex": {Data: []byte(text)}}
}

// set sets a document of all files.
func (e *Engine) set(ctx context.Context, files fstest.MapFS) ([]byte, error) {
	return e.PDF(ctx, files, "doc.tex", slices.Collect(maps.Keys(files)))
}

func TestSameBytesInEveryFolder(t *testing.T) {
	e := engine(t)
	if !strings.Contains(e.Version, "TeX") || strings.Contains(e.Version, "\n") {
		t.Errorf("version %q", e.Version)
	}
	d := document("\\tableofcontents\\section{One}\\label{one}See \\ref{two}.\\newpage\\section{Two}\\label{two}See \\pageref{one}. \\today")
	first, err := e.set(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	t.Setenv("TMPDIR", elsewhere)
	second, err := e.set(t.Context(), d)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two runs differ: %d and %d bytes, %v", len(first), len(second), err)
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if !bytes.HasPrefix(first, []byte("%PDF-")) {
		t.Errorf("not a PDF: %.20q", first)
	}
}

// counting is a document that counts its passes up to a most, in a file by
// which passes tell the next, and writes into the PDF how far it came.
func counting(most string) fstest.MapFS {
	return document("\\newcount\\x\\InputIfFileExists{doc.lof}{}{}\\ifnum\\x<" + most + " \\advance\\x by 1 \\fi" +
		"\\pdfobjcompresslevel=0\\pdfinfo{/Keywords (pass \\the\\x)}x" +
		"\\newwrite\\f\\immediate\\openout\\f=doc.lof \\immediate\\write\\f{\\x=\\the\\x\\relax}\\immediate\\closeout\\f")
}

func TestADocumentIsSetUntilItSettles(t *testing.T) {
	e := engine(t)
	pdf, err := e.set(t.Context(), counting("4"))
	if err != nil || !bytes.Contains(pdf, []byte("(pass 4)")) {
		t.Errorf("references that settle in pass 4: %v", err)
	}
	if _, err := e.set(t.Context(), counting("99")); err == nil || !strings.Contains(err.Error(), "references change in every pass") {
		t.Errorf("a document that never settles: %v", err)
	}
}

func TestErrorsQuoteTeX(t *testing.T) {
	e := engine(t)
	for body, want := range map[string]string{
		"fine\n\\undefinedthing{x}": "doc.tex:4: Undefined control sequence.",
		"\\input{tables/gone.tex}":  "File `tables/gone.tex' not found",
		"\\usepackage{booktabs}":    "doc.tex:3: ",
	} {
		if _, err := e.set(t.Context(), document(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", body, err, want)
		}
	}
	d := document("x")
	d["doc.tex"].Data = bytes.Replace(d["doc.tex"].Data, []byte("\\begin"), []byte("\\usepackage{nosuchstyle}\n\\begin"), 1)
	if _, err := e.set(t.Context(), d); err == nil || !strings.Contains(err.Error(), "nosuchstyle.sty' not found") {
		t.Errorf("missing style: %v", err)
	}
	d["doc.tex"].Data = []byte("\\documentclass{article}\\usepackage[T1]{fontenc}\\begin{document}x\\end{document}")
	if pdf, err := e.set(t.Context(), d); err == nil && bytes.Contains(pdf, []byte("/Type3")) {
		t.Error("a bitmap font was made")
	} else if err != nil && !strings.Contains(err.Error(), "lacks a part; on Debian: apt-get install") {
		t.Errorf("missing font: %v", err)
	}
}

func TestTeXMayDoNothingElse(t *testing.T) {
	e := engine(t)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.tex")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := e.set(t.Context(), document("\\input{"+secret+"}")); err == nil {
		t.Error("it read a file that is not of the document")
	}
	made := filepath.Join(dir, "made")
	e.set(t.Context(), document("\\immediate\\write18{touch "+made+"}x"))
	if _, err := os.Stat(made); err == nil {
		t.Error("it ran a command")
	}
	d := document("x")
	d["../up.tex"] = new(fstest.MapFile)
	if _, err := e.set(t.Context(), d); err == nil {
		t.Error("a document wrote above its folder")
	}
}

func TestEndlessDocumentsAreEnded(t *testing.T) {
	e := engine(t)
	endless, late := errors.New("late"), document("\\def\\x{\\x}\\x")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, endless)
	defer cancel()
	if _, err := e.set(ctx, late); !errors.Is(err, endless) {
		t.Errorf("time limit: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := e.set(ctx, document("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestNoEngine(t *testing.T) {
	mute := filepath.Join(t.TempDir(), "mute")
	if err := os.WriteFile(mute, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for what, look := range map[string]func(string) (string, error){
		"none":                    func(string) (string, error) { return "", exec.ErrNotFound },
		"one that does not start": func(string) (string, error) { return filepath.Join(t.TempDir(), "gone"), nil },
		"one without a version":   func(string) (string, error) { return mute, nil },
	} {
		if _, err := Find(t.Context(), look, nil); err == nil || !strings.Contains(err.Error(), "no TeX is installed (looked for pdflatex); on Debian: apt-get install texlive-latex-base") {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

func TestFirstErrorOfManyOutputs(t *testing.T) {
	for output, want := range map[string]string{
		"This is pdfTeX\n! Emergency stop.\n<*> x\n":                                                     "pdflatex: Emergency stop.",
		"x\n./a.tex:7: LaTeX Error: File `booktabs.sty' not found.\n\nType X\nl.7 \\begin\n{document}\n": "pdflatex: a.tex:7: LaTeX Error: File `booktabs.sty' not found.; this TeX lacks a part; " + install,
		"!pdfTeX error: pdflatex (file ecrm1000): Font ecrm1000 at 600 not found\n ==> Fatal\n":          "pdflatex: pdfTeX error: pdflatex (file ecrm1000): Font ecrm1000 at 600 not found; this TeX lacks a part; " + install,
		"": "pdflatex: it failed without saying why",
	} {
		if got := fault(output).Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestInterruptsAreNotForTeX lets a document in the making be finished: what the
// terminal sends to all of a process group must not end the engine.
func TestInterruptsAreNotForTeX(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine")
	script := "#!/bin/sh\nkill -0 -$$ || exit 1 # there is a group of its own\necho set > doc.pdf\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Engine{Path: path}).set(t.Context(), document("")); err != nil {
		t.Errorf("it shares our process group: %v", err)
	}
}
