//go:build drill

package servers_test

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"speceval/drills/drill"
)

// pair is two servers that speceval launches, on two ports in a row.
type pair struct {
	*drill.Lab
	port int
}

// groups are the process groups of both servers, 0 for one that does not run.
func (p pair) groups() []int { return []int{groupOn(p.port), groupOn(p.port + 1)} }

// goneWithin is how long servers may stay after the program that started them.
const goneWithin = 30 * time.Second

// leftBy ends the program by a signal, and waits until none of its servers' processes is
// left.
func (p pair) leftBy(program *drill.Process, s syscall.Signal, fault string) {
	p.Helper()
	begin, groups := time.Now(), p.groups()
	if slices.Contains(groups, 0) {
		p.Fatalf("%s: not every server ran", fault)
	}
	left := func() []int { return slices.Concat(members(groups[0], ""), members(groups[1], "")) }
	p.OK(program.Signal(s))
	program.Wait()
	processes := len(left())
	p.Until(fault, func() bool { return len(left()) == 0 || time.Since(begin) > goneWithin })
	if ids := left(); len(ids) > 0 {
		p.Fatalf("%s: processes %v of servers still run", fault, ids)
	}
	p.Logf("%s: exit code %d; %d processes of servers were left then, and none after %.1f s",
		fault, program.Code(), processes, time.Since(begin).Seconds())
}

// freed waits until none of the servers runs.
func (p pair) freed() {
	p.Helper()
	p.Until("servers that have ended", func() bool { return slices.Max(p.groups()) == 0 })
}

// groupOn is the process group of the server that was started with a port, 0 if there is
// none.
func groupOn(port int) int {
	for _, id := range drill.Processes(fmt.Sprintf("\x00--port\x00%d\x00", port)) {
		if group, err := syscall.Getpgid(id); err == nil {
			return group
		}
	}
	return 0
}

// members are the processes of a group whose command line has a text.
func members(group int, text string) []int {
	return slices.DeleteFunc(drill.Processes(text), func(id int) bool {
		of, err := syscall.Getpgid(id)
		return err != nil || of != group
	})
}

// killEngine kills the engine of a vLLM server, which is a process of its own in the
// server's group.
func killEngine(group int) error {
	engines := members(group, "VLLM::EngineCore")
	if len(engines) != 1 {
		return fmt.Errorf("%d engines in the process group %d", len(engines), group)
	}
	return syscall.Kill(engines[0], syscall.SIGKILL)
}
