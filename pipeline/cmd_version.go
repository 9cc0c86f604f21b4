package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

func (s *session) versionCommand() *cobra.Command {
	return s.jsonFlag(&cobra.Command{
		Use: "version", Short: "print version, commit and compiler of this program", Args: cobra.NoArgs,
		Example: "  speceval version --json",
		RunE: func(*cobra.Command, []string) error {
			if s.json {
				return json.NewEncoder(s.stdout).Encode(s.build())
			}
			_, err := fmt.Fprintln(s.stdout, s.build())
			return err
		},
	})
}
