package dag

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Record is what an output folder says of one unit: what it was last made of,
// and whether that is what would be made now.
type Record struct {
	Ref      Ref
	Manifest *Manifest // nil where there is none, or none that can be read
	Key      string    // with the inputs that are there now; empty where some are missing
	Fresh    bool      // neither the unit nor anything that it is made of has a reason to run
	Reasons  []Reason  // why the unit itself would run; none where only what it is made of is stale

	Needs []Ref // the units whose outputs it reads, each once; the wanted ones are the last
	Wants []Ref // those of Needs without which it runs all the same

	Provenance string   // of its numbers as recorded, as declared where nothing is
	Outputs    []string // files that it writes, relative to the output folder
	Sources    []Source // inputs from outside the output folder, as they are now
}

// State is how the stored outputs of the unit stand to what a run would make now,
// what the unit is made of included.
func (r Record) State() State {
	switch {
	case r.Fresh:
		return Fresh
	case r.Manifest == nil:
		return Missing
	}
	return Stale
}

// Kind is the name that a unit shares with those alike, "replay/design/hbn" of
// replay/design/hbn/n=30/replicate=3: its words before the first with an equals
// sign. varies is false for the only unit of its kind, whose name it is.
func (r Ref) Kind() (name string, varies bool) {
	words := strings.Split(r.Unit, "/")
	if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "=") }); i >= 0 {
		return strings.Join(append([]string{r.Stage}, words[:i]...), "/"), true
	}
	return r.String(), false
}

// Records are the records of all units, each after the units that it needs.
func (s *Snapshot) Records() []Record {
	records := make([]Record, len(s.graph.nodes))
	for i := range s.graph.nodes {
		records[i] = s.record(i, records)
	}
	return records
}

// record is the record of unit i; before are those of the earlier units.
func (s *Snapshot) record(i int, before []Record) Record {
	n := &s.graph.nodes[i]
	v := s.judge(i)
	r := Record{
		Ref: s.graph.ref(i), Manifest: s.records[i].manifest, Key: v.key,
		Fresh: len(v.reasons) == 0, Reasons: v.reasons,
		Provenance: n.unit.Provenance, Outputs: slices.Clone(n.unit.Outputs), Sources: slices.Clone(n.unit.Sources),
	}
	if r.Manifest != nil {
		r.Provenance = r.Manifest.Provenance
	}
	for k, need := range n.needs {
		ref := s.graph.ref(need)
		if slices.Contains(r.Needs, ref) {
			continue
		}
		r.Needs = append(r.Needs, ref)
		wanted := k >= n.wanted
		if wanted {
			r.Wants = append(r.Wants, ref)
		}
		// A wanted unit that never ran makes nothing stale: it is done without.
		if !before[need].Fresh && !(wanted && !s.records[need].usable()) {
			r.Fresh = false
		}
	}
	return r
}

// Made are the units that have a manifest, with it: each after those that it
// needs.
func (s *Snapshot) Made() iter.Seq2[Ref, *Manifest] {
	return func(yield func(Ref, *Manifest) bool) {
		for i := range s.records {
			if m := s.records[i].manifest; m != nil && !yield(s.graph.ref(i), m) {
				return
			}
		}
	}
}

// Manifests are those in an output folder that can be read, by unit, whatever
// experiment they are of. unreadable counts the others.
func Manifests(outDir string) (byUnit map[Ref]*Manifest, unreadable int, err error) {
	byUnit = make(map[Ref]*Manifest)
	root := filepath.Join(outDir, manifestDir)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) && path == root {
			return nil // no unit has run
		}
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != manifestExt {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		stage, unit, _ := strings.Cut(strings.TrimSuffix(filepath.ToSlash(name), manifestExt), "/")
		ref := Ref{Stage: stage, Unit: unit}
		m, err := readManifest(outDir, ref)
		if err != nil {
			unreadable++
			return nil
		}
		byUnit[ref] = m
		return nil
	})
	return byUnit, unreadable, err
}

// Fault says what is no longer as recorded of an output of a unit; "" if nothing is, or
// if no manifest is there that speaks of it. A manifest that cannot be used is an error.
func Fault(outDir string, unit Ref, output string) (string, error) {
	m, err := readManifest(outDir, unit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	f, recorded := m.output(output)
	if !recorded {
		return "", nil
	}
	return f.Fault(outDir), nil
}

// Changes explains, part by part, why the key of now is not that of before.
func Changes(before, now Parts) []Reason { return changes(&before, &now) }
