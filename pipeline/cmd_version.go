package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (s *session) versionCommand() *cobra.Command {
	return s.jsonFlag(&cobra.Command{
		Use: "version", Short: "print version, commit and compiler of this program", Args: cobra.NoArgs,
		Example: "  speceval version --json",
		RunE: func(*cobra.Command, []string) error {
			return s.printAs(s.build(), func(w io.Writer) error { _, err := fmt.Fprintln(w, s.build()); return err })
		},
	})
}
