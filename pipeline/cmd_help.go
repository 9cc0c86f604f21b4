package main

import (
	"strings"
)

func helpCommand() command {
	return command{
		name:     "help",
		args:     "[COMMAND]",
		about:    "list the commands, or show the examples and flags of one",
		examples: "  speceval help\n  speceval help run\n  speceval help evaluate plan\n",
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 2, "one command at most"); err != nil {
				return err
			}
			if len(words) == 0 {
				return usage(s.stdout)
			}
			c, err := find(words)
			if err != nil {
				return err
			}
			return c.help(s.stdout, strings.Join(words, " "))
		},
	}
}
