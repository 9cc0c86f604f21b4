package report

import (
	"fmt"
	"slices"

	"speceval/internal/table"
)

// Sheet is one table of the report in its two layouts.
type Sheet struct {
	Base  string      // file name in tables/, without extension
	Data  table.Table // CSV: contractual columns, one observation a row
	Print table.Table // LaTeX: as the paper sets it, rounded
}

const dagger = "†" // marks a printed value that differs from the paper's

// budgetCell is a budget as a row heading.
func budgetCell(budget int32) table.Cell {
	return table.Math(fmt.Sprintf("b = %d", budget), fmt.Sprintf("$b=%d$", budget))
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
