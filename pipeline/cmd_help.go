package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"speceval/internal/store/atomicfile"
)

// helpCommand is cobra's, but that an unknown command is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "list the commands, or show the examples and flags of one", GroupID: lookCloser,
		RunE: func(c *cobra.Command, words []string) error {
			found, rest, err := c.Root().Find(words)
			if err != nil || len(rest) > 0 {
				return usagef("there is no command %q; `speceval help` lists them", strings.Join(words, " "))
			}
			found.InitDefaultHelpFlag()
			found.InitDefaultVersionFlag()
			return found.Help()
		},
	}
}

// manCommand writes the manual pages, for `make dist`.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "write a manual page of every command into a folder", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, words []string) error { return manual(c.Root(), words[0]) },
	}
}

// manual writes the help of a command and of those below it as manual pages, the same
// bytes at any time.
func manual(c *cobra.Command, dir string) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	escape := strings.NewReplacer(`\`, `\e`, "-", `\-`)
	page := fmt.Sprintf(".TH %s 1\n.SH NAME\n%s\n.SH DESCRIPTION\n.nf\n", strings.ToUpper(name), escape.Replace(name+" - "+c.Short))
	for line := range strings.Lines(c.Long + "\n\n" + c.UsageString()) {
		page += `\&` + escape.Replace(line) // no line is a request
	}
	err := atomicfile.WriteText(filepath.Join(dir, name+".1"), page)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			err = errors.Join(err, manual(sub, dir))
		}
	}
	return err
}
