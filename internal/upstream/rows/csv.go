package rows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"

	"speceval/internal/csvfile"
)

// maxCSV is how many bytes a CSV file may have: it is read whole.
const maxCSV = 256 << 20

// readCSV reads CSV, whose cells are taken byte for byte.
func readCSV(ctx context.Context, file *os.File, into *record) error {
	text, err := io.ReadAll(io.LimitReader(cancelled{ctx, file}, maxCSV+1))
	if err != nil {
		return err
	}
	if len(text) > maxCSV {
		return fmt.Errorf("is longer than %d MiB", maxCSV>>20)
	}
	var header []string
	var at []int
	for row, err := range csvfile.Rows(text) {
		switch {
		case err == nil && row.Cells == nil: // a blank line
			continue
		case header == nil && err != nil:
			return fmt.Errorf("header: %w", err)
		case header == nil:
			header = row.Cells
			if i := slices.IndexFunc(header, func(name string) bool { return !utf8.ValidString(name) }); i >= 0 {
				return fmt.Errorf("header: %q is not valid UTF-8", header[i])
			}
			if at, err = locate(header, into.columns); err != nil {
				return err
			}
			continue
		}
		into.begin()
		if err != nil {
			return into.fault(err)
		}
		if err := into.setCells(row.Cells, header, at); err != nil {
			return err
		}
		if err := into.emit(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if header == nil {
		return errors.New("header: the file has none")
	}
	return nil
}

// locate tells which of the columns each one of the header is, or -1.
func locate(header []string, columns []Column) ([]int, error) {
	at := make([]int, len(header))
	for i, name := range header {
		at[i] = slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
		if at[i] >= 0 && slices.Contains(at[:i], at[i]) {
			return nil, fmt.Errorf("column %q is there twice", name)
		}
	}
	for i, c := range columns {
		if !c.Optional && !slices.Contains(at, i) {
			return nil, missing(c.Name, header)
		}
	}
	return at, nil
}

// setCells makes the cells of a line the values of columns. CSV has no null: of an
// optional number nothing is there.
func (r *record) setCells(cells, header []string, at []int) error {
	if len(cells) != len(header) {
		return r.fault(fmt.Errorf("has %d fields, the header has %d", len(cells), len(header)))
	}
	for cell, i := range at {
		text := cells[cell]
		if i < 0 || text == "" && r.columns[i].Optional {
			continue
		}
		if err := r.setText(i, []byte(text)); err != nil {
			return r.columnFault(i, err)
		}
	}
	return nil
}
