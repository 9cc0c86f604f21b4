package rollout

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"speceval/internal/store/journal"
	"speceval/internal/store/rowfile"
)

// inOrder reads the rows of files of a schema, one file after the other, and
// checks that their keys are in order and of one benchmark and model.
func inOrder[T any](paths []string, schema string, at func(*T) rowKey) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var last *rowKey
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

// rowKey identifies a row and orders it.
type rowKey struct {
	benchmark, model, taskID string
	id                       ID
	fault                    error // of the row itself
}

// follows checks that a row at p may stand after one at last, or be the first.
func (p *rowKey) follows(last *rowKey) error {
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

// Bounds of a row group, and so of the memory that writing and reading take,
// however long the answers are.
const (
	groupBytes = 32 << 20 // of text, about
	groupRows  = 122_880  // as rowfile.Write
)

// WritePart writes rollouts as one Parquet file, in the order given, with the
// given footer key-values. It stops at the first error of either side.
func WritePart(w io.Writer, rollouts iter.Seq2[*Rollout, error], footer map[string]string) error {
	return write(w, rollouts, func(r *Rollout) (Rollout, error) { return *r, nil }, (*Rollout).size, footer)
}

// write writes a row for each value, a row group at a time. size is about how much memory a
// row takes.
func write[From, Row any](w io.Writer, all iter.Seq2[*From, error], row func(*From) (Row, error), size func(*From) int, footer map[string]string) error {
	return rowfile.WriteGroups(w, func(yield func([]Row, error) bool) {
		var group []Row
		bytes := 0
		for value, err := range all {
			var next Row
			if err == nil {
				next, err = row(value)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			group = append(group, next)
			if bytes += size(value); bytes >= groupBytes || len(group) == groupRows {
				if !yield(group, nil) {
					return
				}
				clear(group)
				group, bytes = group[:0], 0
			}
		}
		if len(group) > 0 {
			yield(group, nil)
		}
	}, footer)
}

// CheckPart checks the part at path, which must be whole, of this schema, made under the
// given key, and have the given number of rows. It returns the part's footer.
func CheckPart(path, key string, rows int) (footer map[string]string, err error) {
	n, footer, err := rowfile.ReadFooter(path)
	switch {
	case err != nil:
		return nil, err
	case footer["speceval.schema"] != Schema:
		return nil, fmt.Errorf("%s has schema %q, want %q", path, footer["speceval.schema"], Schema)
	case footer["speceval.key"] != key:
		return nil, fmt.Errorf("%s was made under another key", path)
	case n != int64(rows):
		return nil, fmt.Errorf("%s has %d rows, want %d", path, n, rows)
	}
	for _, err := range Rollouts([]string{path}) {
		if err != nil {
			return nil, err
		}
	}
	return footer, nil
}

// Rollouts reads the rollouts of one corpus from its parts, as [Responses] reads what
// there is to score of them.
func Rollouts(parts []string) iter.Seq2[*Rollout, error] {
	return inOrder(parts, Schema, func(r *Rollout) rowKey { return rowKey{r.Benchmark, r.Model, r.TaskID, r.ID(), nil} })
}

// Journal keeps rollouts one by one, by their IDs.
type Journal = journal.Journal[Rollout, ID]

// JournalSuffix ends the name of every journal.
const JournalSuffix = journal.Suffix

// OpenJournal opens the journal of rollouts at path, as [journal.Open] does.
func OpenJournal(path string) (j *Journal, damaged int, err error) {
	return journal.Open(path, (*Rollout).ID)
}
