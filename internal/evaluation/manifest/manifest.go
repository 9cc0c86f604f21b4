// Package manifest is the record of an evaluation in its folder: the hashes of its files
// when they were made, and the part of its result that follows from no other file. It
// holds no secret: files and manifest rewritten together are not detected. The package
// also compares a stored document with one that was computed again.
package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"speceval/internal/atomicfile"
	"speceval/internal/files"
	"speceval/internal/version"
	"speceval/method/estimate"
)

// Name is the file in the folder of an evaluation that says by hashes what the
// others were when they were made.
const Name = "manifest.json"

const format = 1 // of this file

// Most is the size, in bytes, of the largest setup, result or manifest that is read.
const Most = 256 << 20

// Manifest is the record of an evaluation. It is written before the setup, with nothing
// else in it, and again before the result: what it does not have the hash of is not
// complete.
type Manifest struct {
	Format  int            `json:"format"`
	Version string         `json:"version"` // of the program
	Commit  string         `json:"commit"`
	Order   int            `json:"quadrature_order"` // of the prior
	Files   []files.Digest `json:"files"`

	// Measured is what of the result follows from no file, of a complete evaluation.
	Measured *Measured `json:"measured,omitempty"`
	// Allocation is the stages by task of an evaluation that was scored again: its
	// rewards are not those by which it was allocated. Nothing of any other, which
	// follows from its design and its rewards.
	Allocation [][]estimate.Stage `json:"allocation,omitempty"`
}

// Measured is what of a result follows from no other file.
type Measured struct {
	Provenance string   `json:"provenance"`
	Seconds    float64  `json:"seconds"`
	Barrier    float64  `json:"barrier_seconds"`
	Startup    float64  `json:"startup_seconds"`
	Sessions   int      `json:"sessions"`
	Notes      []string `json:"notes"` // without those about donors
	Rules      string   `json:"rules"`
}

// Complete tells whether the result was made when the manifest was.
func (m *Manifest) Complete() bool { return m != nil && m.Measured != nil }

// file is the record of a file.
func (m *Manifest) file(name string) (files.Digest, bool) {
	i := slices.IndexFunc(m.Files, func(f files.Digest) bool { return f.Path == name })
	if i < 0 {
		return files.Digest{}, false
	}
	return m.Files[i], true
}

// Fault says what is no longer as recorded of a file; "" if nothing is.
func (m *Manifest) Fault(folder, name string) string {
	f, recorded := m.file(name)
	if !recorded {
		return "is not in " + Name
	}
	return f.Fault(folder)
}

// Read is the manifest in a folder; fs.ErrNotExist is in the error if there is
// none.
func Read(folder string) (*Manifest, error) {
	path := filepath.Join(folder, Name)
	text, err := files.ReadOwn(path, Most)
	if err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if m.Format != format {
		return nil, fmt.Errorf("%s has format %d, this program knows format %d", path, m.Format, format)
	}
	return m, nil
}

// Write writes the manifest into a folder.
func (m *Manifest) Write(folder string) error {
	m.Format = format
	text, _, err := Text(Name, m)
	if err != nil {
		return err
	}
	return atomicfile.WriteText(filepath.Join(folder, Name), string(text))
}

// New is a manifest of this program, built from a commit.
func New(commit string) *Manifest { return &Manifest{Version: version.Tag, Commit: commit} }

// Text is a value as it is stored, and its record as a file of this name.
func Text(name string, v any) (text []byte, f files.Digest, err error) {
	var b bytes.Buffer
	w := files.NewDigestWriter(&b)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err = e.Encode(v)
	return b.Bytes(), w.File(name), err
}

// AlteredError says that a file of an evaluation is not what was recorded when it was
// made, so that it cannot be used.
type AlteredError struct {
	Folder, File string
	Fault        string // continues a sentence that begins with the file
	Then         string // what to do
}

// Altered is such an error.
func Altered(folder, file, fault, then string) error { return &AlteredError{folder, file, fault, then} }

func (e *AlteredError) Error() string {
	return fmt.Sprintf("%s %s: %s", filepath.Join(e.Folder, e.File), e.Fault, e.Then)
}

// Differences finds where a stored document and one that was computed again differ.

// Tolerance is the relative difference of numbers that count as the same: another
// machine may round otherwise.
const Tolerance = 1e-6

// Of is where two values differ in what they store as JSON: "estimate is 0.999, and comes
// to 0.5166".
func Differences(stored, made any) ([]string, error) {
	var trees [2]any
	for i, v := range []any{stored, made} {
		text, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(text, &trees[i])
		}
		if err != nil {
			return nil, err
		}
	}
	var all []string
	differ("", trees[0], trees[1], &all)
	return all, nil
}

// differ appends where two values of JSON differ.
func differ(at string, a, b any, all *[]string) {
	switch x := a.(type) {
	case map[string]any:
		if y, same := b.(map[string]any); same {
			keys := maps.Clone(x)
			maps.Copy(keys, y)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				differ(joined(at, key), x[key], y[key], all)
			}
			return
		}
	case []any:
		if y, same := b.([]any); same && len(x) == len(y) {
			for i := range x {
				differ(fmt.Sprintf("%s[%d]", at, i), x[i], y[i], all)
			}
			return
		}
	case float64:
		if y, same := b.(float64); same && math.Abs(x-y) <= Tolerance*max(1e-3, math.Abs(x), math.Abs(y)) {
			return
		}
	}
	if x, y := shown(a), shown(b); x != y {
		*all = append(*all, fmt.Sprintf("%s is %s, and comes to %s", at, x, y))
	}
}

func joined(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

// shown is a value in a few characters; values that differ may be shown alike beyond.
func shown(v any) string {
	text, _ := json.Marshal(v) // of what was JSON
	const most = 60
	return cmp.Or(string(text[:min(most, len(text))]), "nothing")
}
