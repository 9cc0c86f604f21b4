// Package rows reads the rows of upstream files, only the columns that are needed,
// in file order and in bounded memory whatever the size of the file. The files are
// Parquet, JSONL or CSV of anybody's making: what is wrong with one is an error
// that names it, the row and the column.
package rows

import (
	"context"
	"fmt"
	"os"
	"slices"

	"speceval/internal/files"
)

// Kind is what a column must hold.
type Kind int

// The kinds.
const (
	Text   Kind = iota // a string; a number is taken as it is written
	Number             // an integer
	Texts              // a list of strings; not in CSV
	Filled             // whether there is anything but null and "": the value is not kept
	Place              // of JSONL: where in the file the string stands, not the string
)

// Column is one that is read. A file may lack an optional one, or have null there.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool
}

// maxValue is how many bytes of a row a column may hold, unless they are not kept.
const maxValue = 16 << 20

// format reads the rows of an open file into a record, and emits each.
type format struct {
	lacks []Kind // kinds that it cannot give
	read  func(ctx context.Context, file *os.File, into *record) error
}

var formats = map[string]format{
	"parquet": {[]Kind{Place}, readParquet},
	"jsonl":   {nil, readJSONL},
	"csv":     {[]Kind{Place, Texts}, readCSV},
}

// Read calls each for every row of the file at path, whose format is "parquet",
// "jsonl" or "csv". Blank lines are no rows. It ends with the first error of the
// file, of each or of the context, and names the file and the row. Texts are valid
// UTF-8 and of at most 16 MiB; JSONL is checked in the columns that are passed over
// as well.
func Read(ctx context.Context, path, format string, columns []Column, each func(Row) error) error {
	f, ok := formats[format]
	if !ok {
		return fmt.Errorf("%s: there is no format %q, want parquet, jsonl or csv", path, format)
	}
	for _, c := range columns {
		if slices.Contains(f.lacks, c.Kind) {
			return fmt.Errorf("%s: a %s file cannot give column %q as %s", path, format, c.Name, c.Kind)
		}
	}
	file, err := files.OpenInput(path, files.Upstream)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := sniff(file, format); err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	into := newRecord(columns, func(r Row) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return each(r)
	})
	if err := f.read(ctx, file, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (k Kind) String() string {
	switch k {
	case Text:
		return "a text or a number"
	case Number:
		return "an integer"
	case Texts:
		return "a list of texts"
	case Place:
		return "a place"
	}
	return "anything"
}
