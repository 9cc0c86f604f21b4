package evaluation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"speceval/internal/machine/version"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/files"
)

const (
	manifestFile   = "manifest.json"
	manifestFormat = 1
)

// mostBytes is the size of the largest setup, result or manifest that is read.
const mostBytes = 256 << 20

// manifest records the hashes of the files of an evaluation: of the setup while it is under
// way, of all files once it is complete. It holds no secret: files and manifest rewritten
// together are not detected.
type manifest struct {
	Format  int            `json:"format"`
	Version string         `json:"version"` // of the program
	Commit  string         `json:"commit"`
	Files   []files.Digest `json:"files"` // of one that is being replaced, the new record and the old
}

// complete reports whether the evaluation has ended.
func (m *manifest) complete() bool { return len(m.records(ResultFile)) > 0 }

// records are the records of a file.
func (m *manifest) records(name string) (all []files.Digest) {
	for _, f := range m.Files {
		if f.Path == name {
			all = append(all, f)
		}
	}
	return all
}

// fault says what is not as recorded of a file; "" if nothing is.
func (m *manifest) fault(folder, name string) (fault string) {
	for _, f := range m.records(name) {
		is := f.Fault(folder)
		if is == "" {
			return ""
		}
		fault = cmp.Or(fault, is)
	}
	return cmp.Or(fault, "is not in "+manifestFile)
}

// read is the text of a file, which must be as recorded. then says what to do otherwise.
func (m *manifest) read(folder, name, then string) ([]byte, error) {
	if fault := m.fault(folder, name); fault != "" {
		return nil, altered(folder, name, fault, then)
	}
	return files.ReadInput(filepath.Join(folder, name), files.Kind{Name: "a file of an evaluation", MaxBytes: mostBytes})
}

// altered is the error of a file that is not as it was made. fault continues a sentence
// that begins with the file.
func altered(folder, file, fault, then string) error {
	return fmt.Errorf("%s %s: %s", filepath.Join(folder, file), fault, then)
}

// restoreAdvice is the advice about a file without which an evaluation cannot be used.
const restoreAdvice = "put back what was there, or move the folder away to evaluate anew"

// readManifest reads the manifest in a folder; fs.ErrNotExist is in the error if there is
// neither a manifest nor a setup.
func readManifest(folder string) (*manifest, error) {
	path := filepath.Join(folder, manifestFile)
	text, err := files.ReadInput(path, files.Kind{Name: "a file of an evaluation", MaxBytes: mostBytes})
	if errors.Is(err, fs.ErrNotExist) {
		if _, setup := os.Lstat(filepath.Join(folder, setupFile)); setup == nil {
			return nil, altered(folder, manifestFile, "is missing", restoreAdvice)
		}
	}
	if err != nil {
		return nil, err
	}
	m := new(manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w: %s", path, err, restoreAdvice)
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("%s has format %d, this program knows format %d: %s", path, m.Format, manifestFormat, restoreAdvice)
	}
	return m, nil
}

// newManifest is a manifest of files, by this program at a commit.
func newManifest(commit string, all ...files.Digest) *manifest {
	return &manifest{Format: manifestFormat, Version: version.Tag, Commit: commit, Files: all}
}

func (m *manifest) write(folder string) error {
	return atomicfile.WriteJSON(filepath.Join(folder, manifestFile), m)
}

// part is a file of an evaluation.
type part struct {
	name  string
	write func(io.Writer) error
}

// record writes a part to w, and returns its record.
func (p part) record(w io.Writer) (files.Digest, error) {
	to := files.NewDigestWriter(w)
	err := p.write(to)
	return to.File(p.name), err
}

// writeParts writes files, which the manifest has then.
func (m *manifest) writeParts(folder string, parts []part) error {
	for _, p := range parts {
		err := atomicfile.Write(filepath.Join(folder, p.name), func(w io.Writer) error {
			f, err := p.record(w)
			m.Files = append(m.Files, f)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replace replaces files of a manifest. Until all are replaced, the manifest in the folder has the
// records of the old and of the new ones, so that a kill leaves a folder that can be read.
func (m *manifest) replace(folder string, was *manifest, parts []part) error {
	both := newManifest(m.Commit, m.Files...)
	for _, p := range parts {
		f, err := p.record(io.Discard)
		if err != nil {
			return err
		}
		both.Files = append(append(both.Files, f), was.records(p.name)...)
	}
	if err := both.write(folder); err != nil {
		return err
	}
	if err := m.writeParts(folder, parts); err != nil {
		return err
	}
	return m.write(folder)
}
