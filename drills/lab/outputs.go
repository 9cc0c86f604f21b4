package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Manifest is the part of a unit's record that drills read.
type Manifest struct {
	Key   string `json:"key"`
	Parts struct {
		Stage string `json:"stage"`
		Unit  string `json:"unit"`
	} `json:"parts"`
	Inputs      []File  `json:"inputs"`
	Outputs     []File  `json:"outputs"`
	WallSeconds float64 `json:"wall_seconds"`

	Path string `json:"-"` // local
}

// File is an input or output of a unit.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Name is the unit as people write it.
func (m *Manifest) Name() string { return m.Parts.Stage + "/" + m.Parts.Unit }

// Units reads the manifests of the named stages in an output folder, sorted by path. A
// missing stage is no error, an unreadable manifest is one.
func Units(out string, stages ...string) ([]Manifest, error) {
	var all []Manifest
	for _, stage := range stages {
		err := filepath.WalkDir(filepath.Join(out, "manifests", stage), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			m := Manifest{Path: path}
			if err := json.Unmarshal(text, &m); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, m)
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return all, nil
}

// Broken lists the results that an output folder claims and does not hold: outputs of
// manifests that are missing, or not as recorded.
func Broken(out string) ([]string, error) {
	units, err := Units(out, Stages...)
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, m := range units {
		for _, f := range m.Outputs {
			if sum, err := digest(filepath.Join(out, filepath.FromSlash(f.Path))); err != nil || sum != f.SHA256 {
				faults = append(faults, fmt.Sprintf("%s of %s is not as its manifest says", f.Path, m.Name()))
			}
		}
	}
	return faults, nil
}

// Leftovers lists the files in the making that an output folder holds.
func Leftovers(out string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(out, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, partial) {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

// partial ends the names of files in the making.
const partial = ".partial"

func digest(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Forget removes everything that an output folder has of a stage: manifests,
// outputs and unfinished work.
func Forget(out, stage string) error {
	units, err := Units(out, stage)
	if err != nil {
		return err
	}
	for _, m := range units {
		for _, f := range m.Outputs {
			if err := os.Remove(filepath.Join(out, filepath.FromSlash(f.Path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return errors.Join(os.RemoveAll(filepath.Join(out, "manifests", stage)), os.RemoveAll(filepath.Join(out, "scratch", stage)))
}

// CopyOutputs copies an output folder to a new one.
func CopyOutputs(from, to string) error { return os.CopyFS(to, os.DirFS(from)) }

// CopyStage copies what a folder has of a stage to another one.
func CopyStage(from, to, stage string) error {
	units, err := Units(from, stage)
	if err != nil {
		return err
	}
	for _, m := range units {
		paths := []string{m.Path}
		for _, f := range m.Outputs {
			paths = append(paths, filepath.Join(from, filepath.FromSlash(f.Path)))
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := WriteFile(filepath.Join(to, strings.TrimPrefix(path, from)), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteFile writes a file, and makes the folders that it needs.
func WriteFile(path string, text []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, text, 0o666))
}
