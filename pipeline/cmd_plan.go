package main

import (
	"fmt"
	"io"
	"strings"

	"speceval/pipeline/dag"
)

func planCommand() command {
	return command{
		name:  "plan",
		args:  "[STAGE…] [--force] [--from S] [--until S] [-j N] [--set KEY=VALUE]",
		about: "show exactly what run would do with the same words and flags, and why",
		examples: `  speceval plan                           what a full run would do
  speceval plan replay                    what ` + "`speceval run replay`" + ` would do
  speceval plan --set replay.draws=1024   what that change would cost
`,
		flags: selectionFlags,
		run: func(s *session, stages []string) error {
			o, plan, err := s.look(s.selection(stages))
			if err != nil {
				return err
			}
			for _, w := range plan.Warnings {
				s.warn("%s", w)
			}
			s.sayNotes(o)
			return writePlan(s.stdout, plan, o)
		},
	}
}

// textColumns is how long lines with reasons may become.
const textColumns = 160

// maxGroups bounds the reasons that plan shows of a stage.
const maxGroups = 8

// writePlan writes, stage by stage, what will run, why and how long it takes.
func writePlan(w io.Writer, plan *dag.Plan, o *opened) error {
	var b strings.Builder
	width := nameWidth(plan)
	for i := range plan.Stages {
		stage := &plan.Stages[i]
		fmt.Fprintf(&b, "%-*s  ", width, stage.Stage.Name)
		switch {
		case stage.Stage.Satisfied != "":
			fmt.Fprintf(&b, "nothing to run: %s\n", stage.Stage.Satisfied)
			continue
		case len(stage.Run) == 0:
			fmt.Fprintf(&b, "nothing to run: %s fresh\n", units(stage.Fresh))
			continue
		}
		fmt.Fprintf(&b, "%d of %s to run, %s\n", len(stage.Run), units(len(stage.Run)+stage.Fresh), o.estimated(stage))
		if expect := stage.Expect(); len(expect) > 0 {
			fmt.Fprintf(&b, "%*s  %s\n", width, "", quantities(expect))
		}
		groups := grouped(stage.Run)
		for _, g := range groups[:min(len(groups), maxGroups)] {
			count := units(len(g.units))
			fmt.Fprintf(&b, "%*s  %s: %s\n", width, "", count, g.whyWithin(textColumns-width-len(count)-4))
		}
		if more := len(groups) - maxGroups; more > 0 {
			fmt.Fprintf(&b, "%*s  and %d more reasons: `speceval why %s`\n", width, "", more, stage.Stage.Name)
		}
	}
	switch n := plan.Units(); {
	case n == 0:
		fmt.Fprintf(&b, "%-*s  nothing to run\n", width, "total")
	case o.inJobs():
		fmt.Fprintf(&b, "%-*s  %s, %s\n", width, "total", units(n), coreHours(plan.Estimate(1)))
	default:
		fmt.Fprintf(&b, "%-*s  %s, %s with -j %d\n", width, "total", units(n), estimated(plan.Estimate(o.Workers)), o.Workers)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func nameWidth(plan *dag.Plan) int {
	width := len("total")
	for _, stage := range plan.Stages {
		width = max(width, len(stage.Stage.Name))
	}
	return width
}
