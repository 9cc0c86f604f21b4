// Command make writes the small benchmark, data/smallbench/smallbench.jsonl,
// from the problems beside it, as bare ones: the shipped templates ask them. It is
// run by hand after a change, and makes the same bytes every time:
//
//	go run ./data/smallbench/make -to data/smallbench/smallbench.jsonl
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"speceval/data"
	"speceval/internal/atomicfile"
	"speceval/internal/benchmark"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "make:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("make", flag.ContinueOnError)
	to := flags.String("to", data.SmallBenchmarkName, "task file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	tasks := slices.Concat(mathProblems(), choiceProblems(), stdinProblems(), functionProblems(), openQuestions())
	err := atomicfile.Write(*to, func(w io.Writer) error { return benchmark.WriteProblems(w, tasks) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d tasks\n", len(tasks))
	return err
}
