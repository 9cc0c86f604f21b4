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
	"syscall"

	"speceval/internal/evaluation"
	"speceval/method/neyman"
	"speceval/pipeline/config"
)

// find is the folder of an evaluation: named itself, or by benchmark/model/name.
func find(out, name string) (string, error) {
	folder := name
	if _, err := evaluation.ReadSetup(folder); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return folder, err
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

// Archive is the evaluations of an output folder, as other commands read them: all of
// them by evaluation.Open, which holds files to their hashes and results to their
// evidence. The name of an evaluation is its folder itself, or benchmark/model/name in the
// output folder as List has it; where it is neither the error is a *RequestError.
type Archive struct {
	Config *config.Config
	Warn   func(message string) // hears what is not as it was made; may be nil
}

// archive is that of the benchmark's configuration.
func (b *Benchmark) archive() Archive { return Archive{b.cfg, b.Warn} }

func (a Archive) out() string { return a.Config.Experiment.Out }

// Stored is a complete evaluation.
func (a Archive) Stored(name string) (*evaluation.Stored, error) {
	folder, err := find(a.out(), name)
	if err != nil {
		return nil, err
	}
	s, err := a.open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not complete: the command that began it goes on with it", folder)
	}
	return s, err
}

// open is the evaluation in a folder; fs.ErrNotExist is in the error if none is complete.
func (a Archive) open(folder string) (*evaluation.Stored, error) {
	s, err := a.read(folder)
	if err == nil && a.Warn != nil {
		for _, said := range s.Said {
			a.Warn(said)
		}
	}
	return s, err
}

func (a Archive) read(folder string) (*evaluation.Stored, error) {
	prior, err := neyman.NewPrior(a.Config.Replay.QuadratureOrder)
	if err != nil {
		return nil, err
	}
	return evaluation.Open(folder, prior)
}

// storedOrFile is the result of a stored evaluation, or that in a file that ends in
// .json, which nothing vouches for.
func (a Archive) storedOrFile(name string) (*evaluation.Result, error) {
	if filepath.Ext(name) != ".json" {
		s, err := a.Stored(name)
		if err != nil {
			return nil, err
		}
		return s.Result, nil
	}
	r, err := evaluation.ReadResult(name)
	if err != nil {
		return nil, requestf("%s: %w: want what speceval evaluate show --json prints", name, err)
	}
	return r, nil
}

// Listed is a line of a list of evaluations.
type Listed struct {
	Name          string   `json:"name"`           // benchmark/model/name
	State         string   `json:"state"`          // complete, not complete or damaged
	Estimate      *float64 `json:"estimate"`       // null if not complete
	StandardError *float64 `json:"standard_error"` // null if not complete
	Rollouts      int      `json:"rollouts"`       // that count, or as many as are planned
}

// Lists is the evaluations of an output folder.
type Lists []Listed

// setups calls each with every evaluation of the output folder.
func (a Archive) setups(each func(folder string, setup *evaluation.Setup, err error)) error {
	folders, err := fs.Glob(os.DirFS(a.out()), evaluation.Folder+"/benchmark=*/model=*/*")
	for _, folder := range folders {
		folder = filepath.Join(a.out(), filepath.FromSlash(folder))
		setup, err := evaluation.ReadSetup(folder)
		if !errors.Is(err, fs.ErrNotExist) {
			each(folder, setup, err)
		}
	}
	return err
}

// fullName is the name of an evaluation in the output folder.
func fullName(s *evaluation.Setup) string { return s.Benchmark + "/" + s.Model + "/" + s.Name() }

// Names are those of all evaluations, complete or not, of which nothing is checked.
func (a Archive) Names() (names []string) {
	a.setups(func(_ string, setup *evaluation.Setup, err error) {
		if err == nil {
			names = append(names, fullName(setup))
		}
	})
	slices.Sort(names)
	return names
}

// List reads which evaluations the output folder has, sorted by name. A warning about an
// evaluation has its name.
func (a Archive) List() (Lists, error) {
	all := Lists{}
	warn := func(text string) {
		if a.Warn != nil {
			a.Warn(text)
		}
	}
	err := a.setups(func(folder string, setup *evaluation.Setup, err error) {
		if err != nil {
			warn(err.Error())
			return
		}
		line := Listed{Name: fullName(setup), State: "not complete", Rollouts: setup.Budget * len(setup.TaskIDs)}
		s, err := a.read(folder)
		switch {
		case err == nil:
			r := s.Result
			line.State, line.Estimate, line.StandardError, line.Rollouts = "complete", &r.Estimate, &r.StandardError, r.Rollouts
			for _, said := range s.Said {
				warn(line.Name + ": " + said)
			}
		case !errors.Is(err, fs.ErrNotExist):
			line.State = "damaged"
			warn(err.Error())
		}
		all = append(all, line)
	})
	slices.SortFunc(all, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}
