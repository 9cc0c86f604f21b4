package sandbox

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/scoring/sandbox/child"
)

// command is a resident in its sandbox. The program runs as nobodyID in a user namespace of its
// own, without any capability.
func (r *Resident) command() *exec.Cmd {
	id := strconv.Itoa(nobodyID)
	arguments := append(isolated(), "--unshare-user", "--uid", id, "--gid", id, "--cap-drop", "ALL")
	bounds := "ulimit -c 0; "
	if r.Memory > 0 {
		bounds += fmt.Sprintf("ulimit -v %d; ", r.Memory>>10)
	}
	arguments = slices.Concat(arguments, r.tree(), []string{"/bin/sh", "-c", bounds + `exec "$@"`, "sh"}, r.Arguments)
	command := exec.Command(r.wrapper, arguments...)
	command.SysProcAttr = child.OwnGroup()
	return command
}

// systemFolders are seen by residents.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"}

// tree says what a resident sees of files.
func (r *Resident) tree() []string {
	var t tree
	t.addArguments("--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", strconv.Itoa(MaxScratch), "--tmpfs", "/tmp")
	t.made = append([]string{"/", "/tmp"}, systemFolders...)
	t.show(systemFolders...)
	outside := func(paths []string) []string {
		return slices.DeleteFunc(paths, func(path string) bool {
			return slices.ContainsFunc(systemFolders, func(folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") })
		})
	}
	t.make(outside(append(ancestors(r.Folder), r.Folder))...)
	for _, path := range outside(slices.Concat(r.python.Folders, r.Arguments[:1], r.Visible)) {
		t.make(outside(ancestors(path))...)
		t.addArguments("--ro-bind", path, path)
	}
	t.addArguments("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", r.Folder)
	t.set("PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1")
	t.set(environment...)
	if len(r.python.Sites) > 0 {
		t.set("PYTHONPATH=" + strings.Join(r.python.Sites, ":"))
	}
	return t.arguments
}
