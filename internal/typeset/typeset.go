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
			return fmt.Errorf("typeset: %s is not a file beside the document", name)
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
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
