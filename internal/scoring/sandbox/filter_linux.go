package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"syscall"
)

// callNumbers are the numbers of system calls on an architecture. From 424 on
// they are the same on all.
type callNumbers struct {
	audit                  uint32   // what the kernel calls the architecture
	denied                 []uint32 // whatever their arguments
	clone, socket, prlimit uint32   // denied with some

	deniedToPrograms                          []uint32 // as well
	sigaction, mmap, setsockopt, fcntl, prctl uint32   // denied to programs with some
}

// calls names the architectures that there is a filter for. Denied are: looking
// into other processes (ptrace, process_vm_readv, process_vm_writev, kcmp),
// memory that belongs to no process (memfd_create, shmget, msgget, semget,
// mq_open), holding up the driver (sched_setparam, sched_setscheduler,
// sched_setattr, sched_setaffinity, setpriority, ioprio_set), other namespaces,
// where a program would be root (unshare, setns), and parts of the kernel that
// are wide open and of no use here (bpf, perf_event_open, userfaultfd, add_key,
// request_key, keyctl, open_by_handle_at).
//
// Programs, which are not the user's own, are denied more: watches of files, as
// the machine has few (inotify_init, inotify_init1, fanotify_init), pages in
// pipes, which belong to no process (vmsplice, splice, tee), writing to all
// disks (sync, syncfs), requests to disks, which the machine has few of (io_setup), locks
// on files of the machine (flock), memory of the kernel for filters (seccomp), for places
// of pages (mbind, set_mempolicy) and for attributes of files (setxattr, lsetxattr, fsetxattr).
var calls = map[string]callNumbers{
	"amd64": {
		0xc000003e, []uint32{101, 310, 311, 312, 319, 29, 68, 64, 240, 142, 144, 314, 203, 141, 251, 272, 308, 321, 298, 323, 248, 249, 250, 304}, 56, 41, 302,
		[]uint32{253, 294, 300, 278, 275, 276, 162, 306, 206, 73, 317, 237, 238, 188, 189, 190}, 13, 9, 54, 72, 157,
	},
	"arm64": {
		0xc00000b7, []uint32{117, 270, 271, 272, 279, 194, 186, 190, 180, 118, 119, 274, 122, 140, 30, 97, 268, 280, 241, 282, 217, 218, 219, 265}, 220, 198, 261,
		[]uint32{26, 262, 75, 76, 77, 81, 267, 0, 32, 277, 235, 237, 5, 6, 7}, 134, 222, 208, 25, 167,
	},
}

// deniedEverywhere have one number: io_uring_setup, io_uring_enter,
// io_uring_register, pidfd_getfd and memfd_secret. Programs are denied more, for which the
// kernel has memory of no process: landlock_create_ruleset, landlock_add_rule,
// landlock_restrict_self, set_mempolicy_home_node and setxattrat.
var (
	deniedEverywhere           = []uint32{425, 426, 427, 438, 447}
	deniedToProgramsEverywhere = []uint32{444, 445, 446, 450, 463}
)

// What arguments of system calls mean.
const (
	clone3       = 435
	otherABI     = 0x40000000 // added to the numbers of x32 calls
	namespaces   = 0x7e020000 // flags of clone that make one
	mapShared    = 0x01       // flags of mmap
	mapAnonymous = 0x20
	setSeccomp   = 22 // a command of prctl
	sendBufForce = 32 // an option of sockets
	anyBit       = 0xffffffff
)

// deniedCommands are the denied commands of fcntl: locks on files, by a process or by an
// open file, leases, watches of folders, and longer pipes.
var deniedCommands = []uint32{syscall.F_SETLK, syscall.F_SETLKW, 37, 38, 1024, 1026, 1031}

