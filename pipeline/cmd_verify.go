package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"speceval/internal/terminal/display"
)

func (s *session) verifyCommand() *cobra.Command {
	strict := false
	c := &cobra.Command{
		Use: "verify", Short: "compare with the paper and with predictions; exit 4 outside tolerance", Args: cobra.NoArgs,
		Example: `  speceval verify          every number next to the paper's or its prediction, with a verdict
  speceval verify --json   one JSON document
  speceval verify --strict exit 4 too where results are missing`,
		RunE: func(*cobra.Command, []string) error {
			x, plan, err := s.look(selection{})
			if err != nil {
				return err
			}
			s.warnStale(plan, stages...)
			v, err := x.Verify()
			if err != nil {
				return err
			}
			write := v.Text
			if s.json {
				write = v.JSON
			}
			switch err, missing := write(s.stdout), v.Cells.Missing(); {
			case err != nil:
				return err
			case !v.Cells.Passed():
				return errOutside
			case strict && missing > 0:
				return fmt.Errorf("%w: %s of stages that have not run", errOutside, display.Count(missing, "number", "numbers"))
			}
			return nil
		},
	}
	s.jsonFlag(c)
	c.Flags().BoolVar(&strict, "strict", false, "exit 4 too if a result is missing")
	return c
}
