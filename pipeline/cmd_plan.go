package main

import "speceval/pipeline/status"

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
			x.atATime(o.jobs)
			for _, w := range plan.Warnings {
				s.warn("%s", w)
			}
			s.sayNotes(x, plan)
			return status.WritePlan(s.stdout, plan, x.machines(), s.width)
		},
	}
}
