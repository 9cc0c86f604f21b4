package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
)

// command is a word of the command line and what it does.
type command struct {
	name     string
	args     string // what may follow, for help
	about    string // one line, and for help more below a blank one
	examples string // what help shows first
	hidden   bool   // from the list of commands
	flags    func(fs *pflag.FlagSet)
	complete func(s *session, words []string) []string // what the next word may be; nil: a file
	run      func(s *session, words []string) error
	subs     []command
}

// group is a heading of help and the commands below it.
type group struct {
	title    string
	commands []command
}

// groups is the literal list of commands, in the order of help.
func groups() []group {
	return []group{
		{"Reproduce the paper", []command{runCommand(), planCommand(), statusCommand(), whyCommand(), tablesCommand(), verifyCommand()}},
		{"Evaluate", []command{evaluateCommand(), benchmarksCommand(), compareCommand(), fleetCommand()}},
		{"Other tools", []command{importCommand(), exportCommand(), serveCommand(), allocateCommand()}},
		{"Look closer", []command{
			explainCommand(), allocationsCommand(), checkScorerCommand(), unitCommand(),
			completionCommand(), versionCommand(), helpCommand(), manCommand(),
		}},
	}
}

// commands are those of all groups.
func commands() (all []command) {
	for _, g := range groups() {
		all = append(all, g.commands...)
	}
	return all
}

// run carries out a command line and returns the exit code.
func run(args []string, sh *shell, p pipeline) int {
	sh = sh.escaping()
	s := &session{shell: sh, pipeline: p}
	s.root = s.tree()
	s.root.SetArgs(doubleDashed(args))
	err := cmp.Or(s.root.Execute(), s.helpError)
	if err != nil {
		fmt.Fprintf(sh.stderr, "speceval: %v\n", hint(err))
	}
	return exitCode(err)
}

// tree is all commands as cobra has them. It parses and completes; what is
// written to people is ours.
func (s *session) tree() *cobra.Command {
	root := &cobra.Command{
		Use: "speceval", Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(_ *cobra.Command, words []string) error {
			if len(words) == 0 {
				return errors.Join(usage(s.stderr), usagef("no command given"))
			}
			_, err := find(words)
			return err
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.Version = s.build().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	root.SetFlagErrorFunc(explainFlag)
	root.SetHelpFunc(func(*cobra.Command, []string) { s.helpError = usage(s.stdout) })
	s.options.flags(root.PersistentFlags())
	root.Flags().SetInterspersed(false) // what follows an unknown command is not the root's
	for _, c := range commands() {
		b := s.branch(c, c.name)
		if root.AddCommand(b); c.name == "help" {
			root.SetHelpCommand(b) // and none of cobra's
		}
	}
	return root
}

// branch is one command, by its words, and those below it.
func (s *session) branch(c command, path string) *cobra.Command {
	b := &cobra.Command{
		Use: c.name, Short: c.line(), Hidden: c.hidden, Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, words []string) error { return c.run(s, words) },
	}
	b.SetHelpFunc(func(*cobra.Command, []string) { s.helpError = c.help(s.stdout, path) })
	if c.flags != nil {
		c.flags(b.Flags())
	}
	if c.complete != nil {
		b.ValidArgsFunction = func(_ *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
			return c.complete(s, words), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, sub := range c.subs {
		b.AddCommand(s.branch(sub, path+" "+sub.name))
	}
	return b
}

// find is the command of some words.
func find(words []string) (command, error) {
	all := commands()
	var found command
	for i, word := range words {
		at := slices.IndexFunc(all, func(c command) bool { return c.name == word })
		if at < 0 {
			var names []string
			for _, c := range all {
				names = append(names, c.name)
			}
			path := strings.Join(words[:i+1], " ")
			return command{}, usagef("there is no command %q%s; `speceval help` lists them", path, didYouMean(display.Nearest(word, names)))
		}
		found = all[at]
		all = found.subs
	}
	return found, nil
}

// hint adds the nearest stage to an error about an unknown one.
func hint(err error) error {
	var unknown *dag.UnknownStageError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w%s", err, didYouMean(display.Nearest(unknown.Name, unknown.Known)))
	}
	return err
}

func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return ", did you mean " + word + "?"
}

// wantWords checks the number of words after a command.
func wantWords(words []string, least, most int, what string) error {
	if len(words) < least || len(words) > most {
		return usagef("want %s after the command, have %s", what, quoted(words))
	}
	return nil
}

func quoted(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%q", strings.Join(words, " "))
}

// usage lists the commands.
func usage(w io.Writer) error {
	var b strings.Builder
	b.WriteString("usage: speceval [--config FILE] [--out DIR] [-q] COMMAND …\n")
	for _, g := range groups() {
		fmt.Fprintf(&b, "\n%s:\n", g.title)
		for _, c := range g.commands {
			if !c.hidden {
				fmt.Fprintf(&b, "  %-13s %s\n", c.name, c.line())
			}
		}
	}
	b.WriteString("\n`speceval COMMAND --help` shows examples and flags.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// line is the first line of what the command is about.
func (c command) line() string {
	line, _, _ := strings.Cut(c.about, "\n")
	return line
}

// help shows examples, then what the command of these words does, then its flags.
func (c command) help(w io.Writer, path string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Examples:\n%s\nusage: speceval %s\n\n%s\n\nFlags:\n", c.examples, strings.TrimSpace(path+" "+c.args), c.about)
	for _, f := range c.flagList() {
		fmt.Fprintf(&b, "  %-20s %s\n", f[0], f[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// flagList is every flag of the command, as it is typed, and what it does.
func (c command) flagList() (all [][2]string) {
	fs := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	new(options).flags(fs)
	if c.flags != nil {
		c.flags(fs)
	}
	fs.VisitAll(func(f *pflag.Flag) { // by their names
		value, what := pflag.UnquoteUsage(f)
		all = append(all, [2]string{strings.TrimSpace(dashed(f.Name) + " " + value), what})
	})
	return all
}

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
func (j *jobs) Type() string   { return "N" }
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

// completeStages are the stages of the experiment, for completion. What is
// wrong with it completes nothing.
func completeStages(s *session, _ []string) (names []string) {
	e, err := s.pipeline.load(s.config, s.sets, s.outside())
	if err != nil {
		return nil
	}
	for _, stage := range s.pipeline.stages(e) {
		names = append(names, stage.Name)
	}
	return names
}

// completeTables are the tables in the output folder.
func completeTables(s *session, words []string) (names []string) {
	out, err := s.outFolder()
	if err != nil || len(words) > 0 {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(out, "tables", "*.csv"))
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".csv"))
	}
	return names
}

// completeEvaluations are the evaluations in the output folder.
func completeEvaluations(s *session, _ []string) (names []string) {
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return nil
	}
	return evaluate.Archive{Config: cfg}.Names()
}