// The instructions of a filter that are used here, see seccomp(2), and what it
// returns.
const (
	load      = 0x20 // a word of the call, see word
	ifEqual   = 0x15
	ifAtLeast = 0x35
	ifAnyBit  = 0x45
	giveBack  = 0x06

	allow = 0x7fff0000
	deny  = 0x00050000 // with an error number
	kill  = 0x80000000
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
type instructions struct{ bytes.Buffer }

func (p *instructions) add(code uint16, yes, no int, k uint32) {
	binary.Write(p, binary.NativeEndian, struct {
		Code    uint16
		Yes, No uint8 // instructions to skip
		K       uint32
	}{code, uint8(yes), uint8(no), k})
}

// deny refuses a call if all the conditions hold.
func (p *instructions) deny(call uint32, conditions ...condition) {
	n := len(conditions)
	p.add(ifEqual, 0, 2*n+2, call)
	for i, c := range conditions {
		p.add(load, 0, 0, c.word)
		if away := 2*(n-i-1) + 1; c.not {
			p.add(c.test, away, 0, c.k)
		} else {
			p.add(c.test, 0, away, c.k)
		}
	}
	p.add(giveBack, 0, 0, deny|uint32(syscall.EPERM))
	p.add(load, 0, 0, callNumber)
}

// filter is a program of the kernel that refuses system calls: those by which
// programs would get around the limits. That of residents, which are the user's
// own, is the shorter one.
func filter(name string, resident bool) ([]byte, error) {
	numbers, known := calls[name]
	if !known {
		return nil, fmt.Errorf("sandbox: there is no filter of system calls for %s: only for amd64 and arm64", name)
	}
	var p instructions
	p.add(load, 0, 0, architecture)
	p.add(ifEqual, 1, 0, numbers.audit)
	p.add(giveBack, 0, 0, kill)
	p.add(load, 0, 0, callNumber)
	p.add(ifAtLeast, 0, 1, otherABI)
	p.add(giveBack, 0, 0, deny|uint32(syscall.ENOSYS))
	p.add(ifEqual, 0, 1, clone3) // its flags cannot be seen: without it, libraries use clone
	p.add(giveBack, 0, 0, deny|uint32(syscall.ENOSYS))
	for _, list := range [][]uint32{numbers.denied, deniedEverywhere} {
		for _, call := range list {
			p.deny(call)
		}
	}
	p.deny(numbers.clone, condition{argument0, ifAnyBit, namespaces, false})
	p.deny(numbers.socket, condition{argument0, ifEqual, syscall.AF_UNIX, true})
	p.deny(numbers.prlimit, condition{argument0, ifEqual, 0, true}) // of another process
	if !resident {
		numbers.denyPrograms(&p)
	}
	p.add(giveBack, 0, 0, allow)
	return p.Bytes(), nil
}

// denyPrograms refuses what accounts of a program's time and memory would miss.
func (numbers callNumbers) denyPrograms(p *instructions) {
	const argument1, argument2, argument3 = argument0 + 8, argument0 + 16, argument0 + 24
	for _, call := range slices.Concat(numbers.deniedToPrograms, deniedToProgramsEverywhere) {
		p.deny(call)
	}
	// Without a handler for the ends of its children, or with some flags of one, a
	// process has them vanish, and their time with them.
	for _, half := range []uint32{0, high} {
		p.deny(numbers.sigaction, condition{argument0, ifEqual, uint32(syscall.SIGCHLD), false}, condition{argument1 + half, ifAnyBit, anyBit, false})
	}
	// Shared pages without a file stay when they are dropped from a process.
	p.deny(numbers.mmap, condition{argument3, ifAnyBit, mapShared, false}, condition{argument3, ifAnyBit, mapAnonymous, false})
	// What is in sockets and pipes belongs to no process: see the driver.
	for _, option := range []uint32{syscall.SO_SNDBUF, sendBufForce} {
		p.deny(numbers.setsockopt, condition{argument1, ifEqual, syscall.SOL_SOCKET, false}, condition{argument2, ifEqual, option, false})
	}
	p.deny(numbers.prctl, condition{argument0, ifEqual, setSeccomp, false})
	for _, command := range deniedCommands {
		p.deny(numbers.fcntl, condition{argument1, ifEqual, command, false})
	}
}
