package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/store/group"
	"speceval/internal/terminal/table"
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

// originOf is the origin of the outputs of a unit, by the records of all units, each after
// those that it needs; without units if none is its.
func originOf(records []dag.Record, unit dag.Ref) Origin {
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

// units are the units, those of one kind on a line unless all are asked for; those of the profile
// own stand by themselves.
func (o Origin) units(own string, all bool) *table.Grid {
	g := &table.Grid{Title: "\nMade by", Heads: []string{"<unit", "units", "<state", "<key", "<commit", "<seeds", "CPU s"}}
	kind := func(r dag.Record) string {
		name, varies := r.Unit.Kind()
		if !varies || all || own != "" && slices.Contains(strings.Split(r.Unit.Unit, "/"), own) {
			return r.Unit.String()
		}
		return name + "/…"
	}
	for _, units := range group.By(o.Units, kind) {
		name := units[0].Unit.String()
		if len(units) > 1 {
			name = kind(units[0])
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

// sources are the sources; profiles other than own are counted, unless all are asked for.
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

// stale warns where the output, or what it is made of, is not what this experiment
// would make now, the last unit first. Units that are stale of the same causes are counted
// together.
func (o Origin) stale() (warnings []string) {
	if len(o.Units) == 0 {
		return []string{"no unit of this experiment makes this table: where it comes from is not known"}
	}
	var stale []dag.Record
	for _, r := range slices.Backward(o.Units) {
		if len(r.Own()) > 0 && (r.Last != nil || !o.doesWithout(r.Unit)) { // or the others say that they do without
			stale = append(stale, r)
		}
	}
	for _, units := range group.By(stale, func(r dag.Record) string { return dag.Brief(r.Own()) }) {
		first, state := units[len(units)-1], "stale" // the first to run
		subject := first.Unit.String() + " is"
		if n := len(units); n > 1 {
			subject = fmt.Sprintf("%d units, such as %s, are", n, first.Unit)
		}
		if first.Last == nil {
			state = "without a manifest"
		}
		warnings = append(warnings, fmt.Sprintf("%s %s: %s", subject, state, dag.Explain(first.Own())))
	}
	return warnings
}

// doesWithout reports whether every unit that reads a unit runs without it as well.
func (o Origin) doesWithout(unit dag.Ref) bool {
	needs := func(r dag.Record) bool { return slices.Contains(r.Declared.Needs, unit) }
	return unit != o.Units[len(o.Units)-1].Unit && !slices.ContainsFunc(o.Units, needs)
}
