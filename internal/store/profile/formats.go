package profile

import (
	"io"

	"speceval/internal/store/csvfile"
	"speceval/internal/store/rowfile"
)

// WriteCSV writes profiles as a CSV file, as Write does a Parquet file.
func WriteCSV(w io.Writer, profiles []Profile) error {
	rows, narrow := rowsOf(profiles)
	if narrow != nil {
		return csvfile.Write(w, narrow)
	}
	return csvfile.Write(w, rows)
}

// Schema is the value of the footer key speceval.schema of a profile file.
const Schema = "profiles/1"

// plainRow is the columns of every profile file (design, data/profiles.parquet).
type plainRow struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	TaskIndex int32  `parquet:"task_index"` // 0-based, in benchmark order
	TaskID    string `parquet:"task_id"`
	PassCount int32  `parquet:"pass_count"`
	TestedK   int32  `parquet:"tested_k"`
}

// row is a row of a profile file with what it may lack.
type row struct {
	plainRow
	Scorer           *string  `parquet:"scorer,maybe"`
	Rewards          *float64 `parquet:"rewards,maybe"` // sum, pass_count if null
	Squares          *float64 `parquet:"squares,maybe"` // sum of squares
	PromptTokens     *int64   `parquet:"prompt_tokens,maybe"`
	CompletionTokens *int64   `parquet:"completion_tokens,maybe"`
	Source           *string  `parquet:"source,maybe"`
	Allocated        *bool    `parquet:"allocated,maybe"`
}

// narrowRow is a row of profiles that have nothing else.
type narrowRow struct {
	plainRow
	Scorer string `parquet:"scorer"`
}

// Write writes profiles as a Parquet file with the given footer, a row per
// task, in the order given.
func Write(w io.Writer, profiles []Profile, footer map[string]string) error {
	rows, narrow := rowsOf(profiles)
	if narrow != nil {
		return rowfile.Write(w, narrow, footer)
	}
	return rowfile.Write(w, rows, footer)
}

// rowsOf is the rows of profiles: with all columns, and without those that nothing stands in,
// nil where something does.
func rowsOf(profiles []Profile) (rows []row, narrow []narrowRow) {
	narrow, wider := []narrowRow{}, false
	for _, p := range profiles {
		wider = wider || p.Graded() || p.PromptTokens != nil || p.CompletionTokens != nil || p.Source != "" || p.Allocated
		for i, id := range p.TaskIDs {
			r := row{
				plainRow: plainRow{
					Benchmark: p.Benchmark, Model: p.Model, TaskIndex: int32(i), TaskID: id,
					PassCount: int32(p.PassCounts[i]), TestedK: int32(p.Rollouts(i)),
				},
				Scorer: &p.Scorer, Source: &p.Source, Allocated: &p.Allocated,
				PromptTokens: tokensOf(p.PromptTokens, i), CompletionTokens: tokensOf(p.CompletionTokens, i),
			}
			if p.Graded() {
				r.Rewards, r.Squares = &p.Rewards[i], &p.Squares[i]
			}
			rows, narrow = append(rows, r), append(narrow, narrowRow{r.plainRow, p.Scorer})
		}
	}
	if wider {
		return rows, nil
	}
	return rows, narrow
}

// tokensOf returns the tokens of task i, nil if they were not counted.
func tokensOf(tokens []int64, i int) *int64 {
	if tokens == nil || tokens[i] < 0 {
		return nil
	}
	return &tokens[i]
}
