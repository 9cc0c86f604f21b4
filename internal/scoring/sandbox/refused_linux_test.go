//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tries makes system calls, a list of numbers a line, and names those that are not
// refused.
const tries = `
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
for line in sys.stdin:
    ctypes.set_errno(0)
    if libc.syscall(*map(ctypes.c_long, json.loads(line))) != -1 or ctypes.get_errno() != 1:
        print(line.strip(), ctypes.get_errno())
`

// TestRefusedCalls tries each system call that programs are refused, as the user of the
// test, and if that is root as another one.
func TestRefusedCalls(t *testing.T) {
	var lines []string
	try := func(call uint32, arguments ...int) {
		line, _ := json.Marshal(append([]int{int(call)}, arguments...)) // cannot fail
		lines = append(lines, string(line))
	}
	for _, call := range slices.Concat(denied, deniedToPrograms) {
		try(call, -1, -1, -1, -1, -1, -1)
	}
	for _, space := range []int{syscall.CLONE_NEWUSER, syscall.CLONE_NEWNS, syscall.CLONE_NEWNET, syscall.CLONE_NEWPID} {
		try(unix.SYS_CLONE, space)
	}
	for _, family := range []int{syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK, syscall.AF_PACKET} {
		try(unix.SYS_SOCKET, family, syscall.SOCK_DGRAM)
	}
	for _, command := range deniedCommands {
		try(unix.SYS_FCNTL, 0, int(command))
	}
	try(unix.SYS_PRLIMIT64, 1)
	try(unix.SYS_RT_SIGACTION, int(syscall.SIGCHLD), 1<<20)
	try(unix.SYS_MMAP, 0, 4096, syscall.PROT_READ, unix.MAP_SHARED|unix.MAP_ANONYMOUS, -1)
	try(unix.SYS_SETSOCKOPT, 0, syscall.SOL_SOCKET, syscall.SO_SNDBUF)
	try(unix.SYS_SETSOCKOPT, 0, syscall.SOL_SOCKET, unix.SO_SNDBUFFORCE)
	try(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, 2)
	settings := Settings{Python: "python3", CPU: 10 * time.Second, Memory: 256 << 20, AtATime: 1}
	if result := ended(t, settings, tries, strings.Join(lines, "\n")); result.End != Finished || result.Output != "" {
		t.Errorf("%+v", result)
	}
	if os.Getuid() == 0 {
		asNobody(t)
	}
}

// asNobody runs the test again, as a user without rights.
func asNobody(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "test")
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(path, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	again := exec.CommandContext(t.Context(), path, "-test.run", fmt.Sprintf("^%s$", t.Name()))
	again.Dir = "/"
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if said, err := again.CombinedOutput(); err != nil {
		t.Errorf("as a user: %v\n%s", err, said)
	}
}
