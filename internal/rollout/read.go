package rollout

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"speceval/internal/rowfile"
)

// inOrder reads the rows of files of a schema, one file after the other, and
// checks that their places are those of one corpus.
func inOrder[T any](paths []string, schema string, at func(*T) place) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var last *place
		for _, path := range paths {
			number := 0
			for row, err := range rows[T](path, schema) {
				if err != nil {
					yield(nil, err)
					return
				}
				number++
				next := at(row)
				if err := next.follows(last); err != nil {
					yield(nil, fmt.Errorf("%s: row %d: %w", path, number, err))
					return
				}
				last = &next
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// rows reads the rows of one file.
func rows[T any](path, schema string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		reader, err := rowfile.Open[T](path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer reader.Close()
		if got := reader.Footer()["speceval.schema"]; got != schema {
			yield(nil, fmt.Errorf("%s has schema %q, want %q", path, got, schema))
			return
		}
		for {
			group, err := reader.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range group {
				if !yield(&group[i], nil) {
					return
				}
			}
		}
	}
}

// place is where a row belongs.
type place struct {
	benchmark, model, taskID string
	id                       ID
	fault                    error // of the row itself
}

// follows checks that a row at p may stand after one at last, or be the first.
func (p *place) follows(last *place) error {
	switch {
	case p.fault != nil:
		return p.fault
	case p.id.Task < 0 || p.id.Rollout < 0:
		return fmt.Errorf("task_index %d, rollout %d: want both from 0", p.id.Task, p.id.Rollout)
	case last == nil:
		return nil
	case p.benchmark != last.benchmark || p.model != last.model:
		return fmt.Errorf("it is of benchmark %q and model %q, rows before it of %q and %q", p.benchmark, p.model, last.benchmark, last.model)
	case p.id.Compare(last.id) <= 0:
		return fmt.Errorf("%v stands after %v: want every rollout once, and in order", p.id, last.id)
	case p.id.Task == last.id.Task && p.taskID != last.taskID:
		return fmt.Errorf("task %d has the task_id %q here and %q before", p.id.Task, p.taskID, last.taskID)
	}
	return nil
}
