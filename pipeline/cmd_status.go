package main

import (
	"cmp"
	"context"
	"fmt"
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
			st, err := s.statusOf(context.Background())
			if st == nil {
				return err
			}
			if err != nil {
				s.warn("what is queued, running and failed is not known: %v", err)
			}
			err = s.printAs(st, func(w io.Writer) error { return st.Text(w, s.width) })
			if err == nil && check && !st.Fresh {
				err = &exitError{fmt.Errorf("stale: `speceval plan%[1]s` says why, `speceval run%[1]s` makes it fresh", s.named()), exitStale}
			}
			return err
		},
	}
	s.jsonFlag(c)
	c.Flags().BoolVar(&check, "check", false, "exit 3 if anything is stale or missing")
	return c
}

// statusOf is the status of the units of the pipeline. An error beside it is why it lacks what is
// queued, running and failed.
func (s *session) statusOf(ctx context.Context) (*status.Status, error) {
	x, plan, err := s.look(selection{})
	if err != nil {
		return nil, err
	}
	holder := dag.Holder(x.Out)
	logged, unread := runlog.Stand(filepath.Join(x.Out, dag.LogsDir), holder)
	far, unknown := slurm.Standings(ctx, slurm.Run(s.environment, time.Minute), filepath.Join(x.Out, dag.JobsDir)) // knows better
	return status.Of(x.Out, holder, plan, append(logged, far...)), cmp.Or(unread, unknown)
}
