package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// peak is the most that was seen of the processes below this one.
type peak struct {
	processes int
	memory    int64 // resident bytes, those in common counted in parts where it can be told
}

// watch looks at them until the function that it returns is called.
func watch() (stop func() peak) {
	var seen peak
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			all := descendants(os.Getpid())
			var memory int64
			for _, process := range all {
				memory += resident(process)
			}
			seen.processes, seen.memory = max(seen.processes, len(all)), max(seen.memory, memory)
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() peak {
		close(ended)
		<-done
		return seen
	}
}

// descendants lists the processes below one.
func descendants(process int) []int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", process)) // the pattern is well formed
	var all []int
	for _, list := range lists {
		content, err := os.ReadFile(list)
		if err != nil {
			continue // it has just ended
		}
		for _, field := range strings.Fields(string(content)) {
			child, err := strconv.Atoi(field)
			if err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

// resident is the memory of a process, 0 if it cannot be told.
func resident(process int) int64 {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", process))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(content), "\nPss:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
