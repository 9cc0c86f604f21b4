package typeset

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

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

// Find looks for an engine; look finds a program by its name, as exec.LookPath
// does, and the environment is what the engine is started with, as that of
// exec.Cmd. Where there is none, or none that tells its version, the error is a
// *NoEngineError.
func Find(ctx context.Context, look func(program string) (path string, err error), environment []string) (*Engine, error) {
	lack := new(NoEngineError)
	for _, e := range engines {
		lack.Tried = append(lack.Tried, e.Name)
		path, err := look(e.Name)
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
