package main

import (
	"errors"
	"flag"
	"io"
	"regexp"
	"strings"

	"speceval/internal/spelling"
	"speceval/pipeline/dag"
)

// options are the flags of all commands.
type options struct {
	config string
	out    string // empty: as the configuration says
	quiet  bool
	sets   []string

	force, keepGoing bool
	from, until      string
	jobs             int // 0: as the configuration says

	json, check, all, strict bool

	element  string // folder of a batch, of the command unit
	schedule string // of the command allocations
	most     int    // rollouts that the command disagreements lists; 0: all

	fleet      fleetOptions
	benchmarks benchmarksOptions
	evaluate   evaluateOptions
}

// defaultConfig is the configuration where no flag names one.
const defaultConfig = "experiments.toml"

// newFlagSet has the flags that every command takes, and those of more.
func newFlagSet(name string, o *options, more func(*flag.FlagSet, *options)) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are returned, help is ours
	if o.config == "" {
		o.config = defaultConfig
	}
	fs.StringVar(&o.config, "config", o.config, "read the experiment from `FILE` (experiments.toml)")
	fs.StringVar(&o.out, "out", o.out, "keep all outputs in `DIR` (as the configuration says: out)")
	fs.BoolVar(&o.quiet, "q", o.quiet, "no progress and no messages but warnings and errors")
	fs.Func("set", "override a value of the configuration, `KEY=VALUE`; may be repeated", func(set string) error {
		o.sets = append(o.sets, set)
		return nil
	})
	if more != nil {
		more(fs, o)
	}
	return fs
}

// selectionFlags are the flags that choose what runs.
func selectionFlags(fs *flag.FlagSet, o *options) {
	fs.BoolVar(&o.force, "force", false, "rerun the stages though they are fresh")
	fs.StringVar(&o.from, "from", "", "this `STAGE` and all later ones")
	fs.StringVar(&o.until, "until", "", "this `STAGE` and all earlier ones")
	fs.IntVar(&o.jobs, "j", 0, "run `N` units at a time (as the configuration says: one per core)")
}

// selection is what the flags and the stages named choose.
func (o *options) selection(stages []string) dag.Selection {
	return dag.Selection{Stages: stages, From: o.from, Until: o.until, Force: o.force}
}

// gluedJobs is -j8, which package flag would take for a flag of that name.
var gluedJobs = regexp.MustCompile(`^--?j(\d+)$`)

// parseLeading parses flags up to the first word that is none.
func parseLeading(fs *flag.FlagSet, args []string) (rest []string, err error) {
	err = fs.Parse(args)
	if err == nil {
		return fs.Args(), nil
	}
	if errors.Is(err, flag.ErrHelp) {
		return nil, err
	}
	return nil, &usageError{explainFlag(fs, err)}
}

// parse parses flags before, between and after the words, and returns these.
// After "--" everything is a word.
func parse(fs *flag.FlagSet, args []string) (words []string, err error) {
	var tail []string
	for i, arg := range args {
		if arg == "--" {
			args, tail = args[:i], args[i+1:]
			break
		}
	}
	args = append([]string(nil), args...)
	for i, arg := range args {
		args[i] = gluedJobs.ReplaceAllString(arg, "-j=$1")
	}
	for len(args) > 0 {
		if args, err = parseLeading(fs, args); err != nil {
			return nil, err
		}
		if len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	return append(words, tail...), nil
}

// explainFlag says what is wrong with a flag, with the one that may be meant.
func explainFlag(fs *flag.FlagSet, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err
	}
	var known []string
	fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	meant := spelling.Nearest(strings.TrimLeft(name, "-"), known)
	if len(meant) == 1 {
		meant = "-" + meant
	} else if meant != "" {
		meant = "--" + meant
	}
	return usagef("%s has no flag --%s%s", fs.Name(), strings.TrimLeft(name, "-"), didYouMean(meant))
}
