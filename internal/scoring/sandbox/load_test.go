//go:build drill

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/scoring"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/sandbox"
)

// loadLimits are small: many of the programs spend them.
var loadLimits = sandbox.Settings{CPU: 300 * time.Millisecond, Memory: 256 << 20}

// adder is a right program.
const adder = "print(sum(map(int, input().split())))"

// kinds are the programs that are scored twice. In them, %g is the CPU time to
// take, as a part of the limit.
var kinds = []string{
	adder,
	"print(abs(sum(map(int, input().split()))))",
	"print(sum(map(int, input().split())) + 1)",
	"print(int(input()))",
	"import time\nwhile time.process_time() < %g: pass\n" + adder,
	"import time\ntime.sleep(%g)\n" + adder,
	"import threading\ndef main(): " + adder + "\nthreading.Thread(target=main).start()",
	"import os, time\nif os.fork() == 0:\n    while time.process_time() < %g: pass\n    os._exit(0)\nos.wait()\n" + adder,
	"x = bytearray(int(%g * 2 ** 28))\n" + adder,
	"print('x' * int(%g * 2 ** 26))",
	"while True: pass",
}

// parts are what the programs take of a limit: none is so near to the limit
// itself that the same machine might give another verdict on another day.
var parts = []float64{0.1, 0.3, 0.5, 0.7, 0.85, 1.2, 1.5, 1.8, 2.5}

// numbered is the i-th program.
func numbered(i int) string {
	kind, part := kinds[i%len(kinds)], parts[i/len(kinds)%len(parts)]
	if !strings.Contains(kind, "%g") {
		return kind + fmt.Sprintf("  # %d", i)
	}
	if strings.Contains(kind, "process_time") || strings.Contains(kind, "sleep") {
		part *= loadLimits.CPU.Seconds()
	}
	return fmt.Sprintf(kind, part)
}

// cases are the tests of every program.
var cases = []benchmark.Test{
	{Kind: "stdin", Input: "1 2\n", Output: "3\n"},
	{Kind: "stdin", Input: "-4 2\n", Output: "-2\n"},
}

// underLoad scores the same programs on a quiet and on a busy machine.
func underLoad(ctx context.Context, t *testing.T) error {
	if *programs == 0 {
		return nil
	}
	settings := loadLimits
	settings.Python, settings.AtATime = *interpreter, *atATime
	runner := must(code.NewRunner(ctx, settings))
	scorer := code.New(runner, false, func() ([]scoring.Test, error) { return cases, nil })
	start := time.Now()
	quiet, err := verdicts(ctx, scorer, *programs, numbered)
	if err != nil {
		return err
	}
	middle := time.Now()
	busy := *load * runtime.NumCPU()
	defer occupy(ctx, t, busy)()
	loaded, err := verdicts(ctx, scorer, *programs, numbered)
	if err != nil {
		return err
	}
	correct, other := 0, 0
	for i := range quiet {
		if quiet[i].Correct() {
			correct++
		}
		if quiet[i] != loaded[i] {
			other++
			fmt.Printf("  %q: %q on the quiet machine, %q on the busy one\n", numbered(i), quiet[i].Note, loaded[i].Note)
		}
	}
	fmt.Printf("%d programs, %d correct, in %.0f s; again with %d busy processes on %d cores, in %.0f s: %d verdicts are others\n",
		len(quiet), correct, middle.Sub(start).Seconds(), busy, runtime.NumCPU(), time.Since(middle).Seconds(), other)
	if other > 0 {
		return fmt.Errorf("%d verdicts depend on the load", other)
	}
	return nil
}

// verdicts scores n programs, as many at a time as may run.
func verdicts(ctx context.Context, s scoring.Scorer, n int, program func(i int) string) ([]scoring.Verdict, error) {
	all, faults := make([]scoring.Verdict, n), make([]error, n)
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			all[i], faults[i] = s.Score(ctx, scoring.Response{Text: "```python\n" + program(i) + "\n```"})
		})
	}
	group.Wait()
	return all, errors.Join(faults...)
}

// occupy starts processes that do nothing but compute, until they are stopped.
func occupy(ctx context.Context, t *testing.T, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for range n {
		command := exec.CommandContext(ctx, *interpreter, "-c", "while True: pass")
		ok(t, command.Start())
		group.Go(func() { command.Wait() }) // it was killed
	}
	return func() {
		cancel()
		group.Wait()
	}
}
