// Package lineage says what stored outputs were made by: the units behind one, why some
// of them are stale, and which programs and machines ran them. It reads records of units,
// and knows no stage.
package lineage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/table"
	"speceval/pipeline/dag"
)

// Origin has the files, units and sources behind a stored output.
type Origin struct {
	Files   []File       `json:"files"`   // what the unit has read, and what it has written
	Units   []dag.Record `json:"units"`   // all that it was made by, each after those that it reads
	Sources []dag.Source `json:"sources"` // from outside the output folder, as recorded
}

// File is a stored file as the manifest of the unit has it.
type File struct {
	dag.File
	By string `json:"by"` // the unit that writes it
}

// Of is the origin of the outputs of a unit, by the records of all units, each after
// those that it needs; without units if none is its.
func Of(records []dag.Record, unit dag.Ref) Origin {
	o := Origin{Files: []File{}, Units: []dag.Record{}, Sources: []dag.Source{}}
	wanted := map[dag.Ref]bool{unit: true}
	by := map[string]string{} // the units that write files
	for _, r := range slices.Backward(records) {
		if !wanted[r.Unit] {
			continue
		}
		o.Units = append(o.Units, r)
		for _, need := range slices.Concat(r.Declared.Needs, r.Declared.Wants) {
			wanted[need] = true
		}
		for _, output := range r.Declared.Outputs {
			by[output] = r.Unit.String()
		}
		if r.Last == nil {
			continue
		}
		for name, sum := range r.Last.Parts.Sources {
			o.Sources = append(o.Sources, dag.Source{Name: name, SHA256: sum})
		}
	}
	slices.SortFunc(o.Sources, func(a, b dag.Source) int { return strings.Compare(a.Name+a.SHA256, b.Name+b.SHA256) })
	o.Sources = slices.Compact(o.Sources)
	if len(o.Units) > 0 && o.Units[0].Last != nil {
		m := o.Units[0].Last
		for _, f := range slices.Concat(m.Inputs, m.Outputs) {
			o.Files = append(o.Files, File{f, by[f.Path]})
		}
	}
	slices.Reverse(o.Units)
	return o
}

// Fresh reports whether the output and all that it is made of are fresh.
func (o Origin) Fresh() bool {
	return len(o.Units) > 0 && o.Units[len(o.Units)-1].State == dag.Fresh
}

// Print writes what a stored output was made of for a terminal: files, units and
// sources. Units and sources of one kind share a line unless all are asked for; those
// of the profile own stand by themselves.
func (o Origin) Print(b *strings.Builder, own string, all bool) error {
	for _, g := range []*table.Grid{o.files(), o.units(own, all), o.sources(own, all)} {
		if err := g.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func (o Origin) files() *table.Grid {
	g := &table.Grid{Title: "\nStored files, as they were when the table was made", Heads: []string{"<file", "rows", "<SHA-256", "<by"}}
	for _, f := range o.Files {
		rows := table.None
		if f.Rows >= 0 {
			rows = strconv.Itoa(f.Rows)
		}
		g.Add(f.Path, rows, f.SHA256, f.By)
	}
	return g
}

func (o Origin) units(own string, all bool) *table.Grid {
	g := &table.Grid{Title: "\nMade by", Heads: []string{"<unit", "units", "<state", "<key", "<commit", "<seeds", "CPU s"}}
	var names []string
	groups := map[string][]dag.Record{} // units of one kind; the others by themselves
	for _, r := range o.Units {
		name, varies := r.Unit.Kind()
		if name += "/…"; !varies || all || own != "" && slices.Contains(strings.Split(r.Unit.Unit, "/"), own) {
			name = r.Unit.String()
		}
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], r)
	}
	for _, name := range names {
		units := groups[name]
		if len(units) == 1 {
			name = units[0].Unit.String()
		}
		g.Add(append([]string{name, strconv.Itoa(len(units))}, shared(units)...)...)
	}
	return g
}

// shared are the values that units share, or the number of values, and the seconds of all.
func shared(units []dag.Record) []string {
	cpu := 0.0
	states, keys, commits, seeds := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range units {
		states[r.State.String()] = true
		m := r.Last
		if m == nil {
			m = &dag.Manifest{}
		}
		cpu += m.CPUSeconds
		keys[m.Key[:min(12, len(m.Key))]], commits[m.Short()], seeds[strings.Join(m.Seeds, " ")] = true, true, true
	}
	return []string{common(states, "states"), common(keys, "keys"), common(commits, "commits"), common(seeds, "labels"), fmt.Sprintf("%.2f", cpu)}
}

// common is the only value, or the number of values.
func common(values map[string]bool, plural string) string {
	if len(values) > 1 {
		return fmt.Sprintf("%d %s", len(values), plural)
	}
	for value := range values {
		return cmp.Or(value, table.None)
	}
	return table.None
}

// sources lists the sources; those of one kind are counted unless all are asked for.
func (o Origin) sources(own string, all bool) *table.Grid {
	kind := func(name string) string {
		if kind, _, of := strings.Cut(name, " "); of && kind == "profile" {
			return kind
		}
		return name
	}
	shown := func(s dag.Source) bool { return all || s.Name == "profile "+own }
	alike := map[string]int{}
	for _, s := range o.Sources {
		if !shown(s) {
			alike[kind(s.Name)]++
		}
	}
	g := &table.Grid{Title: "\nSources", Heads: []string{"<source", "<SHA-256"}}
	for _, s := range o.Sources {
		switch n := alike[kind(s.Name)]; {
		case shown(s) || n == 1:
			g.Add(s.Name, s.SHA256)
		case n > 1:
			g.Notes = append(g.Notes, fmt.Sprintf("… and %d of the kind %q, each with its own hash (--all)", n, kind(s.Name)))
			alike[kind(s.Name)] = 0 // counted
		}
	}
	return g
}

// Fact is a fact about what made stored results: each value that units have recorded.
type Fact struct {
	Name   string
	Values []string
}

// Facts are the programs and machines that made results, by the records of units.
func Facts(records []dag.Record) (all []Fact) {
	for _, f := range []struct {
		name, mixed string
		of          func(*dag.Manifest) string
	}{
		{"Made by commit", "programs of %d commits made these results", func(m *dag.Manifest) string { return Commit(m.Origin) }},
		{"Go", "%d versions", func(m *dag.Manifest) string { return m.GoVersion }},
		{"Host", "%d hosts", func(m *dag.Manifest) string { return m.Host }},
		{"Command", "%d command lines", func(m *dag.Manifest) string { return m.Command }},
		{"Provenance", "", func(m *dag.Manifest) string { return m.Provenance }},
	} {
		units := map[string]int{}
		for _, r := range records {
			if r.Last != nil {
				units[f.of(r.Last)]++
			}
		}
		if len(units) > 0 {
			all = append(all, Fact{f.name, countLines(units, f.mixed)})
		}
	}
	return all
}

// Commit is a commit in full, which says so where the program had uncommitted changes.
func Commit(o dag.Origin) string {
	if o.Dirty {
		return o.Commit + ", with uncommitted changes"
	}
	return o.Commit
}

// countLines returns each text with its number of units, the most frequent first. Where
// there are several texts, a first line says so, in the words of mixed.
func countLines(units map[string]int, mixed string) (lines []string) {
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
