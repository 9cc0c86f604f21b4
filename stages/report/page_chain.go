package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"speceval/internal/page"
	"speceval/pipeline/dag"
)

// mostAlike is how many units of one kind are listed one by one.
const mostAlike = 3

// mostInputs is how many inputs of a unit are listed one by one.
const mostInputs = 4

func byRef(records []dag.Record) map[dag.Ref]dag.Record {
	all := make(map[dag.Ref]dag.Record, len(records))
	for _, r := range records {
		all[r.Ref] = r
	}
	return all
}

// chain is everything that a unit was made by: the unit, those that it reads,
// those that they read and so on. Units of one kind are told together.
func (b pageBuilder) chain(last dag.Ref) []page.Unit {
	var units []page.Unit
	seen := map[dag.Ref]bool{last: true}
	for level := []dag.Ref{last}; len(level) > 0; {
		var next []dag.Ref
		var kinds []string
		alike := map[string][]dag.Record{}
		for _, ref := range level {
			r, ok := b.records[ref]
			if !ok {
				continue
			}
			k, _ := groupName(ref.String())
			if alike[k] == nil {
				kinds = append(kinds, k)
			}
			alike[k] = append(alike[k], r)
			for _, need := range r.Needs {
				if !seen[need] {
					seen[need] = true
					next = append(next, need)
				}
			}
		}
		for _, k := range kinds {
			if group := alike[k]; len(group) > mostAlike {
				units = append(units, alikeUnits(k, group))
			} else {
				for _, r := range group {
					units = append(units, oneUnit(r))
				}
			}
		}
		level = next
	}
	return units
}

// oneUnit is a unit with everything that its record says.
func oneUnit(r dag.Record) page.Unit {
	u := page.Unit{Name: r.Ref.String(), Count: 1, State: stateOf(r).String(), Key: r.Key}
	for _, s := range r.Sources {
		u.Sources = append(u.Sources, page.File{Path: s.Name, SHA256: s.SHA256, Rows: -1})
	}
	u.Sources = fewFiles(u.Sources)
	m := r.Manifest
	if m == nil {
		return u
	}
	u.Key, u.Seeds, u.Commit = m.Key, fewSeeds(m.Seeds), shortCommit(m.Commit, m.Dirty)
	u.Manifest = "manifests/" + r.Ref.String() + ".json"
	u.Start, u.Wall, u.CPU = m.Start, m.WallSeconds, m.CPUSeconds
	for _, f := range m.Inputs {
		u.Inputs = append(u.Inputs, pageFile(f))
	}
	u.Inputs = fewFiles(u.Inputs)
	return u
}

// fewFiles is files, or how many there are and the first one.
func fewFiles(files []page.File) []page.File {
	if len(files) <= mostInputs {
		return files
	}
	return []page.File{{Path: fmt.Sprintf("%s and %d more", files[0].Path, len(files)-1), Rows: -1}}
}

func pageFile(f dag.File) page.File { return page.File{Path: f.Path, SHA256: f.SHA256, Rows: f.Rows} }

// alikeUnits is units of one kind in one line.
func alikeUnits(kind string, records []dag.Record) page.Unit {
	u := page.Unit{Name: kind + "/…", Count: len(records), State: dag.Fresh.String(), Manifest: "manifests/" + kind + "/…"}
	commits := map[string]bool{}
	var seeds []string
	for _, r := range records {
		if s := stateOf(r); s != dag.Fresh && u.State != dag.Missing.String() {
			u.State = s.String()
		}
		m := r.Manifest
		if m == nil {
			continue
		}
		commits[shortCommit(m.Commit, m.Dirty)] = true
		seeds = append(seeds, m.Seeds...)
		if u.Start.IsZero() || m.Start.Before(u.Start) {
			u.Start = m.Start
		}
		u.Wall, u.CPU = u.Wall+m.WallSeconds, u.CPU+m.CPUSeconds
	}
	u.Commit, u.Seeds = commitNames(commits), fewSeeds(seeds)
	return u
}

// fewSeeds is labels of the seed tree, or the branch that they share.
func fewSeeds(labels []string) []string {
	labels = slices.Compact(slices.Sorted(slices.Values(labels)))
	if len(labels) <= mostAlike {
		return labels
	}
	first, last := labels[0], labels[len(labels)-1] // sorted: what these share, all do
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	branch := first[:strings.LastIndexByte(first[:n], '/')+1]
	return []string{fmt.Sprintf("%s… (%d branches)", branch, len(labels))}
}

func commitNames(all map[string]bool) string {
	names := slices.Sorted(maps.Keys(all))
	if len(names) > 2 {
		return fmt.Sprintf("%d commits", len(names))
	}
	return strings.Join(names, "; ")
}

// files is the outputs of a unit.
func (b pageBuilder) files(ref dag.Ref) []page.File {
	r := b.records[ref]
	if r.Manifest == nil {
		var names []page.File
		for _, output := range r.Outputs {
			names = append(names, page.File{Path: output, Rows: -1})
		}
		return names
	}
	var files []page.File
	for _, f := range r.Manifest.Outputs {
		files = append(files, pageFile(f))
	}
	return files
}

// newRun is when everything ran.
func newRun(h History) page.Run {
	var run page.Run
	fresh, units := map[string]int{}, map[string]int{}
	for _, r := range h.Records {
		units[r.Ref.Stage]++
		if r.Fresh && r.Manifest != nil {
			fresh[r.Ref.Stage]++
		}
		if m := r.Manifest; m != nil {
			run.Bars = append(run.Bars, newBar(r.Ref, m))
		}
	}
	for _, s := range h.Stages {
		run.Stages = append(run.Stages, page.Stage{Name: s.Name, About: s.About, Units: units[s.Name], State: stageState(s, fresh[s.Name], units[s.Name])})
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

// stageState says how the stored results of a stage stand to what a run would
// make now.
func stageState(s dag.Stage, fresh, units int) string {
	switch {
	case s.Satisfied != "":
		return "nothing to run: " + s.Satisfied
	case fresh == units:
		return "fresh"
	}
	return fmt.Sprintf("%d of %d units fresh", fresh, units)
}
