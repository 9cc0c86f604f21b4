package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/pipeline/dag"
)

// options are the flags that every command takes.
type options struct {
	config string
	out    string // empty: as the configuration says
	quiet  bool
	sets   []string
}

// defaultConfig is the configuration where no flag names one.
const defaultConfig = "experiments.toml"

func (o *options) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.config, "config", defaultConfig, "read the experiment from `FILE` (experiments.toml)")
	fs.StringVar(&o.out, "out", "", "keep all outputs in `DIR` (as the configuration says: out)")
	fs.BoolVarP(&o.quiet, "q", "q", false, "no progress and no messages but warnings and errors")
	fs.StringArrayVar(&o.sets, "set", nil, "override a value of the configuration, `KEY=VALUE`; may be repeated")
}

// selectionOptions choose what runs.
type selectionOptions struct {
	force       bool
	from, until string
	jobs        jobs
}

func (o *selectionOptions) flags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.force, "force", false, "rerun the stages though they are fresh")
	fs.StringVar(&o.from, "from", "", "this `STAGE` and all later ones")
	fs.StringVar(&o.until, "until", "", "this `STAGE` and all earlier ones")
	fs.VarP(&o.jobs, "j", "j", "run `N` units at a time (as the configuration says: one per core)")
}

// jobs is how many units run at a time; 0: as the configuration says.
type jobs int

func (j *jobs) String() string { return strconv.Itoa(int(*j)) }

func (j *jobs) Type() string { return "N" }

func (j *jobs) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = errors.New("want at least one unit at a time")
	}
	*j = jobs(n)
	return err
}

// selection is what the flags and the stages named choose.
func (o *selectionOptions) selection(stages []string) dag.Selection {
	return dag.Selection{Stages: stages, From: o.from, Until: o.until, Force: o.force}
}

// jsonFlag defines the flag that asks for a document in place of text.
func jsonFlag(fs *pflag.FlagSet, json *bool, what string) {
	fs.BoolVar(json, "json", false, what)
}

// seedFlag defines a flag for a seed, which stays nil without it.
func seedFlag(fs *pflag.FlagSet, seed **uint64, what string) {
	fs.Func("seed", what, func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		*seed = &n
		return err
	})
}

// dashed is a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// long is a flag of several letters behind one dash.
var long = regexp.MustCompile(`^-[A-Za-z][A-Za-z-]`)

// doubleDashed is a command line in which flags of several letters have two
// dashes, which pflag wants; one is enough for ours. After "--" everything is a
// word.
func doubleDashed(args []string) []string {
	all := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" {
			return append(all, args[i:]...)
		}
		if long.MatchString(arg) {
			arg = "-" + arg
		}
		all = append(all, arg)
	}
	return all
}

// explainFlag says what is wrong with a flag, with the one that may be meant or
// the commands that have it.
func explainFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(c, unknown.GetSpecifiedName())
	case errors.As(err, &value):
		return usagef("invalid value %q for flag %s: %w", value.GetValue(), dashed(value.GetFlag().Name), value.Unwrap())
	case errors.As(err, &missing):
		return usagef("flag needs an argument: %s", dashed(missing.GetFlag().Name))
	}
	return &usageError{err}
}

// unknownFlag is that a command has no such flag.
func unknownFlag(c *cobra.Command, name string) error {
	if len([]rune(name)) > 1 {
		name = strings.TrimLeft(name, "-")
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	text := fmt.Sprintf("%s has no flag --%s", words(c), name)
	owners := owners(c.Root(), name)
	switch meant := display.Nearest(name, known); {
	case meant != "":
		text += didYouMean(dashed(meant))
	case len(owners) > 0 && !c.HasParent():
		text += ": it stands after the command"
	case len(owners) > 0 && len(owners) <= fewOwners:
		text += ": it is one of " + strings.Join(owners, ", ")
	}
	return usagef("%s", text)
}

// words are those of a command, without the program's name before them.
func words(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}

// fewOwners is how many commands with a flag are named at most.
const fewOwners = 5

// owners are the words of the commands that have a flag.
func owners(c *cobra.Command, name string) (all []string) {
	for _, sub := range c.Commands() {
		if sub.Flags().Lookup(name) != nil {
			all = append(all, words(sub))
		}
		all = append(all, owners(sub, name)...)
	}
	return all
}
