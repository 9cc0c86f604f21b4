package report

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/profile"
	"speceval/internal/table"
)

// Sheet is one table of the report in its two layouts.
type Sheet struct {
	Base  string      // file name in tables/, without extension
	Data  table.Table // CSV: contractual columns, one observation a row
	Print table.Table // LaTeX: as the paper sets it, rounded
}

// Labels names the rows of the data by its key columns, as verdicts do and as
// `speceval explain` is told: "b=8", "published b=8", "N=19 b=8", a checkpoint,
// or "aime24__model=qwen3_5_4b b=8 hbn".
func (s Sheet) Labels() []string {
	at := map[string]int{}
	for j, c := range s.Data.Columns {
		at[c.Name] = j
	}
	labels := make([]string, len(s.Data.Rows))
	for i, row := range s.Data.Rows {
		field := func(column string) string {
			if j, ok := at[column]; ok {
				return row[j].Exact()
			}
			return ""
		}
		var words []string
		add := func(before, word string) {
			if word != "" {
				words = append(words, before+word)
			}
		}
		add("", field("provenance"))
		if benchmark := field("benchmark"); benchmark != "" {
			add("", profile.Profile{Benchmark: benchmark, Model: field("model")}.Name())
		} else {
			add("", field("model"))
			add("N=", field("n_tasks"))
		}
		add("b=", field("budget"))
		for _, key := range []string{"policy", "rewards", "strategy", "task_id"} {
			add("", field(key))
		}
		labels[i] = strings.Join(words, " ")
	}
	return labels
}

const dagger = "†" // marks a printed value that differs from the paper's

// budgetHead is a budget as a heading of columns or of a section.
func budgetHead(budget int32) table.Head {
	return table.Head{Plain: fmt.Sprintf("b = %d", budget), TeX: fmt.Sprintf("$b=%d$", budget)}
}

// budgetCell is a budget as a row heading.
func budgetCell(budget int32) table.Cell {
	head := budgetHead(budget)
	return table.Math(head.Plain, head.TeX)
}

// optionalInt is an integer that may be absent.
func optionalInt(v *int32) table.Cell {
	if v == nil {
		return table.Missing()
	}
	return table.Integer(*v)
}

// between is the least and the greatest of some counts: "107", or "3 to 107".
func between(counts []int) string {
	if least, most := slices.Min(counts), slices.Max(counts); least != most {
		return fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprint(counts[0])
}

// found is a cell of a paper's number, Missing where the paper has none.
func found(v float64, ok bool) table.Cell {
	if !ok {
		return table.Missing()
	}
	return table.Number(v)
}

// names are columns that only the CSV form has.
func names(columns ...string) []table.Column {
	out := make([]table.Column, len(columns))
	for i, c := range columns {
		out[i].Name = c
	}
	return out
}
