// Package stored is what the other stages have stored, as the report reads it: the
// experiment, and the rows of the replay and systems stages. A Source reads each
// file of an output folder once.
package stored

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/pipeline/dag"
)

// Locate finds the local path of a file of the output folder. The error is a
// *dag.AbsentError if the stage that makes it has not run.
type Locate func(file string) (path string, err error)

// Folder finds the files of an output folder, for readers that are no unit.
func Folder(outDir string) Locate {
	return func(file string) (string, error) {
		path := filepath.Join(outDir, filepath.FromSlash(file))
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			stage, _, _ := strings.Cut(file, "/")
			return "", &dag.AbsentError{Output: file, Stage: stage}
		}
		return path, nil
	}
}

// there is the path of a file, empty where the stage that makes it has not run.
func (in Locate) there(file string) (path string, err error) {
	path, err = in(file)
	var absent *dag.AbsentError
	if errors.As(err, &absent) {
		return "", nil
	}
	return path, err
}

// noting is in, and adds the stages that have not run to stages, each once.
func (in Locate) noting(stages *[]string) Locate {
	return func(file string) (string, error) {
		path, err := in(file)
		var absent *dag.AbsentError
		if errors.As(err, &absent) {
			*stages = union(*stages, absent.Stage)
		}
		return path, err
	}
}

// union is list with those of more that it lacks.
func union(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
