package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// peak is the most that was seen of the processes below this one, and what the
// machine as a whole has lost to them: time and memory that belong to no process are
// in there, and what others did meanwhile as well.
type peak struct {
	processes int
	memory    int64         // resident bytes, those in common counted in parts where it can be told
	machine   int64         // bytes that the machine had less than before
	wall, cpu time.Duration // the latter of all processors
}

// exceed makes the peak that of two.
func (p *peak) exceed(other peak) {
	p.processes, p.memory, p.machine = max(p.processes, other.processes), max(p.memory, other.memory), max(p.machine, other.machine)
	p.wall, p.cpu = max(p.wall, other.wall), max(p.cpu, other.cpu)
}

// watch looks at them until the function that it returns is called.
func watch() (stop func() peak) {
	var seen peak
	start, busy, free := time.Now(), busyTime(), available()
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			all := descendants(os.Getpid())
			var memory int64
			for _, process := range all {
				memory += resident(process)
			}
			seen.exceed(peak{processes: len(all), memory: memory, machine: free - available()})
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
		seen.wall, seen.cpu = time.Since(start), busyTime()-busy
		return seen
	}
}

// busyTime is how long the processors have not been idle, 0 if it cannot be told.
func busyTime() time.Duration {
	content, err := os.ReadFile("/proc/stat")
	fields := strings.Fields(string(content))
	if err != nil || len(fields) < 9 {
		return 0
	}
	const hundredth = 10 * time.Millisecond // the kernel's unit
	var busy time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} { // user, nice, system, interrupts of two kinds
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		busy += time.Duration(n) * hundredth
	}
	return busy
}

// available is how many bytes the machine has to give, 0 if it cannot be told.
func available() int64 {
	content, _ := os.ReadFile("/proc/meminfo")
	_, rest, _ := strings.Cut(string(content), "\nMemAvailable:")
	return kilobytes(rest)
}

// kilobytes reads the number that a text begins with, 0 if it begins with none.
func kilobytes(text string) int64 {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n << 10
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
	return kilobytes(rest)
}
