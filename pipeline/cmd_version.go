package main

import (
	"fmt"

	"github.com/spf13/pflag"
)

func versionCommand() command {
	asJSON := false
	return command{
		name:     "version",
		about:    "print the version, and the commit and compiler that this program was built from",
		examples: "  speceval version\n  speceval version --json\n",
		flags:    func(fs *pflag.FlagSet) { fs.BoolVar(&asJSON, "json", false, "print it as JSON") },
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 0, "nothing"); err != nil {
				return err
			}
			text := s.build().String()
			if asJSON {
				text = s.build().JSON()
			}
			_, err := fmt.Fprintln(s.stdout, text)
			return err
		},
	}
}
