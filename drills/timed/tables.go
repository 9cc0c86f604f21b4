package timed

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ReadAllocations reads what `speceval allocations` has printed into settings.
func ReadAllocations(text string, settings []Setting) error {
	_, text, found := strings.Cut(text, "benchmark,model,budget,allocation_sha256\n")
	if !found {
		return fmt.Errorf("no allocations in %q", text)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return fmt.Errorf("allocations: %w", err)
	}
	for i := range settings {
		s := &settings[i]
		at := slices.IndexFunc(rows, func(row []string) bool {
			return len(row) == 4 && row[0] == s.Profile.Benchmark && row[1] == s.Profile.Model && row[2] == strconv.Itoa(s.Budget)
		})
		if at < 0 {
			return fmt.Errorf("no allocation of %s", s.Name())
		}
		s.Allocation = rows[at][3]
	}
	return nil
}

// Tables checks that Tables 2 and 3 have a row of a provenance for each of the
// budgets.
func Tables(out, provenance string, budgets []int) error {
	for _, name := range []string{"table2_compute.csv", "table3_time.csv"} {
		file, err := os.Open(filepath.Join(out, "tables", name))
		if err != nil {
			return err
		}
		rows, err := csv.NewReader(file).ReadAll()
		file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, budget := range budgets {
			if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == strconv.Itoa(budget) && row[1] == provenance }) {
				return fmt.Errorf("%s has no %s row at budget %d", name, provenance, budget)
			}
		}
	}
	return nil
}
