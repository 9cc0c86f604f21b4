package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"speceval/internal/store/atomicfile"
	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
)

// tree is the literal list of commands, by the headings of help.
func (s *session) tree() *cobra.Command {
	cobra.EnableCommandSorting = false // groups have an order
	root := &cobra.Command{
		Use: "speceval COMMAND", DisableFlagsInUseLine: true, Version: s.build().String(),
		Long:          "speceval reproduces the paper, and evaluates models for a budget of rollouts.",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRun: func(*cobra.Command, []string) { s.began = true },
		RunE: func(c *cobra.Command, _ []string) error {
			c.SetOut(s.stderr)
			return errors.Join(c.Help(), usagef("no command given"))
		},
	}
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	s.options.define(root.PersistentFlags())
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Reproduce the paper", []*cobra.Command{s.runCommand(), s.planCommand(), s.statusCommand(), s.whyCommand(), s.tablesCommand(), s.verifyCommand()}},
		{"Evaluate", []*cobra.Command{s.evaluateCommand(), s.benchmarksCommand(), s.compareCommand("speceval"), s.viewCommand(), s.fleetCommand()}},
		{"Other tools", []*cobra.Command{s.importCommand(), s.exportCommand(), s.serveCommand(), s.allocateCommand()}},
		{lookCloser, []*cobra.Command{s.explainCommand(), s.allocationsCommand(), s.checkScorerCommand(), s.unitCommand(), s.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(manCommand())
	root.SetHelpCommand(helpCommand())
	root.SetCompletionCommandGroupID(lookCloser)
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.RunE = func(*cobra.Command, []string) error { return usagef("want a shell: bash, zsh, fish or powershell") }
	root.SetVersionTemplate("{{.Version}}\n")
	const value = "[=true|false]" // of flags that are set by their name alone
	cobra.AddTemplateFunc("plain", func(usages string) string { return strings.ReplaceAll(usages, value, strings.Repeat(" ", len(value))) })
	root.SetUsageTemplate(strings.NewReplacer(".FlagUsages", ".FlagUsagesWrapped 98 | plain", "{{if .Runnable}}", "{{if and .Runnable .HasParent}}").Replace(root.UsageTemplate()))
	root.SetFlagErrorFunc(hintFlag)
	return root
}

// lookCloser is the heading of the commands that few need.
const lookCloser = "Look closer"

// run carries out a command line and returns the exit code. Text is escaped on both
// streams, whatever servers, models, task files and folders have put into it.
func run(args []string, sh *shell, load loader) int {
	own := *sh
	own.bars = sh.stderr
	own.stdout, own.stderr = display.NewEscapingWriter(sh.stdout), display.NewEscapingWriter(sh.stderr)
	s := &session{shell: &own, load: load, args: args}
	root := s.tree()
	root.SetArgs(args)
	c, err := root.ExecuteC()
	var unknown *dag.UnknownStageError
	switch {
	case err != nil && !s.began:
		err = usagef("%w\nusage: %s", err, c.UseLine())
	case errors.As(err, &unknown):
		err = fmt.Errorf("%w%s", err, didYouMean(unknown.Name, unknown.Known))
	}
	if err != nil {
		fmt.Fprintln(s.stderr, "speceval:", err)
	}
	return exitCode(err)
}

// hintFlag adds the nearest flag to an error about an unknown one.
func hintFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return fmt.Errorf("%w%s", err, didYouMean("--"+unknown.GetSpecifiedName(), known))
}

// didYouMean suggests the known word that is nearest to one; empty if none is near.
func didYouMean(word string, known []string) string {
	if near := display.Nearest(word, known); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

// texter is a document for people that is one for programs, too.
type texter interface{ Text(w io.Writer) error }

// print prints a document in the form that the flags ask for.
func (s *session) print(t texter) error { return s.printAs(t, t.Text) }

// printAs is print of a document whose text is written by a function of its own.
func (s *session) printAs(document any, text func(w io.Writer) error) error {
	if s.json {
		return atomicfile.EncodeJSON(s.stdout, document)
	}
	return text(s.stdout)
}
