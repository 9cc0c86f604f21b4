package rollout

import (
	"fmt"
	"io"
	"iter"

	"speceval/internal/rowfile"
)

// groupBytes is about how much text a row group of a part holds: it bounds the
// memory that writing and reading take, however long the answers are.
const groupBytes = 32 << 20

// WritePart writes rollouts as one Parquet file, in the order given, with the
// given footer key-values. It stops at the first error of either side.
func WritePart(w io.Writer, rollouts iter.Seq2[*Rollout, error], footer map[string]string) error {
	writer, err := rowfile.NewWriter[Rollout](w, footer)
	if err != nil {
		return err
	}
	var group []Rollout
	bytes := 0
	for r, err := range rollouts {
		if err != nil {
			return err
		}
		group = append(group, *r)
		if bytes += r.size(); bytes >= groupBytes {
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

// CheckPart reads the footer of the part at path, which must be whole, of this
// schema, made under the given key, and of so many rows.
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
	return footer, nil
}
