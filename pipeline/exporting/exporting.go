// Package exporting writes a stored evaluation in the forms that other tools read: the
// result with its error, and every rollout that counts. The same evaluation gives the
// same bytes.
package exporting

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/internal/atomicfile"
	"speceval/internal/evaluation"
	"speceval/internal/evaluation/way"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

// Format is a form of results.
type Format struct {
	Name  string
	files func(e *Evaluation, to string) ([]output, error) // "" stands for a place of its own choice
}

// output is a file and what it holds.
type output struct {
	path  string
	write func(w io.Writer) error
}

// Formats is all forms.
func Formats() []Format {
	return []Format{
		{"eee", (*Evaluation).everyEvalFiles},
		{"inspect", func(e *Evaluation, to string) ([]output, error) { return e.one(to, ".eval", e.inspect) }},
		{"json", func(e *Evaluation, to string) ([]output, error) { return e.one(to, ".json", e.plain) }},
	}
}

// Names is the names of all forms.
func Names() (names []string) {
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// Find is a form by its name.
func Find(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("there is no format %q: want one of %s", name, strings.Join(Names(), ", "))
}

// one is a form of one file.
func (e *Evaluation) one(to, suffix string, write func(w io.Writer) error) ([]output, error) {
	if to == "" {
		to = e.uuid() + suffix
	}
	if filepath.Ext(to) != suffix {
		return nil, fmt.Errorf("--to %q: this format is a file that ends in %s", to, suffix)
	}
	return []output{{to, write}}, nil
}

// Evaluation is a complete one that is exported.
type Evaluation struct {
	*evaluation.Result
	folder  string
	written time.Time // when its result was, by the clock of the file system
	sum     [sha256.Size]byte
}

// Open is a stored evaluation. It is a *manifest.AlteredError if its answers and
// verdicts are not as they were made.
func Open(s *evaluation.Stored) (*Evaluation, error) {
	if err := s.Needs(evaluation.RolloutsFile, evaluation.ScoresFile); err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(s.Folder, evaluation.ResultFile))
	if errors.Is(err, fs.ErrNotExist) { // it was computed again
		info, err = os.Stat(filepath.Join(s.Folder, evaluation.RolloutsFile))
	}
	if err != nil {
		return nil, err
	}
	return &Evaluation{Result: s.Result, folder: s.Folder, written: info.ModTime().UTC(), sum: sha256.Sum256(s.Text)}, nil
}

// Write writes the evaluation in a form to a file, of eee to a folder; "" stands for a
// place that the form has of its own, in the current folder. It tells the files.
func (e *Evaluation) Write(f Format, to string) (paths []string, err error) {
	files, err := f.files(e, to)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := os.MkdirAll(filepath.Dir(file.path), 0o755); err != nil {
			return nil, err
		}
		if err := atomicfile.Write(file.path, file.write); err != nil {
			return nil, err
		}
		paths = append(paths, file.path)
	}
	return paths, nil
}

// uuid is an id in the form of a UUID of version 4, the same for the same result.
func (e *Evaluation) uuid() string {
	text := fmt.Sprintf("%x", e.sum)
	return text[:8] + "-" + text[8:12] + "-4" + text[13:16] + "-a" + text[17:20] + "-" + text[20:32]
}

// answer is a rollout that counts, with its verdict.
type answer struct {
	*rollout.Rollout
	verdict *rollout.Score
}

// answers are the rollouts that count, by task and number. Both files have them in
// that order, beside others.
func (e *Evaluation) answers() iter.Seq2[answer, error] {
	return func(yield func(answer, error) bool) {
		verdicts, stop := iter.Pull2(rollout.Scores(filepath.Join(e.folder, evaluation.ScoresFile)))
		defer stop()
		found := 0
		for r, err := range e.rollouts() {
			if err != nil {
				yield(answer{}, err)
				return
			}
			if int(r.TaskIndex) >= len(e.Rows) || int(r.Rollout) >= e.Rows[r.TaskIndex].Rollouts() {
				continue
			}
			v, err := until(verdicts, r.ID())
			if err != nil {
				yield(answer{}, fmt.Errorf("%s: %w", e.folder, err))
				return
			}
			found++
			if !yield(answer{r, v}, nil) {
				return
			}
		}
		if found != e.Rollouts {
			yield(answer{}, fmt.Errorf("%s has %d of the %d rollouts that count", filepath.Join(e.folder, evaluation.RolloutsFile), found, e.Rollouts))
		}
	}
}

// until is the next verdict on a rollout.
func until(next func() (*rollout.Score, error, bool), id rollout.ID) (*rollout.Score, error) {
	for {
		v, err, more := next()
		switch {
		case err != nil:
			return nil, err
		case !more || v.ID().Compare(id) > 0:
			return nil, fmt.Errorf("%v counts and has no verdict", id)
		case v.ID() == id:
			return v, nil
		}
	}
}

// rollouts are all rows of the file.
func (e *Evaluation) rollouts() iter.Seq2[*rollout.Rollout, error] {
	return func(yield func(*rollout.Rollout, error) bool) {
		reader, err := rowfile.Open[rollout.Rollout](filepath.Join(e.folder, evaluation.RolloutsFile))
		if err != nil {
			yield(nil, err)
			return
		}
		defer reader.Close()
		for {
			rows, err := reader.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range rows {
				if !yield(&rows[i], nil) {
					return
				}
			}
		}
	}
}

// allocated reports whether what was seen decided how many rollouts tasks have.
func (e *Evaluation) allocated() (bool, error) {
	own, err := way.Find(e.Policy)
	return err == nil && !own.Uniform(), err
}
