//go:build !linux

package child

import "syscall"

// OwnGroup gives a program a process group of its own.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
