package main

import (
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
