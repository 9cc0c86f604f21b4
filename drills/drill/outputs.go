package drill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"speceval/internal/store/files"
	"speceval/internal/store/journal"
	"speceval/internal/store/rollout"
)

// Stages are the stages of the pipeline, in order.
var Stages = []string{"generate", "score", "replay", "systems", "report"}

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

// Units are the manifests of the named stages in an output folder, sorted by path. An
// unreadable one ends the drill.
func (l *Lab) Units(out string, stages ...string) (all []Manifest) {
	l.Helper()
	for _, stage := range stages {
		for _, path := range l.Walk(filepath.Join(out, "manifests", stage)) {
			if filepath.Ext(path) != ".json" {
				continue
			}
			m := Manifest{Path: path}
			if err := json.Unmarshal(l.Read(path), &m); err != nil {
				l.Fatalf("%s: %v", path, err)
			}
			all = append(all, m)
		}
	}
	return all
}

// Whole ends the drill if an output folder claims results that it does not hold: a
// manifest alone means done.
func (l *Lab) Whole(out string) {
	l.Helper()
	for _, m := range l.Units(out, Stages...) {
		for _, f := range m.Outputs {
			if d, err := files.DigestOf(out, f.Path); err != nil || d.SHA256 != f.SHA256 {
				l.Fatalf("%s of %s is not as its manifest says", f.Path, m.Name())
			}
		}
	}
}

// Clean ends the drill if files in the making are left in an output folder.
func (l *Lab) Clean(out string) {
	l.Helper()
	for _, path := range l.Walk(out) {
		if strings.HasSuffix(path, ".partial") {
			l.Fatalf("left over: %s", path)
		}
	}
}

// Forget removes everything that an output folder has of a stage: manifests, outputs
// and unfinished work.
func (l *Lab) Forget(out, stage string) {
	l.Helper()
	for _, m := range l.Units(out, stage) {
		for _, f := range m.Outputs {
			if err := os.Remove(filepath.Join(out, filepath.FromSlash(f.Path))); !errors.Is(err, fs.ErrNotExist) {
				l.OK(err)
			}
		}
	}
	l.OK(os.RemoveAll(filepath.Join(out, "manifests", stage)), os.RemoveAll(filepath.Join(out, "scratch", stage)))
}

// CopyStage copies what a folder has of a stage to another one.
func (l *Lab) CopyStage(from, to, stage string) {
	l.Helper()
	for _, m := range l.Units(from, stage) {
		paths := []string{m.Path}
		for _, f := range m.Outputs {
			paths = append(paths, filepath.Join(from, filepath.FromSlash(f.Path)))
		}
		for _, path := range paths {
			l.Write(filepath.Join(to, strings.TrimPrefix(path, from)), l.Read(path))
		}
	}
}

// Difference is a file that two output folders do not have alike.
type Difference struct {
	Path  string // slash-separated, relative to both
	Bytes int    // that differ, of the longer one
	Why   string
}

func (d Difference) String() string { return fmt.Sprintf("%s %s", d.Path, d.Why) }

// Stored are the seeds of the rollouts that an output folder has, in its parts and journals.
func (l *Lab) Stored(out string) map[int64]bool {
	l.Helper()
	seeds := map[int64]bool{}
	add := func(rollouts iter.Seq2[*rollout.Rollout, error]) {
		for r, err := range rollouts {
			l.OK(err)
			seeds[r.Seed] = true
		}
	}
	for _, path := range l.Walk(out) {
		if filepath.Ext(path) == rollout.JournalSuffix {
			add(journal.Records[rollout.Rollout](path))
		} else if filepath.Ext(path) == ".parquet" && strings.HasPrefix(filepath.Base(path), "part-") {
			add(rollout.Rollouts([]string{path}))
		}
	}
	return seeds
}
