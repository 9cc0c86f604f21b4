package html

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"speceval/internal/page"
	"speceval/pipeline/dag"
)

// mostAlike is how many units of one kind are listed one by one.
const mostAlike = 3

// mostInputs is how many inputs of a unit are listed one by one.
const mostInputs = 4

// chain is everything that a unit was made by: the unit, those that it reads,
// those that they read and so on. Many units of one kind share a line.
func (b builder) chain(last dag.Ref) (units []page.Unit) {
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
			kind, _ := ref.Kind()
			if alike[kind] == nil {
				kinds = append(kinds, kind)
			}
			alike[kind] = append(alike[kind], r)
			for _, need := range r.Needs {
				if !seen[need] {
					seen[need] = true
					next = append(next, need)
				}
			}
		}
		for _, kind := range kinds {
			if records := alike[kind]; len(records) > mostAlike {
				u := newUnit(kind+"/…", records...)
				u.Manifest = "manifests/" + u.Name
				units = append(units, u)
				continue
			}
			for _, r := range alike[kind] {
				units = append(units, oneUnit(r))
			}
		}
		level = next
	}
	return units
}

// oneUnit is a unit with everything that its record says.
func oneUnit(r dag.Record) page.Unit {
	u := newUnit(r.Ref.String(), r)
	u.Key = r.Key
	for _, s := range r.Sources {
		u.Sources = append(u.Sources, page.File{Path: s.Name, SHA256: s.SHA256, Rows: -1})
	}
	u.Sources = fewFiles(u.Sources)
	if m := r.Manifest; m != nil {
		u.Key, u.Manifest, u.Inputs = m.Key, "manifests/"+u.Name+".json", fewFiles(pageFiles(m.Inputs))
	}
	return u
}

// newUnit is what units took and were run by together; the state is the worst.
func newUnit(name string, records ...dag.Record) page.Unit {
	u := page.Unit{Name: name, Count: len(records)}
	state := dag.Fresh
	commits := map[string]bool{}
	for _, r := range records {
		state = min(state, r.State())
		m := r.Manifest
		if m == nil {
			continue
		}
		commits[m.Short()] = true
		u.Seeds = append(u.Seeds, m.Seeds...)
		if u.Start.IsZero() || m.Start.Before(u.Start) {
			u.Start = m.Start
		}
		u.Wall, u.CPU = u.Wall+m.WallSeconds, u.CPU+m.CPUSeconds
	}
	u.State, u.Seeds = state.String(), fewSeeds(u.Seeds)
	u.Commit = strings.Join(slices.Sorted(maps.Keys(commits)), "; ")
	if len(commits) > 2 {
		u.Commit = fmt.Sprintf("%d commits", len(commits))
	}
	return u
}

// fewFiles is files, or how many there are and the first one.
func fewFiles(files []page.File) []page.File {
	if len(files) <= mostInputs {
		return files
	}
	return []page.File{{Path: fmt.Sprintf("%s and %d more", files[0].Path, len(files)-1), Rows: -1}}
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

// outputs is the files that a unit has written or, if it has not run, would write.
func (b builder) outputs(of dag.Ref) (files []page.File) {
	r := b.records[of]
	if r.Manifest != nil {
		return pageFiles(r.Manifest.Outputs)
	}
	for _, output := range r.Outputs {
		files = append(files, page.File{Path: output, Rows: -1})
	}
	return files
}

func pageFiles(files []dag.File) (all []page.File) {
	for _, f := range files {
		all = append(all, page.File{Path: f.Path, SHA256: f.SHA256, Rows: f.Rows})
	}
	return all
}
