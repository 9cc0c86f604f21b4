package html

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"speceval/internal/page"
	"speceval/pipeline/dag"
	"speceval/stages/report/stored"
)

// standing is how the units of a stage stand to what a run would make now.
type standing struct{ units, stale, missing int }

// standings is how the units of every stage stand.
func standings(h History) map[string]standing {
	all := map[string]standing{}
	for _, r := range h.Records {
		s := all[r.Ref.Stage]
		s.units++
		switch r.State() {
		case dag.Stale:
			s.stale++
		case dag.Missing:
			s.missing++
		}
		all[r.Ref.Stage] = s
	}
	return all
}

// warnings name the stages whose stored results are not what a run would make now.
// The page is written where the report itself is fresh.
func warnings(h History) (all []string) {
	stages := standings(h)
	for _, stage := range h.Stages {
		s := stages[stage.Name]
		var words []string
		if s.stale > 0 {
			words = append(words, fmt.Sprintf("%d stale", s.stale))
		}
		if s.missing > 0 {
			words = append(words, fmt.Sprintf("%d not run", s.missing))
		}
		switch {
		case stage.Name == "report" || len(words) == 0:
		case s.missing == s.units:
			all = append(all, fmt.Sprintf("The %s stage has not run: its results are missing here.", stage.Name))
		default:
			all = append(all, fmt.Sprintf("The stored results of the %s stage are shown, though not all are what the present configuration and program would make (of %d units: %s).",
				stage.Name, s.units, strings.Join(words, " and ")))
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
	stages := standings(h)
	for _, stage := range h.Stages {
		s := stages[stage.Name]
		state := "fresh"
		switch fresh := s.units - s.stale - s.missing; {
		case stage.Satisfied != "":
			state = "nothing to run: " + stage.Satisfied
		case fresh < s.units:
			state = fmt.Sprintf("%d of %d units fresh", fresh, s.units)
		}
		run.Stages = append(run.Stages, page.Stage{Name: stage.Name, About: stage.About, Units: s.units, State: state})
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

// facts are the programs and machines that made the results, by the units'
// records, and what wrote the page.
func facts(h History) (all []page.Fact) {
	for _, f := range []struct {
		name, mixed string
		of          func(*dag.Manifest) string
	}{
		{"Made by commit", "programs of %d commits made these results", func(m *dag.Manifest) string { return fullCommit(m.Origin) }},
		{"Go", "%d versions", func(m *dag.Manifest) string { return m.GoVersion }},
		{"Host", "%d hosts", func(m *dag.Manifest) string { return m.Host }},
		{"Command", "%d command lines", func(m *dag.Manifest) string { return m.Command }},
		{"Provenance", "", func(m *dag.Manifest) string { return m.Provenance }},
	} {
		units := map[string]int{}
		for _, r := range h.Records {
			if r.Manifest != nil {
				units[f.of(r.Manifest)]++
			}
		}
		if len(units) > 0 {
			all = append(all, page.Fact{Name: f.name, Values: tally(units, f.mixed)})
		}
	}
	return append(all,
		page.Fact{Name: "TeX engine", Values: []string{texEngine(h)}},
		page.Fact{Name: "Page written by", Values: []string{fmt.Sprintf("commit %s, %s", fullCommit(h.Origin), h.Origin.GoVersion)}},
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

func fullCommit(o dag.Origin) string {
	if o.Dirty {
		return o.Commit + ", with uncommitted changes"
	}
	return o.Commit
}

// tally is each text with its units, the most frequent first. Where there are
// several, a line before them says so, in the words of mixed.
func tally(units map[string]int, mixed string) (lines []string) {
	texts := slices.SortedFunc(maps.Keys(units), func(a, b string) int {
		return cmp.Or(cmp.Compare(units[b], units[a]), cmp.Compare(a, b))
	})
	if len(texts) == 1 {
		return texts
	}
	if mixed != "" {
		lines = append(lines, "Mixed: "+fmt.Sprintf(mixed, len(texts))+".")
	}
	for _, text := range texts {
		lines = append(lines, fmt.Sprintf("%s (units: %d)", text, units[text]))
	}
	return lines
}
