package evaluation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"speceval/internal/atomicfile"
	"speceval/internal/digest"
	"speceval/internal/ownfile"
	"speceval/internal/version"
	"speceval/method/estimate"
)

// ManifestFile is the file in the folder of an evaluation that says by hashes what the
// others were when they were made.
const ManifestFile = "manifest.json"

const manifestFormat = 1

// mostJSON is the size, in bytes, of the largest setup, result or manifest that is read.
const mostJSON = 256 << 20

// evidence are the files that a result follows from; all names are fixed, and none is
// taken from a manifest.
var evidence = []string{setupFile, RolloutsFile, ScoresFile, requestsFile}

// manifest is the record of an evaluation. It is written before the setup, with nothing
// else in it, and again before the result: what it does not have the hash of is not
// complete.
type manifest struct {
	Format  int           `json:"format"`
	Version string        `json:"version"` // of the program
	Commit  string        `json:"commit"`
	Order   int           `json:"quadrature_order"` // of the prior
	Files   []digest.File `json:"files"`

	// Measured is what of the result follows from no file, of a complete evaluation.
	Measured *measured `json:"measured,omitempty"`
	// Allocation is the stages by task of an evaluation that was scored again: its
	// rewards are not those by which it was allocated. Nothing of any other, which
	// follows from its design and its rewards.
	Allocation [][]estimate.Stage `json:"allocation,omitempty"`
}

// measured is what of a result follows from no other file.
type measured struct {
	Provenance string   `json:"provenance"`
	Seconds    float64  `json:"seconds"`
	Barrier    float64  `json:"barrier_seconds"`
	Startup    float64  `json:"startup_seconds"`
	Sessions   int      `json:"sessions"`
	Notes      []string `json:"notes"` // without those about donors
	Rules      string   `json:"rules"`
}

// measured is what of the result follows from no other file.
func (r *Result) measured() *measured {
	notes := r.Notes
	if r.Known != nil {
		notes = notes[:max(0, len(notes)-len(r.Known.warnings()))]
	}
	return &measured{r.Provenance, r.Seconds, r.Barrier, r.Startup, r.Sessions, notes, r.Rules}
}

// put sets it in a result.
func (m *measured) put(r *Result) {
	r.Provenance, r.Seconds, r.Barrier, r.Startup, r.Sessions, r.Rules = m.Provenance, m.Seconds, m.Barrier, m.Startup, m.Sessions, m.Rules
	r.Notes = slices.Clone(m.Notes)
}

// complete tells whether the result was made when the manifest was.
func (m *manifest) complete() bool { return m != nil && m.Measured != nil }

// file is the record of a file.
func (m *manifest) file(name string) (digest.File, bool) {
	i := slices.IndexFunc(m.Files, func(f digest.File) bool { return f.Path == name })
	if i < 0 {
		return digest.File{}, false
	}
	return m.Files[i], true
}

// fault says what is no longer as recorded of a file; "" if nothing is.
func (m *manifest) fault(folder, name string) string {
	f, recorded := m.file(name)
	if !recorded {
		return "is not in " + ManifestFile
	}
	return f.Fault(folder)
}

// readManifest is the manifest in a folder; fs.ErrNotExist is in the error if there is
// none.
func readManifest(folder string) (*manifest, error) {
	path := filepath.Join(folder, ManifestFile)
	text, err := ownfile.ReadFile(path, mostJSON)
	if err != nil {
		return nil, err
	}
	m := new(manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("%s has format %d, this program knows format %d", path, m.Format, manifestFormat)
	}
	return m, nil
}

// write writes the manifest into a folder.
func (m *manifest) write(folder string) error {
	m.Format = manifestFormat
	return atomicfile.Write(filepath.Join(folder, ManifestFile), func(w io.Writer) error { return writeJSON(w, m) })
}

// made is a manifest of this program.
func made(commit string) *manifest { return &manifest{Version: version.Tag, Commit: commit} }

// textOf is a value as it is stored, and its record as a file of this name.
func textOf(name string, v any) (text []byte, f digest.File, err error) {
	var b bytes.Buffer
	w := digest.NewWriter(&b)
	err = writeJSON(w, v)
	return b.Bytes(), w.File(name), err
}

// AlteredError says that a file of an evaluation is not what was recorded when it was
// made, so that it cannot be used.
type AlteredError struct {
	Folder, File string
	Fault        string // continues a sentence that begins with the file
	Then         string // what to do
}

func (e *AlteredError) Error() string {
	return fmt.Sprintf("%s %s: %s", filepath.Join(e.Folder, e.File), e.Fault, e.Then)
}

// CheckBegun is an *AlteredError if the setup in a folder is not the one that the
// evaluation there has begun with. recorded is false of one that was begun by a version
// that kept no hashes, of which that cannot be told.
func CheckBegun(folder string) (recorded bool, err error) {
	m, err := readManifest(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if fault := m.fault(folder, setupFile); fault != "" {
		return true, &AlteredError{folder, setupFile, fault, "put back what it was, or take another --seed; the design and the tasks of an evaluation never change"}
	}
	return true, nil
}
