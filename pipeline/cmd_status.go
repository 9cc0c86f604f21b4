package main

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
	"speceval/pipeline/slurm"
	"speceval/pipeline/status"
)

func (s *session) statusCommand() *cobra.Command {
	check := false
	c := &cobra.Command{
		Use: "status", Short: "show what is fresh, stale and missing; with --check exit 3 unless all is fresh", Args: cobra.NoArgs,
		Example: `  speceval status --check    for scripts: exit code 3 if anything is stale or missing
  speceval status --json     one JSON document`,
		RunE: func(*cobra.Command, []string) error {
			x, plan, err := s.look(selection{})
			if err != nil {
				return err
			}
			st := status.Of(x.Out, plan)
			if err := st.At(plan, s.elsewhere); err != nil {
				s.warn("what is queued, running and failed is not known: %v", err)
			}
			err = s.printAs(st, func(w io.Writer) error { return st.Text(w, s.width) })
			if err == nil && check && !st.Fresh {
				err = errStale
			}
			return err
		},
	}
	s.jsonFlag(c)
	c.Flags().BoolVar(&check, "check", false, "exit 3 if anything is stale or missing")
	return c
}

// elsewhere are the units of an output folder that wait or run in jobs, or have
// failed there.
func (s *session) elsewhere(out string) ([]runlog.Event, error) {
	if s.pipeline.elsewhere != nil {
		return s.pipeline.elsewhere(out)
	}
	return slurm.Standings(context.Background(), slurm.Run(s.environment, time.Minute), filepath.Join(out, dag.JobsDir))
}
