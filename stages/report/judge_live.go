package report

import (
	"fmt"
	"math"
	"path"
	"slices"

	"speceval/internal/agreement"
	"speceval/stages/report/measured"
)

// liveLegend says what the columns of measured cells mean.
const liveLegend = `Measured beside predicted: s.e. is the standard error of the difference, from
both sides; SEs is the difference in such errors. A predicted time agrees within
5% of the measured one, whatever its error, and everything within 3 standard
errors; ratios of variances are compared on the logarithmic scale. Uniform's times
were fitted and are shown, and so is what fewer than 10 runs say. Two generations
of one profile are said to differ by chance with a probability of 1%, all tests
of the profile together. The orchestrator takes less than 5% of the
processors of its machine during a timed run.

`

// compared is the tables with comparisons of what was measured, by base name.
func (s Settings) compared() []string {
	var bases []string
	for _, kind := range s.liveTables() {
		if slices.ContainsFunc(measured.Comparisons(), func(c measured.Comparison) bool { return c.Table == kind.base }) {
			bases = append(bases, kind.base)
		}
	}
	return bases
}

// judged reports whether anything is compared: with the paper, or with
// predictions.
func (s Settings) judged() bool { return s.Published || len(s.compared()) > 0 }

// readLive reads stored tables of what was measured.
func readLive(in locate, bases []string) ([]Sheet, error) {
	var sheets []Sheet
	for _, base := range bases {
		file := path.Join(tablesDir, base+".csv")
		if local, err := in.there(file); err != nil || local == "" {
			sheets = append(sheets, Sheet{Base: base})
			if err != nil {
				return nil, err
			}
			continue
		}
		data, err := readInput(in, file)
		if err != nil {
			return nil, err
		}
		sheet, err := parseSheet(base, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; run the report stage again", file, err)
		}
		sheets = append(sheets, sheet)
	}
	return sheets, nil
}

// judgeLive makes the cells of stored tables, whose rows have verdicts.
func judgeLive(sheets []Sheet) ([]Cell, error) {
	var cells []Cell
	for _, s := range sheets {
		labels := s.Labels()
		for _, c := range measured.Comparisons() {
			if c.Table != s.Base {
				continue
			}
			if len(labels) == 0 {
				cells = append(cells, Cell{Live: true, Verdict: NotRun, Note: "nothing is measured yet", decimals: c.Decimals}.in(s.Base, "all", c.Column))
			}
			for i, label := range labels {
				cell, ok, err := liveCell(c, s.fields(i))
				if err != nil {
					return nil, fmt.Errorf("%s/%s.csv: row %d: %w; run the report stage again", tablesDir, s.Base, i+1, err)
				}
				if ok {
					cells = append(cells, cell.in(s.Base, label, c.Column))
				}
			}
		}
	}
	return cells, nil
}

// liveCell is a comparison in a row; ok is false where the row has none.
func liveCell(c measured.Comparison, fields map[string]string) (cell Cell, ok bool, err error) {
	word, there := fields[c.Verdict]
	if !there {
		return cell, false, fmt.Errorf("there is no column %s", c.Verdict)
	}
	if word == "" {
		return cell, false, nil
	}
	cell = Cell{Live: true, decimals: c.Decimals, Predicted: c.Bound}
	if cell.Verdict, cell.Note, err = liveVerdict(agreement.Verdict(word)); err != nil {
		return cell, false, err
	}
	cell.Obtained = optionalNumber(fields[c.Column])
	if c.Predicted != "" {
		cell.Predicted = optionalNumber(fields[c.Predicted])
	}
	if cell.Obtained == nil || cell.Predicted == nil {
		return cell.bounded(c), true, nil
	}
	difference := *cell.Obtained - *cell.Predicted
	cell.Difference = &difference
	se, known := errorOfBoth(c.Errors, fields)
	if !known {
		return cell.bounded(c), true, nil
	}
	ses := math.Abs(difference) / se
	if z := optionalNumber(fields[c.Z]); c.Z != "" && z != nil {
		ses = math.Abs(*z)
	}
	cell.SE, cell.SEs = &se, &ses
	return cell.bounded(c), true, nil
}

// bounded adds the tolerance of a comparison.
func (c Cell) bounded(of measured.Comparison) Cell {
	tolerance := 0.0
	switch {
	case of.Table == measured.TimesTable && c.Obtained != nil:
		tolerance = agreement.TimeTolerance * *c.Obtained
	case of.Table == measured.OrchestratorTable:
		tolerance = agreement.MostCPU
	default:
		return c
	}
	c.Tolerance = &tolerance
	return c
}

// errorOfBoth is the error of a difference; known is false where one is not.
func errorOfBoth(columns []string, fields map[string]string) (se float64, known bool) {
	for _, column := range columns {
		v := optionalNumber(fields[column])
		if v == nil {
			return 0, false
		}
		se = math.Hypot(se, *v)
	}
	return se, se > 0
}

// optionalNumber is the number in a field, nil where there is none.
func optionalNumber(field string) *float64 {
	if v, ok := numberIn(field); ok {
		return &v
	}
	return nil
}

// liveVerdict is a verdict of a table as one of the report, with a note.
func liveVerdict(v agreement.Verdict) (Verdict, string, error) {
	switch v {
	case agreement.Agrees:
		return Agrees, "", nil
	case agreement.Within:
		return WithinNoise, "", nil
	case agreement.Differs:
		return Differs, "", nil
	case agreement.Fitted:
		return Shown, "the prediction was fitted to it", nil
	case agreement.TooFew:
		return Shown, fmt.Sprintf("fewer than %d runs", agreement.LeastRuns), nil
	case agreement.Shown:
		return Shown, "no claim is made about it", nil
	}
	return "", "", fmt.Errorf("the verdict %q is unknown", v)
}

// sides are what the two numbers of a cell are called.
func (c Cell) sides() (obtained, expected string) {
	if c.Live {
		return "measured", "predicted"
	}
	return "obtained", "paper"
}

// wanted says what a measured number should have been.
func (c Cell) wanted() string {
	switch expected := c.line()[3]; {
	case !expected.IsMissing():
		return expected.Exact() + " was predicted"
	case c.Tolerance != nil:
		return fmt.Sprintf("less than %g was claimed", *c.Tolerance)
	}
	return "nothing was predicted"
}

// liveReason is why a measured cell has its verdict, in words.
func (c Cell) liveReason() string {
	switch {
	case c.Note != "":
		return c.Note
	case c.Predicted == nil && c.Tolerance != nil:
		return fmt.Sprintf("less than %g is the claim", *c.Tolerance)
	case c.Verdict == Agrees && c.Tolerance != nil:
		return fmt.Sprintf("no further than the %.3g that are %g%% of the measured time", *c.Tolerance, 100*agreement.TimeTolerance)
	case c.SEs != nil:
		return fmt.Sprintf("%.2f standard errors of the difference, %.2g each; up to %d are noise", *c.SEs, *c.SE, agreement.Sigmas)
	case c.Difference != nil:
		return "by exact tests at the stated rate of false alarms"
	}
	return "nothing stored to compare"
}
