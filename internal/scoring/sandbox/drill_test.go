//go:build drill

// With the tag drill, the tests of this package are `make drill-sandbox`: attacks on
// the sandbox, and programs that are scored under load.
package sandbox_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/internal/scoring/sandbox"
)

var (
	interpreter = flag.String("python", "python3", "the interpreter: a name or a path")
	programs    = flag.Int("programs", 200, "programs that are scored on a quiet and on a busy machine; 0: that part is left out")
	load        = flag.Int("load", 8, "busy processes for each core")
	atATime     = flag.Int("at-a-time", runtime.NumCPU(), "programs that run at a time")
	limit       = flag.Duration("limit", 20*time.Minute, "time after which the drill gives up")
)

// TestDrill runs every attack and reports how it ended and what the machine saw of it, and
// scores programs on a quiet and on a busy machine.
func TestDrill(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("not done after %v", *limit))
	defer cancel()
	for _, part := range []struct {
		name string
		do   func(context.Context, *testing.T) error
	}{{"attacks", attackAll}, {"load", underLoad}} {
		t.Run(part.name, func(t *testing.T) {
			if err := part.do(ctx, t); err != nil {
				t.Error(errors.Join(context.Cause(ctx), err))
			}
		})
	}
}

// attackAll runs the hostile programs, within limits that are small so that nothing
// takes long.
func attackAll(ctx context.Context, t *testing.T) error {
	programs, host := attacks(), newHost(t)
	settings := sandbox.Settings{Python: *interpreter, CPU: time.Second, Memory: 512 << 20, AtATime: 1}
	box := must(sandbox.New(ctx, settings))
	// On a slow machine a second passes before an attack has taken the memory.
	patient := settings
	patient.CPU = 10 * time.Second
	patientBox := must(sandbox.New(ctx, patient))
	fmt.Printf("%d attacks, within %v of CPU, %d MiB, %d processes, %d MiB of files\n", len(programs), settings.CPU, settings.Memory>>20, sandbox.MaxProcesses, sandbox.MaxScratch>>20)
	fmt.Printf("  %-18s %-7s %s  what it does\n", "", "ends", columns)
	var faults []error
	most := map[string]peak{}
	for _, p := range programs {
		box := box
		if p.Bound == "memory" {
			box = patientBox
		}
		result, seen, err := host.attack(ctx, box, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		state := "contained"
		if err != nil {
			state = err.Error()
			faults = append(faults, fmt.Errorf("%s: %w", p.Name, err))
		}
		fmt.Printf("  %-18s %-7s %s  %s: %s\n", p.Name, result.End, seen, p.About, state)
		most[p.Bound] = most[p.Bound].or(seen)
	}
	fmt.Printf("  %-30s %s\n", "the most that was seen", columns)
	for _, b := range bounds {
		fmt.Printf("  %-30s %s  by %s\n", b.Name, most[b.Name], b.By)
	}
	fmt.Printf("%d of %d attacks were contained; %d connections came in; %d processes are left\n",
		len(programs)-len(faults), len(programs), host.connections.Load(), len(below(os.Getpid())))
	return errors.Join(faults...)
}

// attack runs one program, and then an innocent one in a sandbox of its own.
func (h *host) attack(ctx context.Context, box *sandbox.Sandbox, p attack) (sandbox.Result, peak, error) {
	stop := watch()
	result, err := outcome(ctx, box, p.Source, h.input())
	seen := stop()
	if err != nil {
		return result, seen, err
	}
	if fault := cmp.Or(p.fault(result), h.harm()); fault != "" {
		return result, seen, errors.New(fault)
	}
	after, err := outcome(ctx, box, "print(int(input()) + 1)", "1")
	if err == nil && (after.End != sandbox.Finished || after.Output != "2\n") {
		err = fmt.Errorf("afterwards an innocent program ends as %+v", after)
	}
	// The driver and bubblewrap are two more. Memory is printed and not held to a
	// number: between two polls of the driver it may pass the limit.
	if seen.processes > sandbox.MaxProcesses+2 {
		err = errors.Join(err, fmt.Errorf("%d processes ran at a time", seen.processes))
	}
	return result, seen, err
}

// outcome runs a program on its only input.
func outcome(ctx context.Context, box *sandbox.Sandbox, source, input string) (sandbox.Result, error) {
	session, err := box.Start(ctx, sandbox.Program{Source: source, Inputs: []string{input}})
	if err != nil {
		return sandbox.Result{}, err
	}
	defer session.Close()
	return session.Run(ctx, 0)
}

// peak is the most that was seen of the processes below this one, and what the
// machine as a whole lost to them: time and memory that belong to no process are
// in there, and what other programs did meanwhile as well.
type peak struct {
	processes int
	memory    int64         // resident bytes; shared pages count in parts where the kernel reports them
	machine   int64         // bytes that the machine had less than before
	wall, cpu time.Duration // the latter of all processors
}

// columns are the headings of a peak.
const columns = "   time processors processes   MiB machine's"

// String has the width of columns.
func (p peak) String() string {
	return fmt.Sprintf("%5.2f s    %5.2f s     %5d %5d     %5d", p.wall.Seconds(), p.cpu.Seconds(), p.processes, p.memory>>20, max(0, p.machine)>>20)
}

// or is the higher of two peaks in every column.
func (p peak) or(other peak) peak {
	return peak{max(p.processes, other.processes), max(p.memory, other.memory), max(p.machine, other.machine), max(p.wall, other.wall), max(p.cpu, other.cpu)}
}

// watch polls the processes and the machine until the function that it returns is called.
func watch() (stop func() peak) {
	var seen peak
	start, busy, free := time.Now(), busyTime(), available()
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			all := below(os.Getpid())
			var memory int64
			for _, process := range all {
				memory += kilobytes(fmt.Sprintf("/proc/%d/smaps_rollup", process), "\nPss:")
			}
			seen = seen.or(peak{processes: len(all), memory: memory, machine: free - available()})
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

// busyTime is how long the processors have not been idle, 0 if the kernel does not report it.
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

// available is how many bytes of memory the machine has free.
func available() int64 { return kilobytes("/proc/meminfo", "\nMemAvailable:") }

// kilobytes reads the number after a label, in bytes; 0 if there is none.
func kilobytes(path, label string) int64 {
	content, _ := os.ReadFile(path) // a process may have just ended
	_, rest, _ := strings.Cut(string(content), label)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n << 10
}
