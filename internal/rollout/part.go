package rollout

import (
	"fmt"
	"io"
	"iter"

	"speceval/internal/rowfile"
)

// Bounds of a row group, and so of the memory that writing and reading take,
// however long the answers are.
const (
	groupBytes = 32 << 20 // of text, about
	groupRows  = 122_880  // as rowfile.Write
)

// WritePart writes rollouts as one Parquet file, in the order given, with the
// given footer key-values. It stops at the first error of either side.
func WritePart(w io.Writer, rollouts iter.Seq2[*Rollout, error], footer map[string]string) error {
	return write(w, rollouts, (*Rollout).size, footer)
}

// write writes rows, a row group at a time. size is about how much memory one
// takes.
func write[T any](w io.Writer, rows iter.Seq2[*T, error], size func(*T) int, footer map[string]string) error {
	writer, err := rowfile.NewWriter[T](w, footer)
	if err != nil {
		return err
	}
	var group []T
	bytes := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		group = append(group, *row)
		if bytes += size(row); bytes >= groupBytes || len(group) == groupRows {
			if err := writer.Append(group); err != nil {
				return err
			}
			clear(group)
			group, bytes = group[:0], 0
		}
	}
	if len(group) > 0 {
		if err := writer.Append(group); err != nil {
			return err
		}
	}
	return writer.Close()
}

// CheckPart reads the part at path, which must be whole, of this schema, made under
// the given key, and of so many rows, and returns its footer.
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
	return inOrder(parts, Schema, func(r *Rollout) place { return place{r.Benchmark, r.Model, r.TaskID, r.ID(), nil} })
}
