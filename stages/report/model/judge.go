package model

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/terminal/table"
	"speceval/stages/report/stored"
)

// Rule is how the numbers of a column are compared with the paper's.
type Rule struct {
	Class func(key paper.Key) agreement.Class // where the numbers come from; nil: computed

	Decimals  int     // as printed
	Tolerance float64 // accepted difference whatever the noise

	Cell     func(key paper.Key) table.Cell // the paper's, of a row that it has; nil: the number of the column's name
	Unjudged bool                           // it is shown, not compared

	// Judge compares with a number of the paper's, 0 for a name; nil: rounding, its error and
	// the tolerance decide.
	Judge func(row int, want float64) agreement.Comparison
}

// Compare is the comparisons of a sheet: row by row of the paper, where it has the
// table, and then column by column with predictions. A missing number of a stage that has not
// run is not run.
func (s *Sheet) Compare(e stored.Experiment) (all agreement.Comparisons) {
	if s.Paper != nil {
		all = s.withPaper(e)
		if s.Extra != nil {
			all = append(all, s.Extra(e)...)
		}
	}
	for i := range all {
		c := &all[i]
		c.Class = cmp.Or(c.Class, agreement.Computed)
		if c.Verdict == agreement.Absent && len(s.Reads.Units) > 0 && slices.Contains(s.Lacking, s.Reads.Units[0].Stage) {
			c.Verdict, c.Note = agreement.NotRun, fmt.Sprintf("the %s stage has not run", s.Reads.Units[0].Stage)
		}
	}
	return append(all, s.claimed()...)
}

func (s *Sheet) withPaper(e stored.Experiment) (all []agreement.Comparison) {
	rows := s.PaperRows
	if rows == nil {
		rows = s.Paper.Rows(s.Base)
	}
	s.Absent = cmp.Or(s.Absent, "no such row is stored")
	at := map[paper.Key]int{}
	for i := range s.Rows {
		at[s.Key(i)] = i
	}
	for _, key := range rows {
		if key.Budget != 0 && !e.Has(key.Budget) {
			continue
		}
		row, ok := at[key]
		lack := ""
		if !ok {
			lack = s.Absent
		} else if s.Lack != nil {
			lack = s.Lack(row)
		}
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
	if r == nil || r.Unjudged || c.Name == "" {
		return cell, false
	}
	theirs, want := s.theirs(c, key), 0.0
	if theirs.IsMissing() {
		return cell, false
	}
	if v := theirs.Value(); v != nil {
		want = *v
	}
	switch {
	case lack != "" && theirs.IsText():
		cell = agreement.Comparison{PaperName: theirs.Exact(), Verdict: agreement.Absent}
	case lack != "":
		cell = agreement.Lacking(want, r.Decimals, lack)
	case r.Judge != nil:
		cell = r.Judge(row, want)
	default:
		cell = s.estimated(c, row, want)
	}
	if r.Class != nil {
		cell.Class = r.Class(key)
	}
	return cell, true
}

// estimated compares a number by its own error, which is none where the sheet has no
// column of it.
func (s *Sheet) estimated(c Column, row int, want float64) agreement.Comparison {
	value := c.Cell(row).Value()
	if value == nil {
		return agreement.Lacking(want, c.Rule.Decimals, s.Absent)
	}
	e := agreement.Estimate{Value: *value}
	if se := s.Spread(c, row); se != nil {
		e.SE = *se
	}
	return agreement.Compare(e, want, c.Rule.Decimals, c.Rule.Tolerance)
}

// Spread is the number in the column of a column's error, nil where there is none.
func (s *Sheet) Spread(c Column, row int) *float64 {
	if e := s.ErrorOf(c.Name); e != nil {
		return e.Cell(row).Value()
	}
	return nil
}

// claimed is the comparisons with predictions.
func (s *Sheet) claimed() (all []agreement.Comparison) {
	labels := s.Labels()
	for _, column := range s.Columns {
		if column.Claim == nil {
			continue
		}
		if s.Rows == 0 {
			all = append(all, agreement.Comparison{Live: true, Class: agreement.Measured, Verdict: agreement.NotRun, Note: "nothing is measured yet"}.In(s.Base, "all", column.Name))
		}
		for i, label := range labels {
			if c := column.Claim(i).Claimed(); c.Verdict != "" {
				all = append(all, c.In(s.Base, label, column.Name))
			}
		}
	}
	return all
}
