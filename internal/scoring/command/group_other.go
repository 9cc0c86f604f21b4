//go:build !linux

package command

import "syscall"

// ownGroup gives a program a process group of its own.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
