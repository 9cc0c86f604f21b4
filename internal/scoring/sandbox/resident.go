package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"speceval/internal/scoring/sandbox/child"
)

// Resident is a program of the user's own that stays up, and reads untrusted text. Behind
// bubblewrap it has no network and sees no processes and no files of the host but the
// system's libraries and programs, its interpreter, and Visible. It can change none of them.
// Its scratch folder is /tmp. Its user bounds its computing time.
type Resident struct {
	Arguments []string // the program and its arguments, at least one
	Folder    string   // absolute: where it runs
	Visible   []string // absolute: files and folders that it sees
	Memory    int64    // bytes of address space of each of its processes; 0: no bound

	wrapper string
	python  interpreter
}

// isPython is the name of an interpreter that is asked for its libraries.
var isPython = regexp.MustCompile(`^python[0-9.]*$`)

// NewResident finds what a program needs, and tries whether bubblewrap works here.
// The error says what is missing and how to get it.
func NewResident(ctx context.Context, r Resident) (*Resident, error) {
	wrapper, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("sandbox: there is no bubblewrap: install it (Debian, Ubuntu and Fedora call the package bubblewrap): %w", err)
	}
	r.wrapper = wrapper
	r.Arguments = slices.Clone(r.Arguments)
	name := r.Arguments[0]
	if isPython.MatchString(filepath.Base(name)) {
		if r.python, err = probe(ctx, name); err != nil {
			return nil, err
		}
		r.Arguments[0] = r.python.Path
	} else if r.Arguments[0], err = program(name); err != nil {
		return nil, err
	}
	trial := r
	trial.Arguments = []string{"/bin/sh", "-c", "echo works"}
	tried, err := trial.Start()
	if err != nil {
		return nil, err
	}
	output, _ := io.ReadAll(tried.Output)
	if tried.Stop(stopTimeout); string(output) != "works\n" {
		return nil, noSandbox(tried)
	}
	return &r, nil
}

// program is the absolute path of a program.
func program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("sandbox: there is no program %q: %w", name, err)
	}
	return path, nil
}

// Start starts the program behind bubblewrap.
func (r *Resident) Start() (*child.Child, error) { return start(r.command(), true) }
