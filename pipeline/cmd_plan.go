package main

import (
	"github.com/spf13/pflag"

	"speceval/pipeline/dag"
	"speceval/pipeline/status"
)

func planCommand() command {
	o := new(selectionOptions)
	return command{
		name:  "plan",
		args:  "[STAGE…] [--force] [--from S] [--until S] [-j N] [--set KEY=VALUE]",
		about: "show exactly what run would do with the same words and flags, and why",
		examples: `  speceval plan                           what a full run would do
  speceval plan replay                    what ` + "`speceval run replay`" + ` would do
  speceval plan --set replay.draws=1024   what that change would cost
`,
		complete: completeStages,
		flags:    o.flags,
		run: func(s *session, stages []string) error {
			x, plan, err := s.look(o.selection(stages))
			if err != nil {
				return err
			}
			if err := x.atATime(o.jobs); err != nil {
				return err
			}
			for _, w := range plan.Warnings {
				s.warn("%s", w)
			}
			s.sayNotes(x)
			return status.WritePlan(s.stdout, plan, x.machines())
		},
	}
}

// whyOptions are the flags of why.
type whyOptions struct{ all bool }

func whyCommand() command {
	o := new(whyOptions)
	return command{
		name:  "why",
		args:  "STAGE [--all]",
		about: "show the changed inputs and keys of a stale stage",
		examples: `  speceval why replay         the changes, and some of the units of each
  speceval why replay --all   with every unit and its key
`,
		complete: completeStages,
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&o.all, "all", false, "list every unit and reason")
		},
		run: o.run,
	}
}

func (o *whyOptions) run(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "one stage"); err != nil {
		return err
	}
	if _, err := s.open(dag.Selection{Stages: words}); err != nil {
		return err
	}
	_, plan, err := s.look(dag.Selection{}) // all stages: staleness comes from upstream too
	if err != nil {
		return err
	}
	for i := range plan.Stages {
		if plan.Stages[i].Stage.Name == words[0] {
			return status.WriteWhy(s.stdout, &plan.Stages[i], o.all)
		}
	}
	return nil
}

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
	write := st.Text
	if o.json {
		write = st.JSON
	}
	if err := write(s.stdout); err != nil {
		return err
	}
	if o.check && !st.Fresh {
		return errStale
	}
	return nil
}
