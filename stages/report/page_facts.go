package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"speceval/internal/page"
	"speceval/pipeline/dag"
)

// warnings tell of stored results that are not what a run would make now. The
// page is written where the report is fresh, so it is never one of them but for
// what it is made of.
func warnings(h History) []string {
	var all []string
	for _, s := range h.Stages {
		if s.Name == "report" {
			continue
		}
		units, stale, missing := 0, 0, 0
		for _, r := range h.Records {
			if r.Ref.Stage != s.Name {
				continue
			}
			units++
			switch stateOf(r) {
			case dag.Stale:
				stale++
			case dag.Missing:
				missing++
			}
		}
		switch {
		case missing > 0 && missing == units:
			all = append(all, fmt.Sprintf("The %s stage has not run: its results are missing here.", s.Name))
		case stale+missing > 0:
			all = append(all, fmt.Sprintf("The stored results of the %s stage are shown, though not all are what the present configuration and program would make (of %d units: %s).",
				s.Name, units, standing(stale, missing)))
		}
	}
	return all
}

// standing says how many units are stale, and how many have not run.
func standing(stale, missing int) string {
	var words []string
	if stale > 0 {
		words = append(words, fmt.Sprintf("%d stale", stale))
	}
	if missing > 0 {
		words = append(words, fmt.Sprintf("%d not run", missing))
	}
	return strings.Join(words, " and ")
}

// facts are the programs and machines that made the results, by the units'
// records, and what wrote the page.
func facts(h History) []page.Fact {
	var commits, versions, hosts, commands, provenances tally
	engine := ""
	for _, r := range h.Records {
		m := r.Manifest
		if m == nil {
			continue
		}
		commits.add(fullCommit(m.Origin))
		versions.add(m.GoVersion)
		hosts.add(m.Host)
		commands.add(m.Command)
		provenances.add(m.Provenance)
		if r.Ref == ownRef("pdf") {
			engine = texEngine(r)
		}
	}
	all := []page.Fact{
		{Name: "Made by commit", Values: commits.lines("programs of %d commits made these results")},
		{Name: "Go", Values: versions.lines("%d versions")},
		{Name: "Host", Values: hosts.lines("%d hosts")},
		{Name: "Command", Values: commands.lines("%d command lines")},
		{Name: "Provenance", Values: provenances.lines("")},
		{Name: "TeX engine", Values: []string{cmp.Or(engine, "none used: no report.pdf")}},
		{Name: "Page written by", Values: []string{fmt.Sprintf("commit %s, %s", fullCommit(h.Origin), h.Origin.GoVersion)}},
		{Name: "Cores", Values: []string{fmt.Sprintf("%d, of the machine that wrote the page", h.Cores)}},
	}
	return slices.DeleteFunc(all, func(f page.Fact) bool { return len(f.Values) == 0 })
}

// texEngine is the engine that typeset report.pdf, a source of its unit.
func texEngine(r dag.Record) string {
	for _, s := range r.Sources {
		if engine, ok := strings.CutPrefix(s.Name, "TeX engine: "); ok {
			return engine
		}
	}
	return ""
}

func fullCommit(o dag.Origin) string {
	if o.Dirty {
		return o.Commit + ", with uncommitted changes"
	}
	return o.Commit
}

// tally counts units by a text.
type tally map[string]int

func (t *tally) add(text string) {
	if *t == nil {
		*t = tally{}
	}
	(*t)[text]++
}

// lines is each text with its units, the most frequent first. Where there are
// several, a line before them says so, in the words of mixed.
func (t tally) lines(mixed string) []string {
	texts := slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		return cmp.Or(cmp.Compare(t[b], t[a]), cmp.Compare(a, b))
	})
	if len(texts) == 1 {
		return texts
	}
	var lines []string
	if mixed != "" && len(texts) > 0 {
		lines = append(lines, "Mixed: "+fmt.Sprintf(mixed, len(texts))+".")
	}
	for _, text := range texts {
		lines = append(lines, fmt.Sprintf("%s (units: %d)", text, t[text]))
	}
	return lines
}
