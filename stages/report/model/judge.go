package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/internal/agreement"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/stages/report/stored"
)

// Rule is how the numbers of a column are compared with the paper's.
type Rule struct {
	Class   agreement.Class                     // where the column's numbers come from; only some classes decide
	ClassOf func(key paper.Key) agreement.Class // where that depends on the row

	Decimals   int                     // as printed
	DecimalsOf func(paper float64) int // where they depend on the number
	Tolerance  float64                 // accepted difference whatever the noise

	Want     func(key paper.Key) (v float64, ok bool) // nil: the number of the column's name
	Cell     func(key paper.Key) table.Cell           // its form in CSV, where it is not that number
	Printed  func(key paper.Key) table.Cell           // in print, where it is not that form
	Unjudged bool                                     // it is shown, not compared

	// Judge compares a number; nil: rounding, its error and the tolerance decide.
	Judge func(row int, want float64) agreement.Comparison
}

// Prediction is how the numbers of a column are compared with predicted ones, by
// other columns of its row.
type Prediction struct {
	Predicted string   // the column of what was predicted; empty where Bound says it
	Bound     *float64 // what is expected of every row, or not to be reached
	Errors    []string // columns of the independent errors of the difference
	Z         string   // the column of the difference in standard errors; may be empty
	Verdict   string   // the column of the verdict
	Decimals  int      // with which the numbers are shown
	Tolerance func(obtained *float64) *float64
}

// Against is a comparison of a sheet beyond the rules of its columns.
type Against struct {
	PaperRows []paper.Key                                             // that are compared; nil: all of the section
	Absent    string                                                  // why a row or a number that is not there cannot be compared
	Lack      func(row int, key paper.Key) string                     // why a row cannot be, -1 if absent; nil: the absent ones
	Extra     func(stored.Experiment) ([]agreement.Comparison, error) // of numbers that are in no column
}

