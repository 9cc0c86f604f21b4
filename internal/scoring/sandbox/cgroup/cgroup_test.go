package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestPlace(t *testing.T) {
	const (
		unified = "24 1 0:21 / /proc rw - proc proc rw\n29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "30 29 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 29 0:28 / /sys/fs/cgroup/unified rw shared:7 master:2 - cgroup2 cgroup2 rw\n"
	)
	for _, test := range []struct{ name, mounts, groups, root, own string }{
		{"unified", unified, "0::/user.slice/user@1000.service/run-1.scope\n", "/sys/fs/cgroup", "/user.slice/user@1000.service/run-1.scope"},
		{"both", hybrid, "4:memory:/a\n0::/\n", "/sys/fs/cgroup/unified", "/"},
		{"the first version", "30 29 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/a\n", "", ""},
		{"none", "", "", "", ""},
	} {
		root, own, err := place(test.mounts, test.groups)
		if root != test.root || own != test.own || (err == nil) != (test.root != "") {
			t.Errorf("%s: %q, %q, %v", test.name, root, own, err)
		}
	}
}

func TestKills(t *testing.T) {
	for events, want := range map[string]int{
		"low 0\nhigh 0\nmax 77\noom 3\noom_kill 2\noom_group_kill 0\n": 2,
		"low 0\nmax 1\noom 0\noom_kill 0\n":                            0,
		"":                                                             0,
	} {
		if got := kills(events); got != want {
			t.Errorf("%q: %d; want %d", events, got, want)
		}
	}
	if (*Group)(nil).OutOfMemory() {
		t.Error("no group has used up its memory")
	}
}

// TestPrepare has folders that are no control groups, or that cannot be used.
func TestPrepare(t *testing.T) {
	for _, test := range []struct{ name, controllers, enabled, want string }{
		{"no group", "", "", "no such file"},
		{"no controller", "cpu pids\n", "", `no controller "memory"`},
		{"no bounds", "memory pids\n", "memory pids\n", "memory.max"}, // a plain folder has no such file
	} {
		folder := t.TempDir()
		for name, content := range map[string]string{"cgroup.controllers": test.controllers, "cgroup.subtree_control": test.enabled} {
			if test.controllers == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p := &Parent{folder: folder}
		if err := p.prepare(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, prefix+"*")); len(left) > 0 {
			t.Errorf("%s: left: %v", test.name, left)
		}
	}
}

// TestTwoParents has two of one process make groups: their names are not the same.
func TestTwoParents(t *testing.T) {
	folder := t.TempDir()
	taken := filepath.Join(folder, fmt.Sprintf("%s%d-1", prefix, os.Getpid()))
	if err := os.Mkdir(taken, 0o755); err != nil {
		t.Fatal(err)
	}
	p := &Parent{folder: folder}
	if _, err := p.New(Bounds{}); errors.Is(err, os.ErrExist) || p.made.Load() != 2 {
		t.Errorf("%v, after %d names", err, p.made.Load())
	}
	if _, err := os.Stat(taken); err != nil {
		t.Error(err)
	}
}

// TestSweep has groups of a process that is there and of one that is not.
func TestSweep(t *testing.T) {
	folder := t.TempDir()
	other := exec.Command("true")
	if err := other.Run(); err != nil {
		t.Skip("a process that has ended cannot be had:", err)
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("without /proc on", runtime.GOOS)
	}
	own, left := fmt.Sprintf("%s%d-1", prefix, os.Getpid()), fmt.Sprintf("%s%d-1", prefix, other.Process.Pid)
	for _, name := range []string{own, left, leaf, "another-1"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	(&Parent{folder: folder}).sweep()
	for name, want := range map[string]bool{own: true, left: false, leaf: true, "another-1": true} {
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBounds makes a group and starts processes in it, where that can be done.
func TestBounds(t *testing.T) {
	p, err := Find()
	if err != nil { // nothing that could be installed
		t.Skip("the kernel gives no control groups of version 2 to this user:", err)
	}
	g, err := p.New(Bounds{Memory: 1 << 30, Processes: 3})
	if err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(g.folder, "cgroup.procs")
	shell := exec.Command("sh", "-c", `echo $$ > "$0"; sleep 0 & sleep 0 & sleep 0 & sleep 0 & wait; sleep 100`, inside)
	if output, err := shell.CombinedOutput(); err == nil || !strings.Contains(string(output), "fork") {
		t.Errorf("more than three processes: %s, %v", output, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(g.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is left: %v", err)
	}
}
