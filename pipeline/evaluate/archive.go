package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/protocol"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
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
		for _, said := range s.Said {
			a.warn(said)
		}
	}
	return s, err
}

// Listed is an evaluation of the output folder, as far as it is: a line of a list.
type Listed struct {
	Name          string   `json:"name"`           // benchmark/model/name; the folder of a damaged setup
	State         string   `json:"state"`          // complete, not complete or damaged
	Estimate      *float64 `json:"estimate"`       // null if not complete
	StandardError *float64 `json:"standard_error"` // null if not complete
	Rollouts      int      `json:"rollouts"`       // that count, or as many as are planned

	Folder   string               `json:"-"`
	Setup    *evaluation.Setup    `json:"-"` // nil of a damaged one
	Stored   *evaluation.Stored   `json:"-"` // of a complete one
	Progress *evaluation.Progress `json:"-"` // of one that is not: its rewards alone where it has not begun, or another program runs the rollouts
	Fault    error                `json:"-"` // of a damaged one
}

// Lists is the evaluations of an output folder.
type Lists []Listed

// The states of evaluations in lists.
const (
	Complete    = "complete"
	NotComplete = "not complete"
	Damaged     = "damaged"
)

// Each calls each with every evaluation of the output folder, or the error of its setup.
func (a Archive) Each(each func(folder string, setup *evaluation.Setup, err error)) error {
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

// Names lists all evaluations, complete or not. It checks nothing of them.
func (a Archive) Names() (names []string) {
	a.Each(func(_ string, setup *evaluation.Setup, err error) {
		if err == nil {
			names = append(names, setup.FullName())
		}
	})
	slices.Sort(names)
	return names
}

// Reader reads the evaluations of an output folder again and again, what is complete once. It is
// not safe for concurrent use.
type Reader struct {
	Archive
	stored map[string]*evaluation.Stored // by folder and time of the manifest
}

// Reader is a reader of the archive.
func (a Archive) Reader() *Reader {
	return &Reader{a, make(map[string]*evaluation.Stored)}
}

// List reads which evaluations there are, sorted by name. A warning about an evaluation has its
// name.
func (r *Reader) List() (Lists, error) {
	all := Lists{}
	err := r.Each(func(folder string, setup *evaluation.Setup, err error) {
		l := Listed{Name: folder, Folder: folder, Setup: setup, Fault: err}
		if err == nil {
			l.Name, l.State, l.Rollouts = setup.FullName(), NotComplete, setup.Budget*len(setup.TaskIDs)
			l.Fault = r.read(&l)
		}
		if l.Fault != nil {
			l.State = Damaged
			r.warn(l.Fault.Error())
		}
		all = append(all, l)
	})
	slices.SortFunc(all, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

func (a Archive) warn(text string) {
	if a.Warn != nil {
		a.Warn(text)
	}
}

// read sets how far an evaluation is.
func (r *Reader) read(l *Listed) error {
	made, err := os.Stat(filepath.Join(l.Folder, "manifest.json"))
	if err != nil {
		return err
	}
	key := fmt.Sprint(l.Folder, made.ModTime())
	if l.Stored = r.stored[key]; l.Stored == nil {
		l.Stored, err = evaluation.Open(l.Folder)
	}
	switch {
	case err == nil:
		r.stored[key] = l.Stored
		result := l.Stored.Result
		l.State, l.Estimate, l.StandardError, l.Rollouts = Complete, &result.Estimate, &result.StandardError, result.Rollouts
		for _, said := range l.Stored.Said {
			r.warn(l.Name + ": " + said)
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if l.Progress, err = evaluation.ReadProgress(l.Folder); err == nil {
		return nil
	}
	l.Progress = &evaluation.Progress{Pilots: protocol.Reported(l.Folder, l.Setup)}
	return nil
}

// Text lists the evaluations for people.
func (l Lists) Text(w io.Writer) error {
	if len(l) == 0 {
		_, err := fmt.Fprintln(w, "There is no evaluation in the output folder yet.")
		return err
	}
	g := table.Grid{Title: "Evaluations", Heads: []string{"<evaluation", "rollouts", "mean", "±", "<state"}}
	for _, e := range l {
		mean, standardError := table.None, table.None
		if e.Estimate != nil {
			mean, standardError = fmt.Sprintf("%.4f", *e.Estimate), fmt.Sprintf("%.4f", *e.StandardError)
		}
		g.Add(e.Name, fmt.Sprint(e.Rollouts), mean, standardError, e.State)
	}
	return g.Write(w)
}
