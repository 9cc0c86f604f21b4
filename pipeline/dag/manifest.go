package dag

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/atomicfile"
	"speceval/internal/files"
)

// manifestFormat is the version of the manifest's layout.
const manifestFormat = 1

// Manifest is the record of a unit that has run. It is written after the
// unit's outputs; only a manifest means done.
type Manifest struct {
	Format     int    `json:"format"` // version of this layout
	Key        string `json:"key"`
	Parts      Parts  `json:"parts"` // what the key was made of
	Provenance string `json:"provenance"`

	Inputs  []File   `json:"inputs"`
	Outputs []File   `json:"outputs"`
	Seeds   []string `json:"seeds"` // labels of the branches of the seed tree
	Notes   []string `json:"notes,omitempty"`

	Origin
	Start       time.Time `json:"start"` // UTC
	WallSeconds float64   `json:"wall_seconds"`
	CPUSeconds  float64   `json:"cpu_seconds"` // of the unit's own thread, see usage
	PeakBytes   int64     `json:"peak_bytes"`  // largest resident set of the process so far
}

// File is an input or output as it was when the unit ran; its path is relative to the
// output folder.
type File = files.Digest

// large is the size, in bytes, from which an output of the recorded size and
// modification time is not hashed again.
const large = 256 << 10

// Origin is what a unit was run by.
type Origin struct {
	Commit    string `json:"commit"` // git commit of the program, "unknown" outside git
	Dirty     bool   `json:"dirty"`  // built from uncommitted changes
	GoVersion string `json:"go_version"`
	Host      string `json:"host"`
	Command   string `json:"command"` // as typed
	*Queue           // nil for what did not have to wait for a machine
}

// Revision is the commit, ending in "-dirty" if the program was built from
// uncommitted changes.
func (o Origin) Revision() string {
	if o.Dirty {
		return o.Commit + "-dirty"
	}
	return o.Commit
}

// Short is the Revision with the beginning of the commit, enough to tell it from
// others.
func (o Origin) Short() string {
	o.Commit = o.Commit[:min(12, len(o.Commit))]
	return o.Revision()
}

// Queue is how a unit came to run that had to wait for a machine.
type Queue struct {
	Job          string    `json:"job"`           // of the scheduler: "1234_7"
	Submitted    time.Time `json:"submitted"`     // UTC
	QueueSeconds float64   `json:"queue_seconds"` // from there to the start of the process
	Attempt      int       `json:"attempt"`       // at this unit, from 1
}

// Finished is when the unit was done.
func (m *Manifest) Finished() time.Time {
	return m.Start.Add(time.Duration(m.WallSeconds * float64(time.Second)))
}

// mostManifest is the size, in bytes, of the largest manifest that is read.
const mostManifest = 64 << 20

// manifestExt ends the names of manifests.
const manifestExt = ".json"

// manifestPath is where the manifest of a unit stands, slash-separated and
// relative to the output folder.
func manifestPath(ref Ref) string {
	return path.Join(manifestDir, ref.Stage, ref.Unit+manifestExt)
}

// output finds the record of an output.
func (m *Manifest) output(name string) (File, bool) {
	for _, f := range m.Outputs {
		if f.Path == name {
			return f, true
		}
	}
	return File{}, false
}

// readManifest reads the manifest of a unit. The error wraps fs.ErrNotExist
// if there is none; any other says why the one there cannot be used.
func readManifest(dir string, ref Ref) (*Manifest, error) {
	data, err := files.ReadInput(filepath.Join(dir, filepath.FromSlash(manifestPath(ref))), files.Kind{Name: "a manifest", MaxBytes: mostManifest})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", manifestPath(ref), err)
	}
	name := manifestPath(ref)
	m, err := parseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	if found := (Ref{m.Parts.Stage, m.Parts.Unit}); found != ref {
		return nil, fmt.Errorf("%s belongs to another unit, %s", name, found)
	}
	if m.Key != m.Parts.Key() {
		return nil, fmt.Errorf("%s was edited: its key is not that of its parts", name)
	}
	return m, nil
}

// parseManifest reads the layout that this program knows. Its errors continue
// a sentence that begins with the file's name.
func parseManifest(data []byte) (*Manifest, error) {
	m := new(Manifest)
	damage := json.Unmarshal(data, m)
	if damage == nil && m.Format == manifestFormat {
		return m, nil
	}
	var layout struct{ Format int } // of a later format no more can be read
	if err := json.Unmarshal(data, &layout); err == nil && layout.Format != manifestFormat {
		return nil, fmt.Errorf("has format %d, this program knows format %d", layout.Format, manifestFormat)
	}
	return nil, fmt.Errorf("is damaged: %w", damage)
}

// writeManifest writes the manifest of a unit, atomically.
func writeManifest(dir string, ref Ref, m *Manifest) error {
	file := filepath.Join(dir, filepath.FromSlash(manifestPath(ref)))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return atomicfile.Advise(file, err)
	}
	return atomicfile.WriteJSON(file, m)
}

// mostAltered is how many altered outputs of a stage a warning names.
const mostAltered = 5

// alteredOutputs are the outputs of unit i that are there, and not as its manifest
// recorded them.
func (s *Snapshot) alteredOutputs(i int) (names []string) {
	r := &s.records[i]
	if r.manifest == nil {
		return nil
	}
	for k, output := range s.graph.nodes[i].unit.Outputs {
		if made, known := r.manifest.output(output); known && r.have[k] != "" && r.have[k] != made.SHA256 {
			names = append(names, output)
		}
	}
	return names
}

// altered warns of the stored outputs that planned units are made from, at any distance,
// and that were edited or damaged since they were made.
func (p *planner) altered() (warnings []string) {
	s := p.snapshot
	g := s.graph
	behind := make([]bool, len(g.nodes)) // what is planned
	for i := len(g.nodes) - 1; i >= 0; i-- {
		if p.planned[i] || behind[i] {
			for _, need := range g.nodes[i].needs {
				behind[need] = true
			}
		}
	}
	byStage := make([][]string, len(g.stages))
	for i := range g.nodes {
		if behind[i] && !p.planned[i] {
			at := g.nodes[i].stage
			byStage[at] = append(byStage[at], s.alteredOutputs(i)...)
		}
	}
	for at, names := range byStage {
		if len(names) > 0 {
			warnings = append(warnings, alteredWarning(names, g.stages[at].Name))
		}
	}
	return warnings
}

func alteredWarning(names []string, stage string) string {
	which, are := strings.Join(names[:min(mostAltered, len(names))], ", "), "is"
	if more := len(names) - mostAltered; more > 0 {
		which += fmt.Sprintf(" and %d more", more)
	}
	if len(names) > 1 {
		are = "are"
	}
	return fmt.Sprintf("%s %s not as recorded: damaged, or edited; what is made from stored outputs has that in it. `speceval run %s` makes the outputs anew, and keeps these next to them", which, are, stage)
}

// Altered are the inputs that are not what the units that made them have recorded: they
// were edited or damaged since. They are inputs all the same.
func (j *Job) Altered() []string { return j.altered }

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
