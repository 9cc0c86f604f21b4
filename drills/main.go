// Command drill runs the drills, which try the built program on servers, clusters and
// files of their own: bin/drill NAME [flags].
package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"speceval/drills/lab"
	"speceval/drills/runs"
	"speceval/drills/servers"
)

// drills are all of them, in the order of the help.
var drills = []lab.Drill{
	servers.Systems,
	servers.Live,
	servers.VLLM,
	runs.Generate,
	runs.Faults,
	runs.Slurm,
}

func main() { os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr)) }

func run(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		i := slices.IndexFunc(drills, func(d lab.Drill) bool { return d.Command() == args[0] })
		if i >= 0 {
			return drills[i].Main(args[1:], getenv, stdout, stderr)
		}
		fmt.Fprintf(stderr, "drill: no drill is named %q\n", args[0])
	}
	fmt.Fprintln(stderr, "usage: drill NAME [flags]; drill NAME -h lists the flags")
	for _, d := range drills {
		fmt.Fprintf(stderr, "  %-14s %s\n", d.Command(), d.About)
	}
	return 2
}
