// Command release makes what a release consists of, into a folder: programs in
// archives, Python wheels, checksums, a list of parts, completions, manual pages and
// the schema of experiments.toml. The same commit gives the same bytes; with --check
// it makes everything twice and compares.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// run carries out a command line; messages go to stderr.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	to := flags.String("to", "dist", "folder that is made; one that was made before is replaced")
	only := flags.String("only", "", "these systems alone, such as linux/amd64,darwin/arm64; host: this machine's")
	check := flags.Bool("check", false, "make everything twice, from two folders and without what the Go tool keeps, and compare the bytes; leaves no folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("want flags alone, have %q", flags.Args())
	}
	systems, err := chosen(*only)
	if err != nil {
		return err
	}
	if *check {
		return checkTwice(ctx, systems, stderr)
	}
	return makeInto(ctx, *to, systems, stderr)
}

// system is a kind of machine.
type system struct {
	os, arch string
	wheel    []string // what Python calls it
}

func (s system) String() string { return s.os + "/" + s.arch }

// systems are those of a release. Programs are linked statically, so that the C library
// is of no account: manylinux2014 and musllinux_1_1 are what old installers know as
// well. The Go of today needs macOS 12.
var systems = []system{
	{"linux", "amd64", []string{"manylinux2014_x86_64", "musllinux_1_1_x86_64"}},
	{"linux", "arm64", []string{"manylinux2014_aarch64", "musllinux_1_1_aarch64"}},
	{"darwin", "amd64", []string{"macosx_12_0_x86_64"}},
	{"darwin", "arm64", []string{"macosx_12_0_arm64"}},
}

// chosen are the systems of a list with commas; all for "".
func chosen(list string) (some []system, err error) {
	if list == "" {
		return systems, nil
	}
	for _, name := range strings.Split(list, ",") {
		if name == "host" {
			name = host()
		}
		found := false
		for _, s := range systems {
			if s.String() == name {
				some, found = append(some, s), true
			}
		}
		if !found {
			err = errors.Join(err, fmt.Errorf("--only: no release is made for %q; there are %v", name, systems))
		}
	}
	return some, err
}
