package child

import "syscall"

// OwnGroup gives a program a process group of its own, and has the kernel kill it
// when the thread that has started it ends, with this program at the latest.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
