package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/pipeline/dag"
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

// writeJSON writes a document for scripts.
func writeJSON(w io.Writer, document any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(document)
}
