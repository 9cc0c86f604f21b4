package dag

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/store/files"
)

// Redo reports whether every output stands as recorded under this key: the
// unit runs only because it was asked to run again.
func (j *Job) Redo() bool { return j.sameKey() && !slices.ContainsFunc(j.unit.Outputs, j.changed) }

// sameKey reports whether the manifest of the unit has this key.
func (j *Job) sameKey() bool { return j.before.Last != nil && j.before.Last.Key == j.made.Key }

// changed reports whether an output was not as recorded when the job was made.
func (j *Job) changed(output string) bool {
	return j.before.have[slices.Index(j.unit.Outputs, output)] != j.before.recorded(output)
}

// Damaged reports whether an output that was recorded under this key is there no
// more, or has other content: what is there must not be kept, unless the unit knows
// that it has made it since.
func (j *Job) Damaged(output string) bool {
	return j.sameKey() && j.before.recorded(output) != "" && j.changed(output)
}

// SetAside moves what stands at an output out of the way, since it is damaged: it is kept, and
// Restore does not find it. Where nothing stands nothing happens.
func (j *Job) SetAside(output string) error {
	if err := j.supersede(output, "damaged-"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Keep takes a declared output as it stands, made by an earlier attempt at the
// same key, instead of writing it. The caller vouches for its content.
func (j *Job) Keep(output string, rows int) error {
	if err := j.mayWrite(output); err != nil {
		return err
	}
	kept, err := files.DigestOf(j.dir, output)
	if err != nil {
		return fmt.Errorf("keep %s: %w", output, err)
	}
	kept.Rows = rows
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written[output] = kept
	return nil
}

// Clear moves files out of the folders of the unit's outputs, which must be
// its own: all that keep, given a slash-separated name relative to the output
// folder and a local path, does not want there. They are kept under
// superseded/, and a note says so: what took long to make is never lost, and
// Restore finds it again.
func (j *Job) Clear(keep func(name, path string) bool) error {
	var folders []string
	for _, output := range j.unit.Outputs {
		if folder := path.Dir(output); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(j.Path(folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look into %s: %w", folder, err)
		}
		for _, entry := range entries {
			name := path.Join(folder, entry.Name())
			if entry.IsDir() || keep(name, j.Path(name)) {
				continue
			}
			if err := j.supersede(name, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// supersede moves a file to superseded/, under a name with a mark and the first digits of its
// hash.
func (j *Job) supersede(name, mark string) error {
	now, err := files.DigestOf(j.dir, name)
	if err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	stem, ext := supersededName(name)
	aside := stem + mark + short(now.SHA256) + ext
	j.Note("%s makes room for another; it is kept as %s", name, aside)
	return j.move(name, aside)
}

// supersededName is the beginning and the end of the names that a file gets
// when it makes room; the first digits of its hash stand between them.
func supersededName(name string) (stem, ext string) {
	ext = path.Ext(name)
	return path.Join(supersededDir, strings.TrimSuffix(name, ext)) + ".", ext
}

// Restore puts a file that made room for another back to where an output
// belongs, if accept, given a local path, finds one that is it. A file that is not
// what it was when it made room stays where it is. What stands there makes room in
// turn.
func (j *Job) Restore(output string, accept func(path string) bool) (restored bool, err error) {
	stem, ext := supersededName(output)
	entries, err := os.ReadDir(j.Path(path.Dir(stem)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("look for an earlier %s: %w", output, err)
	}
	for _, entry := range entries {
		name := path.Join(path.Dir(stem), entry.Name())
		if !strings.HasPrefix(name, stem) || !strings.HasSuffix(name, ext) || !accept(j.Path(name)) {
			continue
		}
		now, err := files.DigestOf(j.dir, name)
		if err != nil {
			return false, fmt.Errorf("look at an earlier %s: %w", output, err)
		}
		if name == stem+short(now.SHA256)+ext {
			if err := j.supersede(output, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false, err
			}
			j.Note("%s is back from %s", output, name)
			return true, j.move(name, output)
		}
	}
	return false, nil
}

// move moves a file within the output folder.
func (j *Job) move(from, to string) error {
	if err := cmp.Or(os.MkdirAll(filepath.Dir(j.Path(to)), 0o777), os.Rename(j.Path(from), j.Path(to))); err != nil {
		return fmt.Errorf("move %s to %s: %w", from, to, err)
	}
	return nil
}
