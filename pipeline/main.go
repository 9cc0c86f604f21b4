// Command speceval runs the experiment of experiments.toml as a pipeline of
// stages: it plans what is stale, runs it, writes the tables, and compares
// them with the paper. `speceval help` lists its commands.
//
// Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed,
// 2 usage or configuration, 3 stale, 4 outside tolerance, 130 interrupted.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"speceval/internal/clock"
	"speceval/internal/interrupt"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	relay := interrupt.New(signals, clock.Wall{})
	os.Exit(relay.Run(func() int {
		return run(os.Args[1:], newShell(os.Args, signals, relay), shipped)
	}, ended))
}

// ended is the exit code where the process ends in the middle of what it does. All
// files are written whole or not at all.
func ended() int {
	fmt.Fprintln(os.Stderr, "speceval: interrupted, and ended at once; what was stored stays")
	return exitInterrupted
}
