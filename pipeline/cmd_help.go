package main

import (
	"fmt"
	"runtime"
)

func helpCommand() command {
	return command{
		name:     "help",
		args:     "[COMMAND]",
		about:    "list the commands, or show the examples and flags of one",
		examples: "  speceval help\n  speceval help run\n",
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 1, "one command at most"); err != nil {
				return err
			}
			if len(words) == 0 {
				return usage(s.stdout)
			}
			c, err := find(words[0])
			if err != nil {
				return err
			}
			return c.help(s.stdout)
		},
	}
}

func versionCommand() command {
	return command{
		name:     "version",
		about:    "print the commit that this program was built from",
		examples: "  speceval version\n",
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 0, "nothing"); err != nil {
				return err
			}
			dirty := ""
			if s.origin.Dirty {
				dirty = " with uncommitted changes"
			}
			_, err := fmt.Fprintf(s.stdout, "speceval %s%s (%s %s/%s)\n", s.origin.Commit, dirty, s.origin.GoVersion, runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
