package html

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/page"
	"speceval/pipeline/dag"
	"speceval/pipeline/lineage"
	"speceval/stages/report/stored"
)

// mostAlike is how many units of one kind are listed one by one.
const mostAlike = 3

// mostInputs is how many inputs of a unit are listed one by one.
const mostInputs = 4

// madeBy is the units behind a table or a figure, the last one first, and the files
// that it has been written to or, if it has not run, would be. Many units of one kind
// share a line.
func (b builder) madeBy(base string) (units []page.Unit, files []page.File) {
	chain := lineage.Of(b.records, stored.Own(base))
	for _, level := range chain.Levels() {
		for _, like := range lineage.Alike(level, nil) {
			if len(like.Units) > mostAlike {
				u := newUnit(like)
				u.Manifest = "manifests/" + u.Name
				units = append(units, u)
				continue
			}
			for _, r := range like.Units {
				units = append(units, oneUnit(r))
			}
		}
	}
	if len(chain) == 0 {
		return nil, nil
	}
	last := chain[len(chain)-1]
	if last.Manifest != nil {
		return units, pageFiles(last.Manifest.Outputs)
	}
	for _, output := range last.Outputs {
		files = append(files, page.File{Path: output, Rows: -1})
	}
	return units, files
}

// oneUnit is a unit with everything that its record says.
func oneUnit(r dag.Record) page.Unit {
	u := newUnit(lineage.Alone(r))
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

// newUnit is what units took and were run by together.
func newUnit(g lineage.Group) page.Unit {
	u := page.Unit{Name: g.Name, Count: len(g.Units), State: g.State().String(), Start: g.Start(), Seeds: fewSeeds(g.Seeds())}
	u.Wall, u.CPU = g.Seconds()
	commits := slices.DeleteFunc(g.Distinct(func(m *dag.Manifest) string { return m.Short() }), func(commit string) bool { return commit == "" })
	u.Commit = strings.Join(commits, "; ")
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

// fewSeeds is sorted labels of the seed tree, or the branch that they share.
func fewSeeds(labels []string) []string {
	if len(labels) <= mostAlike {
		return labels
	}
	first, last := labels[0], labels[len(labels)-1] // what these share, all do
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	branch := first[:strings.LastIndexByte(first[:n], '/')+1]
	return []string{fmt.Sprintf("%s… (%d branches)", branch, len(labels))}
}

func pageFiles(files []dag.File) (all []page.File) {
	for _, f := range files {
		all = append(all, page.File{Path: f.Path, SHA256: f.SHA256, Rows: f.Rows})
	}
	return all
}
