// Package typeset turns a LaTeX document into a PDF by pdfTeX, where the machine has it:
// the same bytes every time, or an error that quotes TeX's own.
//
// TeX works in a folder of its own that is gone afterwards. It may run no command, sees no
// date, and reads nothing of the folder it works in.
package typeset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	program = "pdflatex"

	// passes is how often a document is set at most, until references, tables
	// over pages and bookmarks stay where they are.
	passes = 6

	// mostTime is how long TeX may take for a document, and versionTime to print its
	// version.
	mostTime    = 2 * time.Minute
	versionTime = 10 * time.Second

	// install is how to get all that a report needs.
	install = "on Debian: apt-get install texlive-latex-base texlive-latex-recommended lmodern"
)

// Engine is the TeX of this machine.
type Engine struct {
	Path    string // of its program
	Version string // the first line of its --version: "pdfTeX 3.141592653-2.6-1.40.24 …"

	environment []string // that it is started with
}

// Find finds the TeX of this machine; lookPath finds a program by its name, as exec.LookPath
// does, and the environment is what it is started with, as that of exec.Cmd. It is an error
// if there is none, or none that prints its version.
func Find(ctx context.Context, lookPath func(program string) (path string, err error), environment []string) (*Engine, error) {
	path, err := lookPath(program)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, versionTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, path, "--version")
		cmd.Env = environment
		out, _ := cmd.Output()
		if line, _, _ := strings.Cut(string(out), "\n"); strings.TrimSpace(line) != "" {
			return &Engine{path, strings.TrimSpace(line), environment}, nil
		}
	}
	return nil, fmt.Errorf("no TeX is installed (looked for %s); %s", program, install)
}

// PDF sets the document main, which is among some files of a folder and reads the others, and
// returns the PDF, whose bytes depend on these files and the engine alone. A cancelled
// context ends the engine.
func (e *Engine) PDF(ctx context.Context, from fs.FS, main string, names []string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, mostTime, fmt.Errorf("%s did not end within %v", program, mostTime))
	defer cancel()
	dir, err := os.MkdirTemp("", "speceval-tex-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, name := range names {
		data, err := fs.ReadFile(from, name)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o777)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			return nil, err
		}
	}
	job := strings.TrimSuffix(main, filepath.Ext(main))
	before := ""
	for range passes {
		if err := e.pass(ctx, dir, job, main); err != nil {
			return nil, err
		}
		after, err := left(dir, job)
		if err != nil {
			return nil, err
		}
		if after == before {
			return os.ReadFile(filepath.Join(dir, job+".pdf"))
		}
		before = after
	}
	return nil, fmt.Errorf("%s: %s: references change in every pass", program, main)
}

// settings end the environment of TeX: no date, no file from above its
// folder, no fonts made on the way, and no wrapped lines in what it prints.
var settings = []string{
	"SOURCE_DATE_EPOCH=0", "FORCE_SOURCE_DATE=1", "TZ=UTC", "LC_ALL=C",
	"openin_any=p", "openout_any=p", "shell_escape=f",
	"MKTEXPK=0", "MKTEXTFM=0", "max_print_line=1000",
}

// pass sets the document once.
func (e *Engine) pass(ctx context.Context, dir, job, main string) error {
	cmd := exec.CommandContext(ctx, e.Path, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error",
		"-file-line-error", "-jobname="+job, `\input{`+main+`}`)
	cmd.Dir = dir
	cmd.Env = append(append(cmd.Env, e.environment...), settings...)
	cmd.Env = append(cmd.Env, "TEXMFVAR="+filepath.Join(dir, ".texmf"), "TEXMFCACHE="+filepath.Join(dir, ".texmf"))
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us, who end it when we must
	output, err := cmd.CombinedOutput()
	switch exit := new(exec.ExitError); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &exit):
		return fmt.Errorf("start %s: %w", e.Path, err)
	}
	return fault(string(output))
}

// left is the text of the files that a pass leaves for the next.
func left(dir, job string) (string, error) {
	var b strings.Builder
	for _, ext := range []string{".aux", ".toc", ".out", ".lof", ".lot"} {
		data, err := os.ReadFile(filepath.Join(dir, job+ext))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		fmt.Fprintf(&b, "%s %d\n%s", ext, len(data), data)
	}
	return b.String(), nil
}

var (
	first   = regexp.MustCompile(`(?m)^(?:(?:\./)?([^\s:()]+:\d+: .+)|!\s*(.+))$`)
	lacking = regexp.MustCompile(`(?i)\.(?:sty|cls|def|fd)' not found|font .* not (?:found|loadable)`)
)

// fault is the first error in the output of TeX: a line that begins with a place in a file,
// or with an exclamation mark.
func fault(output string) error {
	m := first.FindStringSubmatch(output)
	if m == nil {
		return errors.New(program + ": it failed without saying why")
	}
	text := program + ": " + m[1] + m[2]
	if lacking.MatchString(text) {
		text += "; this TeX lacks a part; " + install
	}
	return errors.New(text)
}
