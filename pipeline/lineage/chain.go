// Package lineage says what stored outputs were made by: the units behind one, with
// what their manifests record, why some of them are stale, which units are alike, and
// which programs and machines ran them. It reads records and manifests, and knows no stage.
package lineage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"speceval/pipeline/dag"
)

// Chain is the records of a unit, the last, and of all units that it is made of,
// each after those that it needs.
type Chain []dag.Record

// Of is the chain of a unit, from the records of all units; empty if none is its.
func Of(records []dag.Record, unit dag.Ref) (c Chain) {
	wanted := map[dag.Ref]bool{unit: true}
	for _, r := range slices.Backward(records) {
		if !wanted[r.Ref] {
			continue
		}
		c = append(c, r)
		for _, need := range r.Needs {
			wanted[need] = true
		}
	}
	slices.Reverse(c)
	return c
}

// Origin is what a stored output was made of, and by what.
type Origin struct {
	Files   []File       `json:"files"`   // what the unit has read, and what it has written
	Units   []Unit       `json:"units"`   // all that it was made by, each after those that it reads
	Sources []dag.Source `json:"sources"` // from outside the output folder, as recorded
}

// File is a stored file as the manifest of the unit has it.
type File struct {
	dag.File
	By string `json:"by"` // the unit that writes it
}

// Unit is a unit that an output was made by. What ran it is empty where no manifest
// says.
type Unit struct {
	Unit  string `json:"unit"`
	State string `json:"state"`         // fresh, stale or missing
	Why   string `json:"why,omitempty"` // it is not fresh

	Key         string     `json:"key"` // of the stored outputs
	Version     int        `json:"stage_version"`
	Seeds       []string   `json:"seeds"` // labels of branches of the seed tree
	Commit      string     `json:"commit"`
	Dirty       bool       `json:"dirty"` // built from uncommitted changes
	Host        string     `json:"host"`
	GoVersion   string     `json:"go_version"`
	Command     string     `json:"command"`
	Start       *time.Time `json:"start"`
	WallSeconds float64    `json:"wall_seconds"`
	CPUSeconds  float64    `json:"cpu_seconds"`
	Provenance  string     `json:"provenance"`
	Outputs     []dag.File `json:"outputs"`
	Notes       []string   `json:"notes,omitempty"`

	record dag.Record
}

func newUnit(r dag.Record) Unit {
	u := Unit{record: r, Unit: r.Ref.String(), State: r.State().String(), Why: dag.Explain(r.Reasons), Provenance: r.Provenance, Seeds: []string{}, Outputs: []dag.File{}}
	if !r.Fresh && u.Why == "" {
		u.Why = "what it is made of is stale"
	}
	if m := r.Manifest; m != nil {
		u.Key, u.Version, u.Seeds, u.Outputs, u.Notes = m.Key, m.Parts.Version, m.Seeds, m.Outputs, m.Notes
		u.Commit, u.Dirty, u.Host, u.GoVersion, u.Command = m.Commit, m.Dirty, m.Host, m.GoVersion, m.Command
		u.Start, u.WallSeconds, u.CPUSeconds = &m.Start, m.WallSeconds, m.CPUSeconds
	}
	return u
}

// Origin gathers what the manifests say.
func (c Chain) Origin() Origin {
	o := Origin{Files: []File{}, Units: []Unit{}, Sources: []dag.Source{}}
	by := map[string]string{} // the units that write files
	for _, r := range c {
		o.Units = append(o.Units, newUnit(r))
		for _, output := range r.Outputs {
			by[output] = r.Ref.String()
		}
		if r.Manifest == nil {
			continue
		}
		for name, sum := range r.Manifest.Parts.Sources {
			o.Sources = append(o.Sources, dag.Source{Name: name, SHA256: sum})
		}
	}
	slices.SortFunc(o.Sources, func(a, b dag.Source) int { return strings.Compare(a.Name+a.SHA256, b.Name+b.SHA256) })
	o.Sources = slices.Compact(o.Sources)
	if n := len(c); n > 0 && c[n-1].Manifest != nil {
		m := c[n-1].Manifest
		for _, f := range slices.Concat(m.Inputs, m.Outputs) {
			o.Files = append(o.Files, File{f, by[f.Path]})
		}
	}
	return o
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
			if r.Manifest != nil {
				units[f.of(r.Manifest)]++
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

// Group is units of one kind.
type Group struct {
	Name  string // "replay/profile/…", or the name of the only one
	Units []dag.Record
}

// Alone is a unit as a group of its own.
func Alone(r dag.Record) Group { return Group{r.Ref.String(), []dag.Record{r}} }

// Alike tells units of one kind together, in the order of the first of each. Those
// that alone holds for stand by themselves; nil: none.
func Alike(units []dag.Record, alone func(dag.Ref) bool) (groups []Group) {
	index := map[string]int{}
	for _, r := range units {
		kind, varies := r.Ref.Kind()
		if !varies || alone != nil && alone(r.Ref) {
			groups = append(groups, Alone(r))
			continue
		}
		if i, known := index[kind]; known {
			groups[i].Name = kind + "/…"
			groups[i].Units = append(groups[i].Units, r)
			continue
		}
		index[kind] = len(groups)
		groups = append(groups, Alone(r))
	}
	return groups
}

// State is the worst of those of the units.
func (g Group) State() dag.State {
	state := dag.Fresh
	for _, r := range g.Units {
		state = min(state, r.State())
	}
	return state
}

// Start is when the first of the units began; the zero time if none has run.
func (g Group) Start() (first time.Time) {
	for m := range g.made {
		if first.IsZero() || m.Start.Before(first) {
			first = m.Start
		}
	}
	return first
}

// CPU is the processor seconds of the units, in sum.
func (g Group) CPU() (seconds float64) {
	for m := range g.made {
		seconds += m.CPUSeconds
	}
	return seconds
}

// Distinct is the different values of the units' manifests, sorted; that of a unit
// without one is empty.
func (g Group) Distinct(of func(*dag.Manifest) string) []string {
	values := map[string]bool{}
	for _, r := range g.Units {
		value := ""
		if r.Manifest != nil {
			value = of(r.Manifest)
		}
		values[value] = true
	}
	return slices.Sorted(maps.Keys(values))
}

// made goes through the manifests that there are.
func (g Group) made(yield func(*dag.Manifest) bool) {
	for _, r := range g.Units {
		if r.Manifest != nil && !yield(r.Manifest) {
			return
		}
	}
}
