package report

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"speceval/internal/csvfile"
	"speceval/internal/measurement"
)

const measurementsFile = "data/measurements.parquet"

// costKinds are the tables of costs, in the paper's order.
var costKinds = []costKind{computeTable, timeTable, benefitTable}

// readCosts gathers the runs that Tables 2 to 4 are made of: the published
// ones, where the profiles are the paper's, and those of the systems stage,
// where the experiment has one.
func readCosts(in locate, s Settings) (Costs, error) {
	var costs Costs
	if s.Published {
		published, err := publishedRuns(s)
		if err != nil {
			return costs, err
		}
		costs.Runs = published
	}
	if !s.Systems {
		return costs, nil
	}
	path, err := in.there(measurement.File)
	if err != nil || path == "" {
		return costs, err
	}
	runs, err := measurement.Read(path)
	if err != nil {
		return costs, err
	}
	if i := slices.IndexFunc(runs, isPublished); i >= 0 {
		return costs, fmt.Errorf("%s: row %d (%s at budget %d): the systems stage has no published runs", path, i+1, runs[i].Profile(), runs[i].ReferenceBudget)
	}
	costs.Runs = append(costs.Runs, runs...)
	if costs.Drawn, err = measurement.AreDrawn(path); err != nil {
		return costs, err
	}
	if path, err = in(measurement.RepeatsFile); err != nil {
		return costs, err
	}
	costs.Repeats, err = measurement.ReadRepeats(path)
	return costs, err
}

func isPublished(m measurement.Measurement) bool { return m.Provenance == measurement.Published }

// publishedRuns is the published runs of the experiment's budgets. At a budget
// of the paper they must cover every profile of the experiment.
func publishedRuns(s Settings) ([]measurement.Measurement, error) {
	all, err := measurement.Parse(s.Measurements, measurementsFile)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, p := range s.Pairs {
		wanted[p.Name()] = true
	}
	runs := slices.DeleteFunc(all, func(m measurement.Measurement) bool {
		return !slices.Contains(s.Budgets, int(m.ReferenceBudget)) || !wanted[m.Profile()] || !isPublished(m)
	})
	for _, b := range runBudgets(runs, measurement.Published) {
		if n := len(measurement.Settings(runs, measurement.Published, b)); n != len(s.Pairs) {
			return nil, fmt.Errorf("%s: %d of the %d profiles have runs at budget %d", measurementsFile, n, len(s.Pairs), b)
		}
	}
	return runs, nil
}

// readCostRows reads a stored table of costs again.
func readCostRows(in locate, kind costKind) ([]costRow, error) {
	path, err := in.there("tables/" + kind.base + ".csv")
	if err != nil || path == "" {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records, faults := csvfile.Parse(data, kind.stored())
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", path, faults[0])
	}
	var rows []costRow
	for _, record := range records {
		row, err := parseCostRow(kind, record.Fields)
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", path, record.Number, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// parseCostRow reads the fields of a row, in the order of kind.stored.
func parseCostRow(kind costKind, fields []string) (costRow, error) {
	n := len(kind.columns)
	row := costRow{provenance: fields[1], cells: make([]costCell, n)}
	if !slices.Contains(provenances, row.provenance) {
		return row, fmt.Errorf("provenance %q is unknown", row.provenance)
	}
	budget, err := strconv.ParseInt(fields[0], 10, 32)
	if err != nil {
		return row, err
	}
	row.budget = int32(budget)
	for i, c := range kind.columns {
		cell := &row.cells[i]
		if cell.Value, err = strconv.ParseFloat(fields[2+i], 64); err != nil {
			return row, err
		}
		noise := fields[2+n+i]
		if noise == "" {
			continue
		}
		v, err := strconv.ParseFloat(noise, 64)
		if err != nil {
			return row, err
		}
		if c.replayed {
			cell.SE = v
		} else {
			cell.sd = &v
		}
	}
	counts := []*int{&row.profiles, &row.repeats, &row.differing}
	for i, field := range fields[2+2*n:] {
		if *counts[i], err = strconv.Atoi(field); err != nil {
			return row, err
		}
	}
	return row, nil
}
