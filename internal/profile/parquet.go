package profile

import (
	"errors"
	"io"

	"speceval/internal/rowfile"
)

// Schema is the value of the footer key speceval.schema of a profile file.
const Schema = "profiles/1"

// row is a row of a profile file (design, data/profiles.parquet).
type row struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	TaskIndex int32  `parquet:"task_index"` // 0-based, in benchmark order
	TaskID    string `parquet:"task_id"`
	PassCount int32  `parquet:"pass_count"`
	TestedK   int32  `parquet:"tested_k"`
	Scorer    string `parquet:"scorer"`
}

// unscoredRow is a row of a user's file that does not name the scorer.
type unscoredRow struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	TaskIndex int32  `parquet:"task_index"`
	TaskID    string `parquet:"task_id"`
	PassCount int32  `parquet:"pass_count"`
	TestedK   int32  `parquet:"tested_k"`
}

// Write writes profiles as a Parquet file with the given footer, a row per
// task, in the order given.
func Write(w io.Writer, profiles []Profile, footer map[string]string) error {
	var rows []row
	for _, p := range profiles {
		for i, id := range p.TaskIDs {
			rows = append(rows, row{
				Benchmark: p.Benchmark, Model: p.Model,
				TaskIndex: int32(i), TaskID: id,
				PassCount: int32(p.PassCounts[i]), TestedK: int32(p.TestedK),
				Scorer: p.Scorer,
			})
		}
	}
	return rowfile.Write(w, rows, footer)
}

func parquetRows(data []byte, name string) ([]row, error) {
	rows, _, err := rowfile.Decode[row](data, name)
	var missing *rowfile.MissingColumnError
	if !errors.As(err, &missing) || missing.Column != scorerColumn {
		return rows, err
	}
	unscored, _, err := rowfile.Decode[unscoredRow](data, name)
	for _, r := range unscored {
		rows = append(rows, row{r.Benchmark, r.Model, r.TaskIndex, r.TaskID, r.PassCount, r.TestedK, ""})
	}
	return rows, err
}
