package rollout

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"speceval/internal/journal"
	"speceval/internal/rowfile"
)

// Place says of which benchmark and model a rollout is, and which it is.
type Place struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	TaskIndex int32  `parquet:"task_index"`
	Rollout   int32  `parquet:"rollout"`
	Seed      int64  `parquet:"seed"`
}

// Stored lists every rollout that the folder holds, in its parts and journals,
// in the order of the files' names. It changes nothing, so that it may look at
// what a killed process has left.
func Stored(folder string) ([]Place, error) {
	var all []Place
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // nothing was stored, or it was just removed
		case err != nil || entry.IsDir():
			return err
		case filepath.Ext(path) == JournalSuffix:
			places, err := journaled(path)
			all = append(all, places...)
			return err
		case filepath.Ext(path) == ".parquet" && strings.HasPrefix(entry.Name(), "part-"):
			places, _, err := rowfile.ReadFile[Place](path)
			all = append(all, places...)
			return err
		}
		return nil
	})
	return all, err
}

func journaled(path string) ([]Place, error) {
	var places []Place
	for r, err := range journal.Records[Rollout](path) {
		if err != nil {
			return nil, err
		}
		places = append(places, Place{r.Benchmark, r.Model, r.TaskIndex, r.Rollout, r.Seed})
	}
	return places, nil
}