// Compare is the comparisons of a sheet: row by row of the paper, where it has the
// table, and then column by column with predictions.
func (s *Sheet) Compare(e stored.Experiment) ([]agreement.Comparison, error) {
	var all []agreement.Comparison
	if s.Paper != nil {
		all = s.withPaper(e)
		if s.Extra != nil {
			more, err := s.Extra(e)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		s.excuse(all)
	}
	return append(all, s.withPredictions()...), nil
}

func (s *Sheet) withPaper(e stored.Experiment) (all []agreement.Comparison) {
	rows := s.PaperRows
	if rows == nil {
		rows = s.Paper.Rows(s.Section)
	}
	s.Absent = cmp.Or(s.Absent, "no such row is stored")
	lackOf := s.Lack
	if lackOf == nil {
		lackOf = func(row int, _ paper.Key) string { return map[bool]string{true: s.Absent}[row < 0] }
	}
	at := map[paper.Key]int{}
	for i := range s.Rows {
		at[s.Key(i)] = i
	}
	for _, key := range rows {
		if key.Budget != 0 && !e.Has(key.Budget) {
			continue
		}
		row, ok := at[key]
		if !ok {
			row = -1
		}
		lack := lackOf(row, key)
		for _, c := range s.Columns {
			if cell, ok := s.compare(c, row, key, lack); ok {
				all = append(all, cell.In(s.Base, key.Label(), c.Name))
			}
		}
	}
	return all
}

// compare is the comparison of a cell; ok is false where the paper has no number.
func (s *Sheet) compare(c Column, row int, key paper.Key, lack string) (cell agreement.Comparison, ok bool) {
	r := c.Rule
	if r == nil || r.Unjudged {
		return cell, false
	}
	want, ok := s.want(c, key)
	if !ok {
		return cell, false
	}
	decimals := r.Decimals
	if r.DecimalsOf != nil {
		decimals = r.DecimalsOf(want)
	}
	switch {
	case lack != "":
		cell = agreement.Lacking(want, decimals, lack)
	case r.Judge != nil:
		cell = r.Judge(row, want)
	default:
		cell = s.estimated(c, row, want, decimals)
	}
	return cell.As(r.classOf(key)), true
}

// estimated compares a number by its own error, which is none where the sheet has no
// column of it.
func (s *Sheet) estimated(c Column, row int, want float64, decimals int) agreement.Comparison {
	value := c.Cell(row).Value()
	if value == nil {
		return agreement.Lacking(want, decimals, s.Absent)
	}
	e := agreement.Estimate{Value: *value}
	if se := s.spread(c, row); se != nil {
		e.SE = *se
	}
	return agreement.Compare(e, want, decimals, c.Rule.Tolerance)
}

// spread is the number in the column of a column's error, nil where there is none.
func (s *Sheet) spread(c Column, row int) *float64 {
	for _, e := range s.Columns {
		if e.Of == c.Name && (e.Role == Error || e.Role == Spread) {
			return e.Cell(row).Value()
		}
	}
	return nil
}

// classOf is the class of the number in a row.
func (r *Rule) classOf(key paper.Key) agreement.Class {
	if r.ClassOf != nil {
		return r.ClassOf(key)
	}
	return r.Class
}

// excuse turns missing numbers of a stage that has not run into such.
func (s *Sheet) excuse(cells []agreement.Comparison) {
	if len(s.Reads.Units) == 0 || !slices.Contains(s.Lacking, s.Reads.Units[0].Stage) {
		return
	}
	for i := range cells {
		if cells[i].Verdict == agreement.Absent {
			cells[i].Verdict, cells[i].Note = agreement.NotRun, fmt.Sprintf("the %s stage has not run", s.Reads.Units[0].Stage)
		}
	}
}

// withPredictions is the comparisons of the columns that have a prediction.
func (s *Sheet) withPredictions() (all []agreement.Comparison) {
	labels := s.Labels()
	for _, c := range s.Columns {
		if c.Prediction == nil {
			continue
		}
		if s.Rows == 0 {
			all = append(all, agreement.Comparison{Live: true, Class: agreement.Measured, Verdict: agreement.NotRun, Note: "nothing is measured yet", Decimals: c.Prediction.Decimals}.In(s.Base, "all", c.Name))
		}
		for i, label := range labels {
			if cell, ok := s.predicted(c, i); ok {
				all = append(all, cell.In(s.Base, label, c.Name))
			}
		}
	}
	return all
}

// predicted is a comparison in a row; ok is false where the row has none.
func (s *Sheet) predicted(c Column, row int) (cell agreement.Comparison, ok bool) {
	p := c.Prediction
	word := s.Column(p.Verdict).Cell(row).Exact()
	if word == "" {
		return cell, false
	}
	cell = agreement.Comparison{Live: true, Class: agreement.Measured, Decimals: p.Decimals, Predicted: p.Bound}
	cell.Verdict, cell.Note = agreement.Verdict(word).Judged()
	cell.Obtained = s.number(c.Name, row)
	if p.Predicted != "" {
		cell.Predicted = s.number(p.Predicted, row)
	}
	if p.Tolerance != nil {
		cell.Tolerance = p.Tolerance(cell.Obtained)
	}
	if cell.Obtained == nil || cell.Predicted == nil {
		return cell, true
	}
	difference := *cell.Obtained - *cell.Predicted
	cell.Difference = &difference
	se := 0.0
	for _, column := range p.Errors {
		v := s.number(column, row)
		if v == nil {
			return cell, true
		}
		se = math.Hypot(se, *v)
	}
	if se <= 0 {
		return cell, true
	}
	ses := math.Abs(difference) / se
	if p.Z != "" {
		if z := s.number(p.Z, row); z != nil {
			ses = math.Abs(*z)
		}
	}
	cell.SE, cell.SEs = &se, &ses
	return cell, true
}

// number is the number in a column.
func (s *Sheet) number(column string, row int) *float64 { return s.Column(column).Cell(row).Value() }
