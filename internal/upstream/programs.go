package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/upstream/rows"
	"speceval/internal/upstream/testcases"
)

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
	return testcases.Read(io.Reader(text), t.function, func(test benchmark.Test) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return call(test)
	})
}
