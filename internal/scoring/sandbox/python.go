package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// interpreter is a Python, and what it needs.
type interpreter struct {
	Path    string   // of the program itself: no link, and no script that looks for one
	Folders []string // with its libraries
	Sites   []string // with what is installed for it: the last folders of its search path
}

// question asks an interpreter about itself.
const question = `
import json, os, site, sys
if sys.version_info < (3, 9):
    sys.exit("it is Python %d.%d, and 3.9 is the oldest that will do" % sys.version_info[:2])
import ctypes
roots = {os.path.realpath(p) for p in (sys.base_prefix, sys.base_exec_prefix)}
sites = [os.path.realpath(p) for p in site.getsitepackages() if os.path.isdir(p)]
libraries = [p for r in sorted(roots) for p in (os.path.join(r, "lib"), os.path.join(r, "lib64")) if os.path.isdir(p)]
print(json.dumps({"Path": os.path.realpath(sys.executable), "Folders": libraries + sites, "Sites": sites}))
`

// probe finds an interpreter by its name or path.
func probe(ctx context.Context, name string) (interpreter, error) {
	var python interpreter
	var complaint bytes.Buffer
	command := exec.CommandContext(ctx, name, "-c", question)
	command.Stderr = &complaint
	answer, err := command.Output()
	if err == nil {
		err = json.Unmarshal(answer, &python)
	}
	switch {
	case ctx.Err() != nil:
		return python, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return python, fmt.Errorf("sandbox: there is no interpreter %q: install Python, or name another one: %w", name, err)
	case err != nil:
		return python, fmt.Errorf("sandbox: the interpreter %q does not do: %w: %s", name, err, lastLine(complaint.String()))
	}
	return python, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
