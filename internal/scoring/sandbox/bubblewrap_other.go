//go:build !linux

package sandbox

import (
	"errors"
	"os/exec"
)

// Bubblewrap is for Linux only: without a filter, nothing of this is run.

func (s *Sandbox) command(longest int) *exec.Cmd {
	return exec.Command(s.wrapper)
}

func (r *Resident) command() *exec.Cmd { return exec.Command(r.wrapper) }

func filter(architecture string, resident bool) ([]byte, error) {
	return nil, errors.New("sandbox: programs run behind bubblewrap, which is for Linux only")
}

func scratch(longest int) int64 { return 0 }

func sacrifice(wrapper int) {}

func killInside(wrapper int) {}
