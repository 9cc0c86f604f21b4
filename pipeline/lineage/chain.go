// Package lineage says what stored outputs were made by: the units behind one, with
// what their manifests record, why some of them are stale, which units are alike,
// which programs and machines ran them, and how two output folders were made
// differently. It reads records and manifests, and knows no stage.
package lineage

import (
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

// Levels is the chain from its last unit on: that unit, those that it reads, those
// that they read and so on, each unit once.
func (c Chain) Levels() (levels [][]dag.Record) {
	rest := map[dag.Ref]dag.Record{}
	for _, r := range c[:max(0, len(c)-1)] {
		rest[r.Ref] = r
	}
	for level := c[len(rest):]; len(level) > 0; {
		levels = append(levels, level)
		var next Chain
		for _, r := range level {
			for _, need := range r.Needs {
				if of, ok := rest[need]; ok {
					next = append(next, of)
					delete(rest, need)
				}
			}
		}
		level = next
	}
	return levels
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
