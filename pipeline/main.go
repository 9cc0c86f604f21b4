// Command speceval runs the experiment of experiments.toml as a pipeline of
// stages: it plans what is stale, runs it, writes the tables, and compares
// them with the paper. `speceval help` lists its commands.
//
// Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed,
// 2 usage or configuration, 3 stale, 4 outside tolerance, 130 interrupted.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], newShell(os.Args, interrupts), shipped))
}
