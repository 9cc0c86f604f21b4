package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/pipeline/dag"
)

// verifyOptions are the flags of verify.
type verifyOptions struct{ json, strict bool }

func verifyCommand() command {
	o := new(verifyOptions)
	return command{
		name:  "verify",
		args:  "[--json] [--strict]",
		about: "compare with the paper, and what was measured with what was predicted; exit 4 outside tolerance",
		examples: `  speceval verify          every number next to the paper's or its prediction, with a verdict
  speceval verify --json   one JSON document
  speceval verify --strict exit 4 too where results are missing
`,
		flags: func(fs *pflag.FlagSet) {
			jsonFlag(fs, &o.json, "print one JSON document")
			fs.BoolVar(&o.strict, "strict", false, "exit 4 too if a result is missing")
		},
		run: o.run,
	}
}

func (o *verifyOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	x, plan, err := s.look(dag.Selection{})
	if err != nil {
		return err
	}
	for _, stage := range plan.Stages {
		if len(stage.Run) > 0 {
			s.warn("%s is not fresh; `speceval plan` says why", stage.Stage.Name)
		}
	}
	v, err := s.pipeline.verify(x.Experiment)
	if err != nil {
		return err
	}
	write := v.Text
	if o.json {
		write = v.JSON
	}
	if err := write(s.stdout); err != nil {
		return err
	}
	switch missing := v.Missing(); {
	case !v.Passed():
		return errOutside
	case o.strict && missing > 0:
		return fmt.Errorf("%w: %s of stages that have not run", errOutside, display.Count(missing, "number", "numbers"))
	}
	return nil
}
