package html

import (
	"fmt"
	"strings"
	"time"

	"speceval/internal/page"
	"speceval/pipeline/dag"
	"speceval/pipeline/lineage"
	"speceval/stages/report/stored"
)

// warnings name the stages whose stored results are not what a run would make now.
// The page is written where the report itself is fresh.
func warnings(h History) (all []string) {
	stages := lineage.Standings(h.Records)
	for _, stage := range h.Stages {
		if w := stages[stage.Name].Warning(stage.Name); w != "" && stage.Name != "report" {
			all = append(all, w)
		}
	}
	return all
}

// newRun is when everything ran.
func newRun(h History) (run page.Run) {
	for _, r := range h.Records {
		if r.Manifest != nil {
			run.Bars = append(run.Bars, newBar(r.Ref, r.Manifest))
		}
	}
	stages := lineage.Standings(h.Records)
	for _, stage := range h.Stages {
		s := stages[stage.Name]
		state := s.String()
		if stage.Satisfied != "" {
			state = "nothing to run: " + stage.Satisfied
		}
		run.Stages = append(run.Stages, page.Stage{Name: stage.Name, About: stage.About, Units: s.Units, State: state})
	}
	return run
}

// newBar is when and where a unit ran.
func newBar(unit dag.Ref, m *dag.Manifest) page.Bar {
	b := page.Bar{
		Stage: unit.Stage, Unit: unit.Unit, Start: m.Start.Round(time.Microsecond),
		Wall: m.WallSeconds, CPU: m.CPUSeconds, PeakBytes: m.PeakBytes, Host: m.Host,
	}
	if q := m.Queue; q != nil {
		b.Wait = &page.Wait{Job: q.Job, Attempt: q.Attempt, Submitted: q.Submitted.Round(time.Microsecond), Seconds: q.QueueSeconds}
	}
	return b
}

// facts are the programs and machines that made the results, by the units' records,
// and what wrote the page.
func facts(h History) (all []page.Fact) {
	for _, f := range lineage.Facts(h.Records) {
		all = append(all, page.Fact(f))
	}
	return append(all,
		page.Fact{Name: "TeX engine", Values: []string{texEngine(h)}},
		page.Fact{Name: "Page written by", Values: []string{fmt.Sprintf("commit %s, %s", lineage.Commit(h.Origin), h.Origin.GoVersion)}},
		page.Fact{Name: "Cores", Values: []string{fmt.Sprintf("%d, of the machine that wrote the page", h.Cores)}})
}

// texEngine is the engine that typeset report.pdf, a source of its unit.
func texEngine(h History) string {
	for _, r := range h.Records {
		if r.Ref != stored.Own("pdf") || r.Manifest == nil {
			continue
		}
		for _, s := range r.Sources {
			if engine, ok := strings.CutPrefix(s.Name, "TeX engine: "); ok {
				return engine
			}
		}
	}
	return "none used: no report.pdf"
}
