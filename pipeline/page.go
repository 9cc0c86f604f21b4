package main

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"speceval/internal/store/atomicfile"
	"speceval/pipeline/dag"
	"speceval/stages/report/page"
)

// pageFile is the page of the report, in the output folder. It is no output of
// a unit: it shows when and where units ran, which no key knows.
const pageFile = "report.html"

// writePage writes the page of the report if the report is as its stored inputs
// make it. After anything else the page that is there stays.
func (s *session) writePage(o *opened) error {
	if o.Page == nil {
		return nil
	}
	plan, err := o.snapshot.Plan(dag.Selection{Stages: []string{reportStage}})
	if err != nil || plan.Units() > 0 {
		return nil // the report has not run, or not since its inputs changed
	}
	h := page.History{Stages: o.Stages, Records: o.snapshot.Records(), Origin: s.origin, Cores: runtime.NumCPU()}
	err = atomicfile.Write(filepath.Join(o.Out, pageFile), func(w io.Writer) error { return o.Page(w, h) })
	if err != nil {
		return fmt.Errorf("the results are stored, but not the page: %w", err)
	}
	if o.Findings != nil && !s.quiet {
		if err := o.Findings(s.stderr); err != nil {
			return err
		}
	}
	s.say("%s written", filepath.Join(o.Out, pageFile))
	return nil
}
