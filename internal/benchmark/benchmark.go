// Package benchmark defines the benchmarks: their ids, sizes and scorers, the
// files that hold their tasks, and the templates that make a prompt of a
// problem. It holds no benchmark text.
package benchmark

import (
	"fmt"
	"slices"
	"strconv"

	"speceval/internal/csvfile"
	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
)

// Task is one problem of a benchmark, ready to be asked and scored.
type Task = scoring.Task

// Test is one check of a program.
type Test = scoring.Test

// Definition is one benchmark: a fixed set of tasks and the way they are
// scored.
type Definition struct {
	ID     string // as in every file of the pipeline: "gpqa_diamond__domain_physics"
	NTasks int    // at least 2
	Scorer string // version of the scorer behind the published profiles
	Family string // name of the family of that scorer, see package family
	Title  string // for tables: "GPQA Diamond Physics"
}

// Parse reads definitions from a CSV file with the columns benchmark,
// n_tasks, scorer, family and title, in file order; name is what errors call
// the file.
func Parse(data []byte, name string) ([]Definition, error) {
	records, faults := csvfile.Parse(data, []string{"benchmark", "n_tasks", "scorer", "family", "title"})
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", name, faults[0])
	}
	seen := map[string]bool{}
	var definitions []Definition
	for _, record := range records {
		n, err := strconv.Atoi(record.Fields[1])
		d := Definition{ID: record.Fields[0], NTasks: n, Scorer: record.Fields[2], Family: record.Fields[3], Title: record.Fields[4]}
		switch {
		case d.ID == "" || seen[d.ID]:
			err = fmt.Errorf("benchmark %q is empty or there twice", d.ID)
		case err != nil || n < 2:
			err = fmt.Errorf("n_tasks %q is not an integer of at least 2", record.Fields[1])
		case !slices.Contains(family.Names(), d.Family):
			err = fmt.Errorf("family %q is none of %q", d.Family, family.Names())
		case d.Scorer == "" || d.Title == "":
			err = fmt.Errorf("scorer or title is empty")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", name, record.Number, err)
		}
		seen[d.ID] = true
		definitions = append(definitions, d)
	}
	if len(definitions) == 0 {
		return nil, fmt.Errorf("%s: there are no rows", name)
	}
	return definitions, nil
}
