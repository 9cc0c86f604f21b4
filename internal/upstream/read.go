package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"speceval/internal/benchmark"
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
				place := fmt.Sprintf("%s, row %d", name, r.Number)
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

// problems reads problems in mathematics. Their ids are in the first of some columns
// that is there.
func problems(ids ...string) *reader {
	columns := []rows.Column{{Name: "problem"}, {Name: "answer"}}
	for _, id := range ids {
		columns = append(columns, rows.Column{Name: id, Optional: len(ids) > 1})
	}
	return &reader{
		scorer:  "math",
		columns: columns,
		row: func(r rows.Row, _ string, _ int) (*row, error) {
			made := &row{problem: r.Text("problem"), answer: r.Text("answer")}
			for _, id := range ids {
				if made.id == "" {
					made.id = r.Text(id)
				}
			}
			return made, nil
		},
	}
}

// hle are the open questions of Humanity's Last Exam. Those with an image are left
// out.
var hle = reader{
	scorer:  "judge",
	columns: []rows.Column{{Name: "id"}, {Name: "question"}, {Name: "answer"}, {Name: "image", Optional: true}},
	row: func(r rows.Row, _ string, _ int) (*row, error) {
		if r.Text("image") != "" {
			return nil, nil
		}
		return &row{id: r.Text("id"), problem: r.Text("question"), answer: r.Text("answer")}, nil
	},
}

// What is used of LiveCodeBench: contests after a day, of which the files of the
// pinned revision have so many.
const (
	lastContest = "2024-03-30"
	contests    = 441
)

// liveCodeBench are problems that programs solve. Their tests are large: of a row
// it is only known where they are.
var liveCodeBench = reader{
	scorer: "code",
	columns: []rows.Column{
		{Name: "question_id"}, {Name: "question_content"}, {Name: "difficulty"}, {Name: "contest_date"}, {Name: "metadata", Optional: true},
		{Name: "public_test_cases", Kind: rows.Place, Optional: true}, {Name: "private_test_cases", Kind: rows.Place, Optional: true},
	},
	row: func(r rows.Row, _ string, _ int) (*row, error) {
		day, _, _ := strings.Cut(r.Text("contest_date"), "T")
		if len(day) != len(lastContest) {
			return nil, fmt.Errorf("contest_date is %q, want a date like %s", r.Text("contest_date"), lastContest)
		}
		if day <= lastContest {
			return nil, nil
		}
		var about struct {
			Function string `json:"func_name"`
		}
		if text := r.Text("metadata"); strings.TrimSpace(text) != "" {
			if err := json.Unmarshal([]byte(text), &about); err != nil {
				return nil, fmt.Errorf("metadata: %w", err)
			}
		}
		return &row{
			id: r.Text("question_id"), part: r.Text("difficulty"), problem: r.Text("question_content"),
			tests: &tests{function: about.Function, public: r.Place("public_test_cases"), private: r.Place("private_test_cases")},
		}, nil
	},
	pool: func(all []row) error {
		if len(all) != contests {
			return fmt.Errorf("there are %d problems of contests after %s, want %d: another revision?", len(all), lastContest, contests)
		}
		return nil
	},
}

// tests is where the tests of a program are.
type tests struct {
	path            string // of the file with both
	function        string // to call; "" for a program that reads its input
	public, private rows.Span
}

// each calls with every test, the public ones first.
func (t *tests) each(ctx context.Context, call func(benchmark.Test) error) error {
	for _, part := range []struct {
		name string
		at   rows.Span
	}{{"public_test_cases", t.public}, {"private_test_cases", t.private}} {
		if part.at.Length == 0 {
			continue
		}
		if err := t.read(ctx, part.at, call); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

func (t *tests) read(ctx context.Context, at rows.Span, call func(benchmark.Test) error) (err error) {
	text, err := rows.OpenText(t.path, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	return ReadTestCases(io.Reader(text), t.function, func(test benchmark.Test) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return call(test)
	})
}
