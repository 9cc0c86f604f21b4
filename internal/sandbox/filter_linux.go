package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"syscall"
)

// callNumbers are the numbers of system calls on an architecture. From 424 on
// they are the same on all.
type callNumbers struct {
	audit                  uint32   // what the kernel calls the architecture
	denied                 []uint32 // whatever their arguments
	clone, socket, prlimit uint32   // denied with some
}

// calls names the architectures that there is a filter for. Denied are: looking
// into other processes (ptrace, process_vm_readv, process_vm_writev, kcmp),
// memory that belongs to no process (memfd_create, shmget, msgget, semget,
// mq_open), holding up the driver (sched_setparam, sched_setscheduler,
// sched_setattr, sched_setaffinity, setpriority, ioprio_set), other namespaces,
// where a program would be root (unshare, setns), and parts of the kernel that
// are wide open and of no use here (bpf, perf_event_open, userfaultfd, add_key,
// request_key, keyctl, open_by_handle_at).
var calls = map[string]callNumbers{
	"amd64": {0xc000003e, []uint32{101, 310, 311, 312, 319, 29, 68, 64, 240, 142, 144, 314, 203, 141, 251, 272, 308, 321, 298, 323, 248, 249, 250, 304}, 56, 41, 302},
	"arm64": {0xc00000b7, []uint32{117, 270, 271, 272, 279, 194, 186, 190, 180, 118, 119, 274, 122, 140, 30, 97, 268, 280, 241, 282, 217, 218, 219, 265}, 220, 198, 261},
}

// deniedEverywhere have one number: io_uring_setup, io_uring_enter,
// io_uring_register, pidfd_getfd and memfd_secret.
var deniedEverywhere = []uint32{425, 426, 427, 438, 447}

const (
	clone3     = 435
	otherABI   = 0x40000000 // added to the numbers of x32 calls
	namespaces = 0x7e020000 // flags of clone that make one
)

// The instructions of a filter that are used here, see seccomp(2), and what it
// returns.
const (
	load      = 0x20 // a word of the call: 0 is its number, 4 the architecture, 16 the first argument
	ifEqual   = 0x15
	ifAtLeast = 0x35
	ifAnyBit  = 0x45
	giveBack  = 0x06

	allow = 0x7fff0000
	deny  = 0x00050000 // with an error number
	kill  = 0x80000000
)

// filter is a program of the kernel that refuses system calls: those by which
// programs would get around the limits.
func filter(architecture string) ([]byte, error) {
	numbers, known := calls[architecture]
	if !known {
		return nil, fmt.Errorf("sandbox: there is no filter of system calls for %s: only for amd64 and arm64", architecture)
	}
	var program bytes.Buffer
	add := func(code uint16, yes, no uint8, k uint32) {
		binary.Write(&program, binary.NativeEndian, struct {
			Code    uint16
			Yes, No uint8 // instructions to skip
			K       uint32
		}{code, yes, no, k})
	}
	// when refuses a call if a test of its first argument holds.
	when := func(call uint32, test uint16, k uint32, refuse bool) {
		add(ifEqual, 0, 4, call)
		add(load, 0, 0, 16)
		if refuse {
			add(test, 0, 1, k)
		} else {
			add(test, 1, 0, k)
		}
		add(giveBack, 0, 0, deny|uint32(syscall.EPERM))
		add(load, 0, 0, 0)
	}
	add(load, 0, 0, 4)
	add(ifEqual, 1, 0, numbers.audit)
	add(giveBack, 0, 0, kill)
	add(load, 0, 0, 0)
	add(ifAtLeast, 0, 1, otherABI)
	add(giveBack, 0, 0, deny|uint32(syscall.ENOSYS))
	add(ifEqual, 0, 1, clone3) // its flags cannot be seen: without it, libraries use clone
	add(giveBack, 0, 0, deny|uint32(syscall.ENOSYS))
	for _, list := range [][]uint32{numbers.denied, deniedEverywhere} {
		for _, call := range list {
			add(ifEqual, 0, 1, call)
			add(giveBack, 0, 0, deny|uint32(syscall.EPERM))
		}
	}
	when(numbers.clone, ifAnyBit, namespaces, true)
	when(numbers.socket, ifEqual, syscall.AF_UNIX, false)
	when(numbers.prlimit, ifEqual, 0, false) // of another process
	add(giveBack, 0, 0, allow)
	return program.Bytes(), nil
}
