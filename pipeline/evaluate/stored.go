package evaluate

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	"speceval/internal/evaluation"
	"speceval/internal/terminal/display"
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
	last := len(parts) - 1
	for cut := 1; cut < last; cut++ { // a benchmark may have a / in its name, as models do
		folder = filepath.Join(out, evaluation.Folder, "benchmark="+url.PathEscape(strings.Join(parts[:cut], "/")),
			"model="+url.PathEscape(strings.Join(parts[cut:last], "/")), parts[last])
		if _, err := evaluation.ReadSetup(folder); !errors.Is(err, fs.ErrNotExist) {
			return folder, err
		}
	}
	return "", requestf("%s is no evaluation: want its folder, or its name as `speceval evaluate list` has it", name)
}

// Archive is the evaluations of an output folder, as other commands read them: by
// evaluation.Open, which holds files to their hashes. The name of an evaluation is its folder
// itself, or benchmark/model/name in the output folder as List has it; where it is neither the
// error is a *RequestError.
type Archive struct {
	Config *config.Config
	Warn   func(message string) // hears what is not as it was made; may be nil
}

// out is the output folder.
func (a Archive) out() string { return a.Config.Experiment.Out }

// Prior is the reference prior.
func (a Archive) Prior() *neyman.Prior {
	p, err := neyman.NewPrior(a.Config.Replay.QuadratureOrder)
	if err != nil {
		panic(err) // the configuration has one node at least
	}
	return p
}

// Stored is a complete evaluation.
func (a Archive) Stored(name string) (*evaluation.Stored, error) {
	folder, err := find(a.out(), name)
	if err != nil {
		return nil, err
	}
	s, err := a.open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		setup, fault := evaluation.ReadSetup(folder)
		if fault != nil {
			return nil, fault
		}
		l, soFar := Listed{Folder: folder, Setup: setup}, "no rollout is scored so far"
		a.Warn = nil
		if fault := a.Reader().read(&l); fault == nil && l.Progress != nil && l.Progress.Pilots+l.Progress.Continuations > 0 {
			soFar = display.Count(l.Progress.Pilots+l.Progress.Continuations, "rollout is", "rollouts are") + " scored so far"
			if m := l.Progress.Mean; m != nil {
				soFar += fmt.Sprintf(", and by complete stages the mean is %.4f ± %.4f (provisional)", m.Value, m.StandardError)
			}
		}
		return nil, fmt.Errorf("%s is not complete: the command that began it goes on with it; %s", folder, soFar)
	}
	return s, err
}

// open is the evaluation in a folder; fs.ErrNotExist is in the error if none is complete.
func (a Archive) open(folder string) (*evaluation.Stored, error) {
	s, err := evaluation.Open(folder)
	if err == nil {
		for _, said := range s.Altered {
			a.warn(said)
		}
	}
	return s, err
}
