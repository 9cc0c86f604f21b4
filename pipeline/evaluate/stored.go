package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/evaluation"
)

// find is the folder of an evaluation: named itself, or by benchmark/model/name.
func find(out, name string) (string, error) {
	folder := name
	if _, err := evaluation.ReadSetup(folder); err == nil {
		return folder, nil
	}
	parts := strings.Split(name, "/")
	if len(parts) >= 3 {
		last := len(parts) - 1
		folder = filepath.Join(out, evaluation.Folder, "benchmark="+url.PathEscape(parts[0]),
			"model="+url.PathEscape(strings.Join(parts[1:last], "/")), parts[last])
		if _, err := evaluation.ReadSetup(folder); !errors.Is(err, fs.ErrNotExist) {
			return folder, err
		}
	}
	return "", requestf("%s is no evaluation: want its folder, or its name as `speceval evaluate list` has it", name)
}

// Stored is the result of a complete evaluation, and its folder. The name is the
// folder itself, or benchmark/model/name in the output folder as List has it; a
// *RequestError if it is neither.
func Stored(out, name string) (r *evaluation.Result, folder string, err error) {
	if folder, err = find(out, name); err != nil {
		return nil, "", err
	}
	r, err = evaluation.ReadResult(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, folder, fmt.Errorf("%s is not complete: the command that began it goes on with it", folder)
	}
	return r, folder, err
}

// storedOrFile is a stored evaluation, or the result in a file that ends in .json.
func storedOrFile(out, name string) (*evaluation.Result, error) {
	if filepath.Ext(name) != ".json" {
		r, _, err := Stored(out, name)
		return r, err
	}
	r, err := evaluation.ReadResultFile(name)
	if err != nil {
		return nil, requestf("%s: %w: want what speceval evaluate show --json prints", name, err)
	}
	return r, nil
}

// Listed is a line of a list of evaluations.
type Listed struct {
	Name          string   `json:"name"`           // benchmark/model/name
	State         string   `json:"state"`          // complete or not complete
	Estimate      *float64 `json:"estimate"`       // null if not complete
	StandardError *float64 `json:"standard_error"` // null if not complete
	Rollouts      int      `json:"rollouts"`       // that count, or as many as are planned
}

// Lists is the evaluations of an output folder.
type Lists []Listed

// List reads which evaluations an output folder has, sorted by name.
func List(out string) (Lists, error) {
	folders, err := fs.Glob(os.DirFS(out), evaluation.Folder+"/benchmark=*/model=*/*")
	if err != nil {
		return nil, err
	}
	all := Lists{}
	for _, folder := range folders {
		folder = filepath.Join(out, filepath.FromSlash(folder))
		setup, err := evaluation.ReadSetup(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		line := Listed{
			Name: setup.Benchmark + "/" + setup.Model + "/" + setup.Name(), State: "not complete",
			Rollouts: setup.Budget * len(setup.TaskIDs),
		}
		r, err := evaluation.ReadResult(folder)
		switch {
		case err == nil:
			line.State, line.Estimate, line.StandardError, line.Rollouts = "complete", &r.Estimate, &r.StandardError, r.Rollouts
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		all = append(all, line)
	}
	slices.SortFunc(all, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
