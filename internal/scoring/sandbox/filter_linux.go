//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// denied are the system calls that are refused whatever their arguments.
var denied = []uint32{
	// Looking into other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	// Memory that belongs to no process.
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
	// Holding up the driver.
	unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
	// Other namespaces, where a program would be root.
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	// Parts of the kernel that are wide open and of no use here.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// deniedToPrograms are refused as well to programs, which are not the user's own.
var deniedToPrograms = []uint32{
	// Watches of files (253 is inotify_init, which arm64 lacks), requests to disks and locks on files, as the machine
	// has few of them.
	253, unix.SYS_INOTIFY_INIT1, unix.SYS_FANOTIFY_INIT, unix.SYS_IO_SETUP, unix.SYS_FLOCK,
	// Pages in pipes, which belong to no process.
	unix.SYS_VMSPLICE, unix.SYS_SPLICE, unix.SYS_TEE,
	// Writing to all disks.
	unix.SYS_SYNC, unix.SYS_SYNCFS,
	// Memory of the kernel, and of no process: for filters, for places of pages and for attributes of files.
	unix.SYS_SECCOMP, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF,
	unix.SYS_MBIND, unix.SYS_SET_MEMPOLICY, unix.SYS_SET_MEMPOLICY_HOME_NODE,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
}

// namespaces are the flags of clone that make one.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// otherABI is added to the numbers of x32 calls.
const otherABI = 0x40000000

// deniedCommands are the denied commands of fcntl: locks on files, by a process or by an
// open file, leases, watches of folders, and longer pipes.
var deniedCommands = []uint32{
	unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_SETLEASE, unix.F_NOTIFY, unix.F_SETPIPE_SZ,
}

// The instructions of a filter that are used here, see seccomp(2).
const (
	load      = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS // a word of the call, see word
	ifEqual   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	ifAtLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	ifAnyBit  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	giveBack  = unix.BPF_RET | unix.BPF_K
	anyBit    = 0xffffffff
)

// Offsets of words of a call.
const (
	callNumber   = 0
	architecture = 4
	argument0    = 16 // the low half; each argument has 8 bytes, of a little-endian machine
	high         = 4
)

// condition is a test of a word of a call, which must hold or, if not is set, must
// not.
type condition struct {
	word uint32
	test uint16
	k    uint32
	not  bool
}

// instructions are a filter in the making. Before each rule, the number of the
// call is loaded.
type instructions []unix.SockFilter

func (p *instructions) emit(code uint16, yes, no int, k uint32) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: uint8(yes), Jf: uint8(no), K: k})
}

// refuse ends a rule with an error number.
func (p *instructions) refuse(number unix.Errno) {
	p.emit(giveBack, 0, 0, unix.SECCOMP_RET_ERRNO|uint32(number))
}

// deny refuses a call if all the conditions hold.
func (p *instructions) deny(call uint32, conditions ...condition) {
	n := len(conditions)
	p.emit(ifEqual, 0, 2*n+2, call)
	for i, c := range conditions {
		p.emit(load, 0, 0, c.word)
		if away := 2*(n-i-1) + 1; c.not {
			p.emit(c.test, away, 0, c.k)
		} else {
			p.emit(c.test, 0, away, c.k)
		}
	}
	p.refuse(unix.EPERM)
	p.emit(load, 0, 0, callNumber)
}

// filter is a program of the kernel that refuses system calls: those by which
// programs would get around the limits. That of residents, which are the user's
// own, is the shorter one.
func filter(resident bool) ([]byte, error) {
	audit := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	all := denied
	if !resident {
		all = slices.Concat(denied, deniedToPrograms)
	}
	var p instructions
	p.emit(load, 0, 0, architecture)
	p.emit(ifEqual, 1, 0, audit)
	p.emit(giveBack, 0, 0, unix.SECCOMP_RET_KILL_PROCESS)
	p.emit(load, 0, 0, callNumber)
	p.emit(ifAtLeast, 0, 1, otherABI)
	p.refuse(unix.ENOSYS)
	p.emit(ifEqual, 0, 1, unix.SYS_CLONE3) // its flags cannot be seen: without it, libraries use clone
	p.refuse(unix.ENOSYS)
	for _, call := range all {
		p.deny(call)
	}
	p.deny(unix.SYS_CLONE, condition{argument0, ifAnyBit, namespaces, false})
	p.deny(unix.SYS_SOCKET, condition{argument0, ifEqual, unix.AF_UNIX, true})
	p.deny(unix.SYS_PRLIMIT64, condition{argument0, ifEqual, 0, true}) // of another process
	if !resident {
		p.denyPrograms()
	}
	p.emit(giveBack, 0, 0, unix.SECCOMP_RET_ALLOW)
	return binary.Append(nil, binary.NativeEndian, []unix.SockFilter(p))
}

// denyPrograms refuses, with some arguments, what accounts of a program's time and memory would miss.
func (p *instructions) denyPrograms() {
	const argument1, argument2, argument3 = argument0 + 8, argument0 + 16, argument0 + 24
	// Without a handler for the ends of its children, or with some flags of one, a
	// process has them vanish, and their time with them.
	for _, half := range []uint32{0, high} {
		p.deny(unix.SYS_RT_SIGACTION, condition{argument0, ifEqual, uint32(unix.SIGCHLD), false}, condition{argument1 + half, ifAnyBit, anyBit, false})
	}
	// Shared pages without a file stay when they are dropped from a process.
	p.deny(unix.SYS_MMAP, condition{argument3, ifAnyBit, unix.MAP_SHARED, false}, condition{argument3, ifAnyBit, unix.MAP_ANONYMOUS, false})
	// What is in sockets and pipes belongs to no process: see the driver.
	for _, option := range []uint32{unix.SO_SNDBUF, unix.SO_SNDBUFFORCE} {
		p.deny(unix.SYS_SETSOCKOPT, condition{argument1, ifEqual, unix.SOL_SOCKET, false}, condition{argument2, ifEqual, option, false})
	}
	p.deny(unix.SYS_PRCTL, condition{argument0, ifEqual, unix.PR_SET_SECCOMP, false})
	for _, command := range deniedCommands {
		p.deny(unix.SYS_FCNTL, condition{argument1, ifEqual, command, false})
	}
}
