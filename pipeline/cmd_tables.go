package main

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"speceval/internal/atomicfile"
	"speceval/internal/phrase"
	"speceval/pipeline/dag"
	"speceval/stages/report/html"

	"github.com/spf13/pflag"
)

// tablesOptions are the flags of tables.
type tablesOptions struct{ strict bool }

func tablesCommand() command {
	o := new(tablesOptions)
	return command{
		name:  "tables",
		args:  "[--set KEY=VALUE] [--strict]",
		about: "write every table, figure and document again, and report.html, from stored results only",
		examples: `  speceval tables              all tables, in two or three seconds
  speceval tables --out out2   from the results in another folder
  speceval tables --strict     and fail where a stage has not run
`,
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&o.strict, "strict", false, "fail where a stage has not run, in place of leaving its numbers out")
		},
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 0, "nothing"); err != nil {
				return err
			}
			plan, err := s.runSelection(dag.Selection{Stages: []string{reportStage}, Force: true, Strict: o.strict}, runOptions{})
			if err == nil {
				s.say("tables: %s written from stored results", outputs(plan))
			}
			return err
		},
	}
}

// outputs counts the files that the units of a plan write.
func outputs(plan *dag.Plan) string {
	n := 0
	for _, stage := range plan.Stages {
		for _, u := range stage.Stage.Units {
			n += len(u.Outputs)
		}
	}
	return phrase.Count(n, "file", "files")
}

// pageFile is the page of the report, in the output folder. It is no output of
// a unit: it shows when and where units ran, which no key knows.
const pageFile = "report.html"

// writePage writes the page of the report if the report is as its stored inputs
// make it. After anything else the page that is there stays.
func (s *session) writePage(o *opened, snapshot *dag.Snapshot) error {
	if o.Page == nil {
		return nil
	}
	plan, err := snapshot.Plan(dag.Selection{Stages: []string{reportStage}})
	if err != nil || plan.Units() > 0 {
		return nil // the report has not run, or not since its inputs changed
	}
	h := html.History{Stages: o.stages, Records: snapshot.Records(), Origin: s.origin, Cores: runtime.NumCPU()}
	err = atomicfile.Write(filepath.Join(o.Out, pageFile), func(w io.Writer) error { return o.Page(w, h) })
	if err != nil {
		return fmt.Errorf("the results are stored, but not the page: %w", err)
	}
	s.say("%s written", pageFile)
	return nil
}
