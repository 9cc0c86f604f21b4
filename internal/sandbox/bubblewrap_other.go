//go:build !linux

package sandbox

import (
	"errors"
	"os/exec"
)

// Bubblewrap is for Linux only: without a filter, nothing of this is run.

func (s *Sandbox) command(longest, filter int) *exec.Cmd { return exec.Command(s.wrapper) }

func (r *Resident) command(filter int) *exec.Cmd { return exec.Command(r.wrapper) }

func filter(architecture string) ([]byte, error) {
	return nil, errors.New("sandbox: programs run behind bubblewrap, which is for Linux only")
}

func sacrifice(wrapper int) {}

func killInside(wrapper int) {}
