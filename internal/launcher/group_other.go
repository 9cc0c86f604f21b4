//go:build !linux

package launcher

import "syscall"

// ownGroup gives a server a process group of its own, so that its engine and
// workers can be stopped with it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
