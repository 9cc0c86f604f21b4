package drill

import (
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"speceval/internal/policy/seed"
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

// Rollouts lists the rollouts that a run must store, a number of each task, with their seeds. A
// seed is the first 63 bits of the node generate, benchmark, model, task id, number of the
// rollout in the tree of the experiment's seed. The rule of the stage is repeated here, so
// that neither can change alone.
func Rollouts(master uint64, benchmark, model string, ids []string, each int) (all []Place) {
	node := seed.Root(master).Child("generate").Child(benchmark).Child(model)
	for task, id := range ids {
		for n := range each {
			stream := node.Child(id).Index(n).Stream()
			all = append(all, Place{
				Benchmark: benchmark, Model: model, TaskIndex: int32(task), Rollout: int32(n), Seed: int64(stream.Uint64() >> 1),
			})
		}
	}
	return all
}

// Place is a rollout with its seed.
type Place struct {
	Benchmark, Model   string
	TaskIndex, Rollout int32
	Seed               int64
}

// Stored are the rollouts that an output folder has, in its parts and journals.
func (l *Lab) Stored(out string) (all []Place) {
	l.Helper()
	add := func(rollouts iter.Seq2[*rollout.Rollout, error]) {
		for r, err := range rollouts {
			l.OK(err)
			all = append(all, Place{r.Benchmark, r.Model, r.TaskIndex, r.Rollout, r.Seed})
		}
	}
	l.OK(filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // nothing was stored, or it was just removed
		case err != nil || entry.IsDir():
			return err
		case filepath.Ext(path) == rollout.JournalSuffix:
			add(journal.Records[rollout.Rollout](path))
		case filepath.Ext(path) == ".parquet" && strings.HasPrefix(entry.Name(), "part-"):
			add(rollout.Rollouts([]string{path}))
		}
		return nil
	}))
	return all
}

// Complete fails unless every wanted rollout is stored in the end, once, and no other one,
// with all that were there before.
func (l *Lab) Complete(final, wanted, before []Place) {
	l.Helper()
	times := map[Place]int{}
	for _, p := range final {
		times[p]++
	}
	missing, twice, lost := 0, len(final)-len(times), 0
	for _, p := range wanted {
		if times[p] == 0 {
			missing++
		}
	}
	for _, p := range before {
		if times[p] == 0 {
			lost++
		}
	}
	if missing+twice+lost > 0 || len(final) != len(wanted) {
		l.Errorf("%d rollouts are stored of %d: %d missing or of another seed, %d twice, %d lost of %d that were there before",
			len(final), len(wanted), missing, twice, lost, len(before))
	}
}
