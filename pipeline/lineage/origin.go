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
// sources. Units of one kind share a line, and profiles are counted, unless all are asked
// for; those of the profile own stand by themselves.
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
		cpu := 0.0
		for _, r := range units {
			cpu += made(r).CPUSeconds
		}
		g.Add(name, strconv.Itoa(len(units)),
			common(units, "states", func(r dag.Record) string { return r.State.String() }),
			common(units, "keys", func(r dag.Record) string { key := made(r).Key; return key[:min(12, len(key))] }),
			common(units, "commits", func(r dag.Record) string { return made(r).Short() }),
			common(units, "labels", func(r dag.Record) string { return strings.Join(made(r).Seeds, " ") }),
			fmt.Sprintf("%.2f", cpu))
	}
	return g
}

// made is the manifest of a unit; an empty one if there is none.
func made(r dag.Record) *dag.Manifest { return cmp.Or(r.Last, &dag.Manifest{}) }

// common is the value that all units share, or the number of their values.
func common(units []dag.Record, plural string, of func(dag.Record) string) string {
	values := map[string]bool{}
	for _, r := range units {
		values[of(r)] = true
	}
	if len(values) > 1 {
		return fmt.Sprintf("%d %s", len(values), plural)
	}
	return cmp.Or(of(units[0]), table.None)
}

func (o Origin) sources(own string, all bool) *table.Grid {
	g := &table.Grid{Title: "\nSources", Heads: []string{"<source", "<SHA-256"}}
	others := 0
	for _, s := range o.Sources {
		if strings.HasPrefix(s.Name, "profile ") && s.Name != "profile "+own && !all {
			others++
			continue
		}
		g.Add(s.Name, s.SHA256)
	}
	if others > 0 {
		g.Notes = []string{fmt.Sprintf("… and %d of the kind \"profile\", each with its own hash (--all)", others)}
	}
	return g
}

// Fact is a fact about what made stored results: each value that units have recorded,
// with the number of units where there are several, the most frequent first.
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
		values := slices.SortedFunc(maps.Keys(units), func(a, b string) int {
			return cmp.Or(cmp.Compare(units[b], units[a]), cmp.Compare(a, b))
		})
		if n := len(values); n > 1 {
			for i, value := range values {
				values[i] = fmt.Sprintf("%s (units: %d)", value, units[value])
			}
			if f.mixed != "" {
				values = slices.Insert(values, 0, "Mixed: "+fmt.Sprintf(f.mixed, n)+".")
			}
		}
		if len(values) > 0 {
			all = append(all, Fact{f.name, values})
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
