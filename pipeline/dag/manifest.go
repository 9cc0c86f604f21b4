package dag

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"speceval/internal/store/atomicfile"
	"speceval/internal/store/files"
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

// Origin is the program, the machine and the command behind a unit.
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

// mostManifest is the size, in bytes, of the largest manifest that is read.
const mostManifest = 64 << 20

// manifestPath is where the manifest of a unit stands, slash-separated and
// relative to the output folder.
func manifestPath(ref Ref) string {
	return path.Join(manifestDir, ref.Stage, ref.Unit+".json")
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
	name := manifestPath(ref)
	data, err := files.ReadInput(filepath.Join(dir, filepath.FromSlash(name)), files.Kind{Name: "a manifest", MaxBytes: mostManifest})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return parseManifest(data, name, ref)
}

// parseManifest reads the manifest of a unit; name is the file's, for errors.
func parseManifest(data []byte, name string, ref Ref) (*Manifest, error) {
	m := new(Manifest)
	damage := json.Unmarshal(data, m)
	switch found := (Ref{m.Parts.Stage, m.Parts.Unit}); {
	case m.Format != manifestFormat && json.Valid(data): // of a later format no more can be read
		return nil, fmt.Errorf("%s has format %d, this program knows format %d", name, m.Format, manifestFormat)
	case damage != nil:
		return nil, fmt.Errorf("%s is damaged: %w", name, damage)
	case found != ref:
		return nil, fmt.Errorf("%s belongs to another unit, %s", name, found)
	case m.Key != m.Parts.Key():
		return nil, fmt.Errorf("%s was edited: its key is not that of its parts", name)
	}
	return m, nil
}

// writeManifest writes the manifest of a unit, atomically.
func writeManifest(dir string, ref Ref, m *Manifest) error {
	return atomicfile.WriteJSON(filepath.Join(dir, filepath.FromSlash(manifestPath(ref))), m)
}
