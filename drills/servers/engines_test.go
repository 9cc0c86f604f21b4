//go:build drill

package servers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// commands lists the words of the command of every process on this machine.
func commands() map[int][]string {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	all := make(map[int][]string)
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if text, err := os.ReadFile(path); err == nil { // otherwise it has ended
			all[pid] = strings.Split(string(text), "\x00")
		}
	}
	return all
}

// groupOn is the process group of the server that was started with a port, 0
// if there is none.
func groupOn(port int) int {
	for pid, words := range commands() {
		for i, word := range words[:len(words)-1] {
			if word == "--port" && words[i+1] == strconv.Itoa(port) {
				if group, err := syscall.Getpgid(pid); err == nil {
					return group
				}
			}
		}
	}
	return 0
}

// groupMembers lists the processes of a group that still run.
func groupMembers(group int) (all []int) {
	for pid, words := range commands() {
		if of, err := syscall.Getpgid(pid); err == nil && of == group && words[0] != "" { // one that has ended has no words
			all = append(all, pid)
		}
	}
	return all
}

// killEngine kills the engine of a vLLM server, which is a process of its own in
// the server's group.
func killEngine(group int) error {
	all := commands()
	var engines []int
	for _, pid := range groupMembers(group) {
		if words := all[pid]; len(words) > 0 && strings.HasPrefix(words[0], "VLLM::EngineCore") {
			engines = append(engines, pid)
		}
	}
	if len(engines) != 1 {
		return fmt.Errorf("%d engines in the process group %d", len(engines), group)
	}
	return syscall.Kill(engines[0], syscall.SIGKILL)
}
