package launcher

import "syscall"

// ownGroup gives a server a process group of its own, so that its engine and
// workers can be stopped with it, and lets the kernel tell it to end when we do:
// strictly, when the thread that starts it does, but Go keeps its threads. See
// keeper for the rest of the group.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
