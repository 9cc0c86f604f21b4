package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"speceval/internal/upstream/rows"
)

// row is a row of a source that may become a task.
type row struct {
	id      string
	part    string // which group it belongs to; "" where all belong to one
	problem string
	answer  string   // of all but choices and programs
	options []string // of a choice
	right   int      // of the options, before they are shuffled
	tests   *tests   // of a program; nil for all else
}

// reader makes rows out of those of a source's files.
type reader struct {
	scorer  string
	columns []rows.Column
	// row makes one; nil leaves it out. index is that of the row in all files,
	// from 0.
	row func(r rows.Row, file string, index int) (*row, error)
	// finish changes a row that was chosen, by its place in its group; nil: nothing.
	finish func(r *row, place int)
	// pool checks the rows of all files; nil: nothing to check.
	pool func(all []row) error
}

var readers = map[string]*reader{
	"aime24": problems("id"), "aime25": problems("id", "index"), "aime26": problems("id", "index"),
	"hmmt": problems("problem_idx"), "math": problems("unique_id"),
	"gpqa": &gpqa, "supergpqa": &superGPQA, "mmlu": &mmlu, "hle": &hle, "livecodebench": &liveCodeBench,
}

// read gives the rows of a source. Of data that was never published any number will
// do.
func (s *Source) read(ctx context.Context, o Options) ([]row, error) {
	reader := readers[s.ID]
	var all []row
	index := 0
	seen := map[string]string{} // ids, to where they are
	for _, name := range s.Files {
		path := s.Path(o.From, name)
		if o.Reading != nil {
			o.Reading(path)
		}
		var err error
		if !o.Unpublished {
			err = s.checkFile(ctx, name, path)
		}
		if err == nil {
			err = rows.Read(ctx, path, s.Format, reader.columns, func(r rows.Row) error {
				at := index
				index++
				made, err := reader.row(r, name, at)
				if err != nil || made == nil {
					return err
				}
				if made.tests != nil {
					made.tests.path = path
				}
				place := fmt.Sprintf("%s, row %d", name, r.Number())
				switch first, again := seen[made.id]; {
				case made.id == "":
					return errors.New("has no id")
				case again:
					return fmt.Errorf("has the id %q, as %s", made.id, first)
				}
				seen[made.id] = place
				all = append(all, *made)
				return nil
			})
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not there: download it (--download), or put the file of %s at revision %.8s there", path, s.Dataset, s.Revision)
		}
		if err != nil {
			return nil, err
		}
	}
	if reader.pool != nil && !o.Unpublished {
		if err := reader.pool(all); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Dataset, err)
		}
	}
	return all, nil
}

// Path is where a file of the source is looked for below a folder.
func (s *Source) Path(dir, file string) string {
	return filepath.Join(dir, filepath.FromSlash(s.Dataset), filepath.FromSlash(file))
}
