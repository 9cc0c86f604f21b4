package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"speceval/pipeline/dag"
)

func whyCommand() command {
	return command{
		name:  "why",
		args:  "STAGE [--all]",
		about: "show the changed inputs and keys of a stale stage",
		examples: `  speceval why replay         the changes, and some of the units of each
  speceval why replay --all   with every unit and its key
`,
		flags: func(fs *flag.FlagSet, o *options) {
			fs.BoolVar(&o.all, "all", false, "list every unit and reason")
		},
		run: runWhy,
	}
}

func runWhy(s *session, words []string) error {
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
			return writeWhy(s.stdout, &plan.Stages[i], s.all)
		}
	}
	return nil
}

// How many units of a group, and how many reasons of a unit, why shows unless
// asked for all.
const (
	someUnits   = 5
	someReasons = 8
)

func writeWhy(w io.Writer, stage *dag.StagePlan, all bool) error {
	var b strings.Builder
	switch name := stage.Stage.Name; {
	case stage.Stage.Satisfied != "":
		fmt.Fprintf(&b, "%s has nothing to run: %s\n", name, stage.Stage.Satisfied)
	case len(stage.Run) == 0:
		fmt.Fprintf(&b, "%s is fresh: %s\n", name, units(stage.Fresh))
	default:
		fmt.Fprintf(&b, "%s: %d of %s not fresh\n", name, len(stage.Run), units(len(stage.Run)+stage.Fresh))
		for _, g := range grouped(stage.Run) {
			writeGroup(&b, g, name, all)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeGroup(b *strings.Builder, g group, stage string, all bool) {
	fmt.Fprintf(b, "\n%s: %s\n", units(len(g.units)), g.brief)
	for i, u := range g.units {
		if i == someUnits && !all {
			fmt.Fprintf(b, "  and %d more: `speceval why %s --all`\n", len(g.units)-i, stage)
			return
		}
		fmt.Fprintf(b, "  %s  key %s → %s\n", u.Ref.Unit, keyText(u.Before, "(none)"), keyText(u.Key, "(depends on inputs to be made)"))
		for k, r := range u.Reasons {
			if k == someReasons && !all {
				fmt.Fprintf(b, "    and %d more reasons\n", len(u.Reasons)-k)
				break
			}
			fmt.Fprintf(b, "    %s\n", r)
		}
	}
}

// keyText is enough of a key for `speceval unit`.
func keyText(key, without string) string {
	if key == "" {
		return without
	}
	return key[:16]
}
