package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// command is a resident in its sandbox. filter is the file descriptor of the
// filter of system calls in there. The program runs as nobodyID in a user namespace of its
// own, without any capability.
func (r *Resident) command(filter int) *exec.Cmd {
	id := strconv.Itoa(nobodyID)
	arguments := []string{
		"--unshare-user", "--uid", id, "--gid", id,
		"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--hostname", "sandbox", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL",
		"--seccomp", strconv.Itoa(filter),
	}
	arguments = append(arguments, r.tree()...)
	command := exec.Command(r.wrapper, append(arguments, r.limited()...)...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return command
}

// tree says what a resident sees of files.
func (r *Resident) tree() []string {
	arguments := []string{
		"--proc", "/proc", "--dev", "/dev",
		"--perms", "1777", "--size", strconv.Itoa(MaxScratch), "--tmpfs", "/tmp",
	}
	for _, path := range systemFolders {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if target, err := os.Readlink(path); info.Mode()&os.ModeSymlink != 0 && err == nil {
			arguments = append(arguments, "--symlink", target, path)
		} else {
			arguments = append(arguments, "--ro-bind", path, path)
		}
	}
	made := map[string]bool{"/tmp": true}
	folders := func(paths []string) {
		for _, folder := range paths {
			if folder != "/" && !made[folder] && !inSystem(folder) {
				made[folder] = true
				arguments = append(arguments, "--perms", "0755", "--dir", folder)
			}
		}
	}
	folders(append(ancestors(r.Folder), r.Folder))
	for _, path := range r.seen() {
		folders(ancestors(path))
		arguments = append(arguments, "--ro-bind", path, path)
	}
	arguments = append(arguments, "--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", r.Folder)
	for _, variable := range append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"}, environment...) {
		name, value, _ := strings.Cut(variable, "=")
		arguments = append(arguments, "--setenv", name, value)
	}
	if len(r.python.Sites) > 0 {
		arguments = append(arguments, "--setenv", "PYTHONPATH", strings.Join(r.python.Sites, ":"))
	}
	return arguments
}
