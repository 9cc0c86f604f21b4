package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/protocol"
	"speceval/internal/terminal/table"
)

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
		for _, said := range l.Stored.Altered {
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
