package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// nobodyID is the user id and group id that programs run as, which own nothing.
const nobodyID = 65534

// command is a sandbox with the driver in it, not started yet.
func (s *Sandbox) command(longest int) *exec.Cmd {
	arguments := append(isolated(), "--as-pid-1")
	attributes := &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	if os.Geteuid() == 0 {
		// The limit of processes does not apply to root, so the driver changes to the
		// user nobodyID. It starts as root, because the interpreter may be in a folder
		// that others cannot read.
		mapping := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: nobodyID, HostID: nobodyID, Size: 1}}
		attributes.Cloneflags = syscall.CLONE_NEWUSER
		attributes.UidMappings, attributes.GidMappings, attributes.GidMappingsEnableSetgroups = mapping, mapping, true
		arguments = append(arguments, "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
	} else {
		id := strconv.Itoa(nobodyID)
		arguments = append(arguments, "--unshare-user", "--uid", id, "--gid", id)
	}
	arguments = append(arguments, s.tree(longest)...)
	arguments = append(arguments, s.python.Path, "-S", "-s", "-B", "-X", "utf8", "-c", driver)
	for _, limit := range []int64{s.settings.Memory, MaxOutput, MaxFiles, MaxProcesses, maxOpen, s.settings.CPU.Milliseconds()} {
		arguments = append(arguments, strconv.FormatInt(limit, 10))
	}
	command := exec.Command(s.wrapper, append(arguments, s.python.Sites...)...)
	command.SysProcAttr = attributes
	return command
}

// isolated is the arguments that all sandboxes have.
func isolated() []string {
	return []string{
		"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--hostname", "sandbox", "--die-with-parent", "--new-session", "--clearenv", "--seccomp", strconv.Itoa(rulesFile),
	}
}

// environment is all that programs find in theirs. Sets have the same order
// every time, and libraries start no threads of their own accord.
var environment = []string{
	"HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "PYTHONHASHSEED=0",
	"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MALLOC_ARENA_MAX=1",
}

// tree says what programs see of files.
func (s *Sandbox) tree(longest int) []string {
	var t tree
	t.show("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", s.python.Path)
	t.show(s.python.Folders...)
	t.addArguments("--proc", "/proc", "--remount-ro", "/proc")
	t.addArguments(devices...)
	t.addArguments("--perms", "1777", "--size", strconv.FormatInt(scratch(longest), 10), "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/tmp")
	t.set(environment...)
	return t.arguments
}

// tree is arguments that say what is seen of files.
type tree struct {
	arguments, made []string // made are the folders
}

func (t *tree) addArguments(arguments ...string) { t.arguments = append(t.arguments, arguments...) }

// make makes folders that are not there yet.
func (t *tree) make(folders ...string) {
	for _, folder := range folders {
		if !slices.Contains(t.made, folder) {
			t.made = append(t.made, folder)
			t.addArguments("--perms", "0755", "--dir", folder)
		}
	}
}

// show shows files, folders and links, where they are.
func (t *tree) show(paths ...string) {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		t.make(ancestors(path)...)
		if target, err := os.Readlink(path); info.Mode()&os.ModeSymlink != 0 && err == nil {
			t.addArguments("--symlink", target, path)
		} else {
			t.addArguments("--ro-bind", path, path)
		}
	}
}

// set sets variables.
func (t *tree) set(variables ...string) {
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		t.addArguments("--setenv", name, value)
	}
}

// devices are all that there are. With a terminal, one of the few of the machine
// would be taken; with a source of zeros, memory that belongs to no process.
var devices = []string{
	"--perms", "0755", "--dir", "/dev",
	"--dev-bind", "/dev/null", "/dev/null", "--dev-bind", "/dev/random", "/dev/random", "--dev-bind", "/dev/urandom", "/dev/urandom",
	"--symlink", "/proc/self/fd", "/dev/fd", "--symlink", "/proc/self/fd/0", "/dev/stdin",
	"--symlink", "/proc/self/fd/1", "/dev/stdout", "--symlink", "/proc/self/fd/2", "/dev/stderr",
	"--perms", "0755", "--dir", "/dev/shm",
}

// scratch is how many bytes the files of a test may have, with an input that long.
func scratch(longest int) int64 { return MaxScratch + MaxOutput + int64(longest) }

// ancestors lists the folders above a path, from the top, without the root.
func ancestors(path string) []string {
	var folders []string
	for folder := filepath.Dir(path); folder != "/" && folder != "."; folder = filepath.Dir(folder) {
		folders = append(folders, folder)
	}
	slices.Reverse(folders)
	return folders
}

// sacrifice has the kernel end a sandbox, and nothing else, should the machine
// run out of memory. It is no fault if that cannot be had.
func sacrifice(wrapper int) {
	os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", wrapper), []byte("1000"), 0)
}

// killInside kills the driver, with which everything else in there ends, by the
// process of bubblewrap that waits for it. Were that killed alone, the driver
// would be left to the machine's first process. While there is no driver yet,
// all that there is is in one group.
func killInside(wrapper int) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", wrapper, wrapper))
	children := strings.Fields(string(list))
	if err != nil || len(children) == 0 {
		syscall.Kill(-wrapper, syscall.SIGKILL)
		return
	}
	for _, child := range children {
		if process, err := strconv.Atoi(child); err == nil {
			syscall.Kill(process, syscall.SIGKILL)
		}
	}
}
