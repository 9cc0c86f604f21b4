package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (s *session) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "print the version, and the commit and compiler that this program was built from", Args: cobra.NoArgs,
		Example: "  speceval version --json",
		RunE: func(*cobra.Command, []string) error {
			text := s.build().String()
			if s.json {
				text = s.build().JSON()
			}
			_, err := fmt.Fprintln(s.stdout, text)
			return err
		},
	}
	s.jsonFlag(c)
	return c
}
