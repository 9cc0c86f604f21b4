// Command docs tries everything that the README and the pages of docs/ say can be
// typed: it copies the repository into a folder, makes small outputs of every kind
// there, and runs every command of every page, but for those in its list of
// exceptions, each of which has a reason. Files that a page shows go through the
// readers that users' files go through, and every file and column that the outputs
// have must be in docs/outputs.md, and the other way round.
package main

import (
	"context"
	"flag"
	"io"
	"os"
	"time"

	drill "speceval/drills/lab"
)

func main() {
	os.Exit(run(os.Args[1:], os.Getenv("SPECEVAL_PYTHON"), os.Getenv("SPECEVAL_CI") == "1", os.Stdout, os.Stderr))
}

// options are the flags of the drill.
type options struct {
	root     string // of the repository
	dir      string // for all files; "" for a temporary folder
	python   string // with duckdb and pyarrow
	page     string // the only pages whose commands are run, with commas between; "" for all
	show     bool   // what commands print
	required bool   // everything: a page that cannot be run here is a fault
	limit    time.Duration
}

func run(args []string, python string, required bool, stdout, stderr io.Writer) int {
	o := options{python: python, required: required}
	if o.python == "" {
		o.python = "python3"
	}
	flags := flag.NewFlagSet("drill-docs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.root, "root", ".", "the repository")
	flags.StringVar(&o.dir, "dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
	flags.StringVar(&o.page, "page", "", "run the commands of these pages alone, such as docs/outputs.md,README.md; none: of no page")
	flags.BoolVar(&o.show, "show", false, "show what every command prints")
	flags.DurationVar(&o.limit, "limit", 15*time.Minute, "time after which it gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-docs", o.limit, stdout, func(ctx context.Context) error { return do(ctx, o, stdout) })
}

// do is the drill.
func do(ctx context.Context, o options, stdout io.Writer) error {
	return drill.InFolder(o.dir, stdout, func(dir string) error { return inFolder(ctx, o, dir, stdout) })
}
