package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
)

// options are the flags that all or several commands take.
type options struct {
	config string
	out    string // empty: as the configuration says
	quiet  bool
	sets   []string

	json, all bool
	workers   []string // in place of the configured ones
}

// defaultConfig is the configuration where no flag names one.
const defaultConfig = "experiments.toml"

func (o *options) define(fs *pflag.FlagSet) {
	fs.StringVar(&o.config, "config", defaultConfig, "read the experiment from `FILE`")
	fs.StringVar(&o.out, "out", "", "keep all outputs in `DIR` (as the configuration says: out)")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "print no progress and no messages but warnings and errors")
	fs.StringArrayVar(&o.sets, "set", nil, "set a value of the configuration, `KEY=VALUE`; repeatable")
}

// named are the flags that name the experiment, behind commands in messages.
func (o *options) named() (words string) {
	if o.config != defaultConfig {
		words = " --config " + display.ShellWord(o.config)
	}
	if o.out != "" {
		words += " --out " + display.ShellWord(o.out)
	}
	for _, set := range o.sets {
		words += " --set " + display.ShellWord(set)
	}
	return words
}

// jsonFlag adds the flag that asks for a document in place of text.
func (o *options) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	return c
}

func (o *options) allFlag(c *cobra.Command, what string) {
	c.Flags().BoolVar(&o.all, "all", false, what)
}

// selection are the flags that choose what runs.
type selection struct {
	dag.Selection
	jobs uint // units at a time; 0: as the configuration says
}

func (o *selection) define(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Force, "force", false, "rerun the stages though they are fresh")
	fs.StringVar(&o.From, "from", "", "this `STAGE` and all later ones")
	fs.StringVar(&o.Until, "until", "", "this `STAGE` and all earlier ones")
	fs.FuncP("jobs", "j", "run `N` units at a time (as the configuration says: one per core)", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			err = errors.New("want a number of units at a time, 1 to 65535")
		}
		o.jobs = uint(n)
		return err
	})
}

// ofStage is the selection of a stage.
func ofStage(name string) selection {
	return selection{Selection: dag.Selection{Stages: []string{name}}}
}

// seedFlag defines a flag for a seed, which stays nil without it.
func seedFlag(fs *pflag.FlagSet, seed **uint64, what string) {
	fs.Func("seed", what, func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		*seed = &n
		return err
	})
}

// stages are offered as words by completions.
var stages = []cobra.Completion{"generate", "score", "replay", "systems", reportStage}
