//go:build !linux

package sandbox

import "os/exec"

// Bubblewrap is for Linux only: without a filter, nothing of this is run.

func (s *Sandbox) command(longest int) *exec.Cmd {
	return exec.Command(s.wrapper)
}

func (r *Resident) command() *exec.Cmd { return exec.Command(r.wrapper) }

func scratch(longest int) int64 { return 0 }

func sacrifice(wrapper int) {}

func killInside(wrapper int) {}
