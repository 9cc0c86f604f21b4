package main

import (
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"speceval/pipeline/dag"
	"speceval/pipeline/slurm"
	"speceval/pipeline/status"
)

// statusOptions are the flags of status.
type statusOptions struct{ json, check bool }

func statusCommand() command {
	o := new(statusOptions)
	return command{
		name: "status",
		args: "[--json] [--check]",
		about: `show what is fresh, stale and missing; with --check exit 3 unless all is fresh

Of the units of each stage it says too how many are queued, running and failed
now, whatever their state. A unit counts as failed until it is fresh or would be
made of something else. The last failures follow with their logs.`,
		examples: `  speceval status            a line for each stage
  speceval status --check    for scripts: exit code 3 if anything is stale or missing
  speceval status --json     one JSON document
`,
		flags: func(fs *pflag.FlagSet) {
			jsonFlag(fs, &o.json, "print one JSON document")
			fs.BoolVar(&o.check, "check", false, "exit 3 if anything is stale or missing")
		},
		run: o.run,
	}
}

func (o *statusOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	x, plan, err := s.look(dag.Selection{})
	if err != nil {
		return err
	}
	st := status.Of(x.Out, plan)
	if all, running, err := status.Units(x.Out, plan, s.elsewhere); err != nil {
		s.warn("what is queued, running and failed is not known: %v", err)
	} else {
		st.Add(all, running)
	}
	if o.json {
		err = st.JSON(s.stdout)
	} else {
		err = st.Text(s.stdout, s.width)
	}
	if err != nil {
		return err
	}
	if o.check && !st.Fresh {
		return errStale
	}
	return nil
}

// answerLimit is how long a command that polls jobs may take where no configuration is
// read.
const answerLimit = time.Minute

// elsewhere are the units of an output folder that wait or run in jobs, or have
// failed there.
func (s *session) elsewhere(out string) ([]slurm.Standing, error) {
	if s.pipeline.elsewhere != nil {
		return s.pipeline.elsewhere(out)
	}
	ctx, stop := s.interruptible()
	defer stop()
	return slurm.Standings(ctx, slurm.Run(s.environment, answerLimit), filepath.Join(out, dag.JobsDir))
}
