// Package typeset turns a LaTeX document into a PDF by the TeX engine that the
// machine has: the same bytes every time, or an error that quotes TeX's own.
//
// An engine works in a folder of its own that is gone afterwards. It may run no
// command, sees no date, and reads nothing of the folder it works in.
package typeset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// passes is how often a document is set at most, until references, tables
	// over pages and bookmarks stay where they are.
	passes = 6

	// DefaultTime is how long an engine may take for a document.
	DefaultTime = 2 * time.Minute
)

// Document is LaTeX to be set: Main and what it reads, by slash-separated
// relative path.
type Document struct {
	Main  string // "report.tex"
	Files map[string][]byte

	Limit time.Duration // DefaultTime where 0
}

// ErrUnsettled says that a document changed in every pass, so that its
// references are never right.
var ErrUnsettled = errors.New("references change in every pass")

// PDF sets a document and returns the PDF, whose bytes depend on the document
// and the engine alone. What is wrong with the document is an *Error. A
// cancelled context ends the engine.
func (e *Engine) PDF(ctx context.Context, d Document) ([]byte, error) {
	if d.Limit == 0 {
		d.Limit = DefaultTime
	}
	late := fmt.Errorf("%s did not end within %v", e.Name, d.Limit)
	ctx, cancel := context.WithTimeoutCause(ctx, d.Limit, late)
	defer cancel()
	dir, err := os.MkdirTemp("", "speceval-tex-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := d.write(dir); err != nil {
		return nil, err
	}
	job := strings.TrimSuffix(d.Main, filepath.Ext(d.Main))
	var before [sha256.Size]byte
	for range passes {
		if err := e.pass(ctx, dir, job, d); err != nil {
			return nil, err
		}
		after, err := memory(dir, job)
		if err != nil {
			return nil, err
		}
		if after == before {
			return os.ReadFile(filepath.Join(dir, job+".pdf"))
		}
		before = after
	}
	return nil, fmt.Errorf("%s: %s: %w", e.Name, d.Main, ErrUnsettled)
}

// write puts the files of a document into a folder.
func (d Document) write(dir string) error {
	for name, data := range d.Files {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("typeset: %s is not a file next to the document", name)
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// settings end the environment of an engine: no date, no file from above its
// folder, no fonts made on the way, and no wrapped lines in what it says.
var settings = []string{
	"SOURCE_DATE_EPOCH=0", "FORCE_SOURCE_DATE=1", "TZ=UTC", "LC_ALL=C",
	"openin_any=p", "openout_any=p", "shell_escape=f",
	"MKTEXPK=0", "MKTEXTFM=0", "max_print_line=1000",
}

// pass sets the document once.
func (e *Engine) pass(ctx context.Context, dir, job string, d Document) error {
	cmd := exec.CommandContext(ctx, e.Path, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error",
		"-file-line-error", "-jobname="+job, e.prologue+`\input{`+d.Main+`}`)
	cmd.Dir = dir
	cmd.Env = append(append(cmd.Env, e.environment...), settings...)
	cmd.Env = append(cmd.Env, "TEXMFVAR="+filepath.Join(dir, ".texmf"), "TEXMFCACHE="+filepath.Join(dir, ".texmf"))
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us, who end it when we must
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	switch exit := new(exec.ExitError); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &exit):
		return fmt.Errorf("start %s: %w", e.Path, err)
	}
	return firstError(e.Name, output.String())
}

// remembered are the files by which one pass tells the next.
var remembered = []string{".aux", ".toc", ".out", ".lof", ".lot"}

// memory is the digest of what a pass left for the next.
func memory(dir, job string) (sum [sha256.Size]byte, err error) {
	hash := sha256.New()
	for _, ext := range remembered {
		data, err := os.ReadFile(filepath.Join(dir, job+ext))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return sum, err
		}
		fmt.Fprintf(hash, "%s %d\n", ext, len(data))
		hash.Write(data)
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// Engine is a TeX engine of this machine.
type Engine struct {
	Name    string // "pdflatex"
	Path    string // of its program
	Version string // the line that it says of itself: "pdfTeX 3.141592653-2.6-1.40.24 …"

	prologue    string   // TeX that it reads before the document
	environment []string // that it is started with
}

// engines are the candidates, best first. LuaTeX does what SOURCE_DATE_EPOCH
// asks for but for the identity of the file, which is left out instead.
var engines = []Engine{
	{Name: "pdflatex"},
	{Name: "lualatex", prologue: `\pdfvariable suppressoptionalinfo 512 `},
}

// NoEngineError says that no TeX engine is installed.
type NoEngineError struct {
	Tried []string // names of programs
}

func (e *NoEngineError) Error() string {
	return fmt.Sprintf("no TeX engine is installed (looked for %s); on Debian: apt-get install %s",
		strings.Join(e.Tried, ", "), strings.Join(Packages, " "))
}

// versionTime is how long an engine may take to say its version.
const versionTime = 10 * time.Second

// Find looks for an engine; lookPath finds a program by its name, as exec.LookPath
// does, and the environment is what the engine is started with, as that of
// exec.Cmd. Where there is none, or none that tells its version, the error is a
// *NoEngineError.
func Find(ctx context.Context, lookPath func(program string) (path string, err error), environment []string) (*Engine, error) {
	lack := new(NoEngineError)
	for _, e := range engines {
		lack.Tried = append(lack.Tried, e.Name)
		path, err := lookPath(e.Name)
		if err != nil {
			continue
		}
		e.Path, e.environment = path, environment
		if e.Version, err = version(ctx, path, environment); err != nil {
			continue
		}
		return &e, nil
	}
	return nil, lack
}

// version is the first line that an engine says of itself.
func version(ctx context.Context, path string, environment []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environment
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(out, []byte("\n"))
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return "", fmt.Errorf("%s tells no version", path)
	}
	return string(line), nil
}
