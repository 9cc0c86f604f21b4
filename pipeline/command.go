package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"speceval/internal/spelling"
	"speceval/pipeline/dag"
)

// command is one word of the command line and what it does.
type command struct {
	name     string
	args     string // what may follow, for help
	about    string // one line, and for help more below a blank one
	examples string // what help shows first
	flags    func(fs *flag.FlagSet, o *options)
	run      func(s *session, args []string) error
}

// commands is the literal list of commands, in the order of help.
func commands() []command {
	return []command{
		runCommand(), planCommand(), statusCommand(), whyCommand(),
		tablesCommand(), verifyCommand(), explainCommand(), diffCommand(), allocationsCommand(),
		evaluateCommand(), checkScorerCommand(), compareCommand(), disagreementsCommand(), benchmarksCommand(),
		fleetCommand(), unitCommand(), versionCommand(), helpCommand(),
	}
}

// run carries out a command line and returns the exit code.
func run(args []string, sh *shell, p pipeline) int {
	err := dispatch(args, &session{shell: sh, pipeline: p})
	if err != nil {
		fmt.Fprintf(sh.stderr, "speceval: %v\n", hint(err))
	}
	return exitCode(err)
}

func dispatch(args []string, s *session) error {
	global := newFlagSet("speceval", &s.options, nil)
	rest, err := parseLeading(global, args)
	if errors.Is(err, flag.ErrHelp) {
		return usage(s.stdout)
	}
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		if err := usage(s.stderr); err != nil {
			return err
		}
		return usagef("no command given")
	}
	c, err := find(rest[0])
	if err != nil {
		return err
	}
	words, err := parse(newFlagSet(c.name, &s.options, c.flags), rest[1:])
	if errors.Is(err, flag.ErrHelp) {
		return c.help(s.stdout)
	}
	if err != nil {
		return err
	}
	return c.run(s, words)
}

func find(name string) (command, error) {
	all := commands()
	names := make([]string, len(all))
	for i, c := range all {
		if c.name == name {
			return c, nil
		}
		names[i] = c.name
	}
	return command{}, usagef("there is no command %q%s; `speceval help` lists them", name, didYouMean(spelling.Nearest(name, names)))
}

// hint adds the nearest stage to an error about an unknown one.
func hint(err error) error {
	var unknown *dag.UnknownStageError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w%s", err, didYouMean(spelling.Nearest(unknown.Name, unknown.Known)))
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
	b.WriteString("usage: speceval [--config FILE] [--out DIR] [-q] COMMAND …\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-13s %s\n", c.name, c.line())
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

// help shows examples, then what the command does, then its flags.
func (c command) help(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Examples:\n%s\nusage: speceval %s\n\n%s\n\nFlags:\n", c.examples, strings.TrimSpace(c.name+" "+c.args), c.about)
	fs := newFlagSet(c.name, new(options), c.flags)
	var lines []string
	fs.VisitAll(func(f *flag.Flag) {
		value, what := flag.UnquoteUsage(f)
		dash := "--"
		if len(f.Name) == 1 {
			dash = "-"
		}
		lines = append(lines, fmt.Sprintf("  %-20s %s", strings.TrimSpace(dash+f.Name+" "+value), what))
	})
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(strings.TrimLeft(a, " -"), strings.TrimLeft(b, " -"))
	})
	b.WriteString(strings.Join(lines, "\n") + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}
