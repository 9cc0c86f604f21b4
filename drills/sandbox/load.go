package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/scorer"
	"speceval/internal/scorer/code"
)

// loadLimits are small: many of the programs spend them.
var loadLimits = code.Settings{CPU: 300 * time.Millisecond, Memory: 256 << 20}

// kinds are the programs that are scored twice. In them, %g is the CPU time to
// take, as a part of the limit.
var kinds = []string{
	"print(sum(map(int, input().split())))",
	"print(abs(sum(map(int, input().split()))))",
	"print(sum(map(int, input().split())) + 1)",
	"print(int(input()))",
	"import time\nwhile time.process_time() < %g: pass\nprint(sum(map(int, input().split())))",
	"import time\ntime.sleep(%g)\nprint(sum(map(int, input().split())))",
	"import threading\ndef main(): print(sum(map(int, input().split())))\nthreading.Thread(target=main).start()",
	"import os, time\nif os.fork() == 0:\n    while time.process_time() < %g: pass\n    os._exit(0)\nos.wait()\nprint(sum(map(int, input().split())))",
	"x = bytearray(int(%g * 2 ** 28))\nprint(sum(map(int, input().split())))",
	"print('x' * int(%g * 2 ** 26))",
	"while True: pass",
}

// parts are what the programs take of a limit: none is so near to the limit
// itself that the same machine might say one thing today and another tomorrow.
var parts = []float64{0.1, 0.3, 0.5, 0.7, 0.85, 1.2, 1.5, 1.8, 2.5}

// made gives the i-th program.
func made(i int) string {
	kind, part := kinds[i%len(kinds)], parts[i/len(kinds)%len(parts)]
	if !strings.Contains(kind, "%g") {
		return kind + fmt.Sprintf("  # %d", i)
	}
	if strings.Contains(kind, "process_time") || strings.Contains(kind, "sleep") {
		part *= loadLimits.CPU.Seconds()
	}
	return fmt.Sprintf(kind, part)
}

// tests are those of all programs here.
var tests = []benchmark.Test{
	{Kind: "stdin", Input: "1 2\n", Output: "3\n"},
	{Kind: "stdin", Input: "-4 2\n", Output: "-2\n"},
}

// underLoad scores the same programs on a quiet and on a busy machine.
func underLoad(ctx context.Context, o options, stdout io.Writer) error {
	if o.programs == 0 {
		return nil
	}
	settings := loadLimits
	settings.Python, settings.AtATime = o.python, o.atATime
	runner, err := code.NewRunner(ctx, settings)
	if err != nil {
		return err
	}
	start := time.Now()
	quiet, err := scoreAll(ctx, runner, o)
	if err != nil {
		return err
	}
	middle := time.Now()
	busy := o.load * runtime.NumCPU()
	stop, err := occupy(ctx, o.python, busy)
	if err != nil {
		return err
	}
	defer stop()
	loaded, err := scoreAll(ctx, runner, o)
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
			fmt.Fprintf(stdout, "  %q: %q on the quiet machine, %q on the busy one\n", made(i), quiet[i].Note, loaded[i].Note)
		}
	}
	fmt.Fprintf(stdout, "%d programs, %d correct, in %.0f s; again beside %d busy processes on %d cores, in %.0f s: %d verdicts are others\n",
		len(quiet), correct, middle.Sub(start).Seconds(), busy, runtime.NumCPU(), time.Since(middle).Seconds(), other)
	if other > 0 {
		return fmt.Errorf("%d verdicts depend on the load", other)
	}
	return nil
}

// scoreAll scores the programs, as many at a time as may run.
func scoreAll(ctx context.Context, runner *code.Runner, o options) ([]scorer.Verdict, error) {
	verdicts, faults := make([]scorer.Verdict, o.programs), make([]error, o.programs)
	s := code.New(runner, tests)
	var group sync.WaitGroup
	for i := range verdicts {
		group.Go(func() {
			verdicts[i], faults[i] = s.Score(ctx, scorer.Response{Text: "```python\n" + made(i) + "\n```"})
		})
	}
	group.Wait()
	return verdicts, errors.Join(faults...)
}

// occupy starts processes that do nothing but compute.
func occupy(ctx context.Context, python string, n int) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	stop = func() {
		cancel()
		group.Wait()
	}
	for range n {
		command := exec.CommandContext(ctx, python, "-c", "while True: pass")
		if err := command.Start(); err != nil {
			stop()
			return nil, err
		}
		group.Go(func() { command.Wait() }) // it was killed
	}
	return stop, nil
}

// speed says how many programs a second are scored.
func speed(ctx context.Context, o options, stdout io.Writer) error {
	runner, err := code.NewRunner(ctx, code.Settings{Python: o.python, CPU: 6 * time.Second, Memory: 4 << 30, AtATime: o.atATime})
	if err != nil {
		return err
	}
	for _, n := range []int{1, 20} {
		s := code.New(runner, repeat(tests[0], n))
		var group sync.WaitGroup
		faults := make([]error, 100)
		start := time.Now()
		for i := range faults {
			group.Go(func() {
				verdict, err := s.Score(ctx, scorer.Response{Text: "```python\nprint(sum(map(int, input().split())))\n```"})
				if err == nil && !verdict.Correct() {
					err = errors.New(verdict.Note)
				}
				faults[i] = err
			})
		}
		group.Wait()
		if err := errors.Join(faults...); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%.1f programs a second with %d tests each, %d at a time on %d cores\n",
			float64(len(faults))/time.Since(start).Seconds(), n, o.atATime, runtime.NumCPU())
	}
	return nil
}

func repeat(test benchmark.Test, n int) []benchmark.Test {
	var all []benchmark.Test
	for range n {
		all = append(all, test)
	}
	return all
}
