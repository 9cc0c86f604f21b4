// Package cgroup bounds processes by control groups of version 2, where they may be
// made: by root, and by a user to whom a group was delegated. A group knows the CPU
// time of all that ever was in it, and the memory that belongs to no process.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Parent is a group in which others may be made.
type Parent struct {
	folder string
	made   atomic.Int64
}

// Bounds bound the processes of a group.
type Bounds struct {
	Memory    int64 // bytes, with the memory that the kernel keeps for its processes
	Processes int   // and threads, at a time
}

// prefix begins the names of groups; the process that made one follows.
const prefix = "speceval-"

// leaf is the group that this process moves to, where it is alone in the one that was
// delegated: processes are in groups without others below.
const leaf = prefix + "self"

// Find finds the group to make others in, and makes one to see that it works. The
// error says why there is none.
func Find() (*Parent, error) {
	root, own, err := where()
	if err != nil {
		return nil, err
	}
	folders := []string{filepath.Join(root, own)}
	if path.Base(own) == leaf {
		folders[0] = filepath.Dir(folders[0])
	}
	if os.Geteuid() == 0 && folders[0] != root {
		folders = []string{root, folders[0]}
	}
	var faults []error
	for _, folder := range folders {
		p := &Parent{folder: folder}
		if err := p.prepare(); err != nil {
			faults = append(faults, fmt.Errorf("control group %s: %w", folder, err))
			continue
		}
		p.sweep()
		return p, nil
	}
	return nil, errors.Join(faults...)
}

// String is where the groups are.
func (p *Parent) String() string { return p.folder }

// where reads the folder of the root of all groups, and the path of the group of
// this process below.
func where() (root, own string, err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", "", fmt.Errorf("control groups: %w", err)
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", fmt.Errorf("control groups: %w", err)
	}
	return place(string(mounts), string(groups))
}

// place finds the same in the two files.
func place(mounts, groups string) (root, own string, err error) {
	for line := range strings.Lines(mounts) {
		mount, kind, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(mount); strings.HasPrefix(kind, "cgroup2 ") && len(fields) > 4 {
			root = fields[4]
		}
	}
	for line := range strings.Lines(groups) {
		if path, is := strings.CutPrefix(line, "0::"); is {
			own = strings.TrimSpace(path)
		}
	}
	if root == "" || own == "" {
		return "", "", errors.New("there are no control groups of version 2 here")
	}
	return root, own, nil
}

// controllers names the cgroup controllers that groups need.
var controllers = []string{"memory", "pids"}

// prepare has the groups below be bounded, and tries one.
func (p *Parent) prepare() error {
	if err := p.enable(); err != nil {
		return err
	}
	group, err := p.New(Bounds{Memory: 1 << 30, Processes: 16})
	if err != nil {
		return err
	}
	return group.Close()
}

// enable turns the controllers on for the groups below.
func (p *Parent) enable() error {
	available, err := p.read("cgroup.controllers")
	if err != nil {
		return err
	}
	for _, controller := range controllers {
		if !slices.Contains(available, controller) {
			return fmt.Errorf("it has no controller %q", controller)
		}
	}
	enabled, err := p.read("cgroup.subtree_control")
	if err != nil {
		return err
	}
	var missing []string
	for _, controller := range controllers {
		if !slices.Contains(enabled, controller) {
			missing = append(missing, "+"+controller)
		}
	}
	if missing == nil {
		return nil
	}
	err = p.write("cgroup.subtree_control", strings.Join(missing, " "))
	if errors.Is(err, syscall.EBUSY) {
		if err = p.makeRoom(); err == nil {
			err = p.write("cgroup.subtree_control", strings.Join(missing, " "))
		}
	}
	return err
}

// makeRoom moves this process to a group of its own below, if it is the only one.
func (p *Parent) makeRoom() error {
	processes, err := p.read("cgroup.procs")
	if err != nil {
		return err
	}
	own := strconv.Itoa(os.Getpid())
	if len(processes) != 1 || processes[0] != own {
		return fmt.Errorf("%d processes are in it, and no others may be: systemd-run --user --scope -p Delegate=yes makes one for a command", len(processes))
	}
	if err := os.Mkdir(filepath.Join(p.folder, leaf), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return p.write(leaf+"/cgroup.procs", own)
}

func (p *Parent) read(file string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(p.folder, file))
	return strings.Fields(string(content)), err
}

func (p *Parent) write(file, text string) error { return set(filepath.Join(p.folder, file), text) }

// set writes a file of the kernel.
func set(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// sweep removes what processes that were killed have left: empty groups, which is
// all that can be removed.
func (p *Parent) sweep() {
	left, _ := filepath.Glob(filepath.Join(p.folder, prefix+"*-*")) // the pattern is well formed
	for _, folder := range left {
		name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), prefix), "-")
		if _, err := os.Stat("/proc/" + name); errors.Is(err, fs.ErrNotExist) {
			os.Remove(folder) // one with processes stays
		}
	}
}

// Group is a control group.
type Group struct {
	folder string
	// The folder, to start processes in; cpu.stat and memory.events.
	Folder, CPU, Events *os.File
}

// New makes a group. It must be closed.
func (p *Parent) New(b Bounds) (*Group, error) {
	g := &Group{}
	err := fs.ErrExist
	for errors.Is(err, fs.ErrExist) { // another Parent of this process may have made some
		g.folder = filepath.Join(p.folder, fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), p.made.Add(1)))
		err = os.Mkdir(g.folder, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("control group: %w", err)
	}
	err = errors.Join(
		set(filepath.Join(g.folder, "memory.max"), strconv.FormatInt(b.Memory, 10)),
		set(filepath.Join(g.folder, "pids.max"), strconv.Itoa(b.Processes)),
		g.open(&g.Folder, "."), g.open(&g.CPU, "cpu.stat"), g.open(&g.Events, "memory.events"))
	if swap := set(filepath.Join(g.folder, "memory.swap.max"), "0"); !errors.Is(swap, fs.ErrNotExist) { // where there is swap
		err = errors.Join(err, swap)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control group: %w", err), g.Close())
	}
	return g, nil
}

func (g *Group) open(file **os.File, name string) (err error) {
	*file, err = os.Open(filepath.Join(g.folder, name))
	return err
}

// OutOfMemory reports whether the kernel has ended a process of the group because its memory
// was used up. It is false for no group.
func (g *Group) OutOfMemory() bool {
	if g == nil {
		return false
	}
	text := make([]byte, 4096)
	n, _ := g.Events.ReadAt(text, 0) // always fewer bytes
	return kills(string(text[:n])) > 0
}

// kills reads how often that was from memory.events.
func kills(events string) int {
	_, rest, _ := strings.Cut("\n"+events, "\noom_kill ")
	count, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(count)
	return n
}

// patience is how long processes that were killed may take to leave a group.
const patience = 5 * time.Second

// Close kills what is in the group, and removes it.
func (g *Group) Close() error {
	for _, file := range []*os.File{g.Folder, g.CPU, g.Events} {
		if file != nil {
			file.Close()
		}
	}
	err := os.Remove(g.folder)
	if errors.Is(err, syscall.EBUSY) {
		set(filepath.Join(g.folder, "cgroup.kill"), "1") // of Linux 5.14
	}
	for wait := time.Millisecond; errors.Is(err, syscall.EBUSY) && wait < patience; wait *= 2 {
		time.Sleep(wait)
		err = os.Remove(g.folder)
	}
	return err
}
