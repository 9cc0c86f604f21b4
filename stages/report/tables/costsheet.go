package tables

import (
	"fmt"
	"strconv"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// runsWords name the files of sums of runs.
const runsWords = " Published rows are of data/measurements.parquet, the others of " + measurement.File + ", where a run is the mean over repeats."

// slowdownWords is how much longer a strategy takes than Uniform.
func slowdownWords(strategy string) string {
	return "How much longer " + strategy + " takes than Uniform: ΣT/ΣT_U − 1, summed over the profiles first and divided once (Appendix B.5)"
}

// costKeys tell rows apart.
type costKeys struct {
	Budget     int32  `csv:"budget" head:"b|$b$"`
	Provenance string `csv:"provenance"`
}

// make sets the table as the paper does, a section for each provenance. A
// published number that prints otherwise than the paper's is marked, and a note
// gives the paper's, row by row.
func (k *costTable) make(src *stored.Source) (*model.Sheet, error) {
	rows, err := k.rows(src)
	if err != nil {
		return nil, err
	}
	numbers, err := src.Paper()
	if err != nil {
		return nil, err
	}
	var keys []costKeys
	for _, r := range rows {
		keys = append(keys, costKeys{r.Budget, r.Provenance})
	}
	s := model.NewSheet(k.title, keys)
	s.Notes = k.differences(rows, numbers)
	s.Key = func(i int) paper.Key { return paper.Key{Provenance: rows[i].Provenance, Budget: rows[i].Budget} }
	s.Heading = func(i int) table.Head { return heading(rows, rows[i].Provenance) }
	for j := range k.columns {
		s.Add(k.column(rows, numbers, j))
	}
	k.addNoise(s, rows)
	if k.replayed {
		s.Add(
			model.Column{Name: differingName, Cell: func(i int) table.Cell { return table.Integer(rows[i].budgets.differing) }},
			model.Column{Name: "budgets_differing_expected", Cell: func(i int) table.Cell { return table.Number(rows[i].budgets.expected()) }})
		s.Extra = func(e stored.Experiment) ([]agreement.Comparison, error) {
			return append(judgeKept(s, e, rows, numbers), judgeBudgets(rows)...), nil
		}
		s.Notes = append(s.Notes, budgetNotes(rows)...)
	}
	if numbers != nil {
		for _, provenance := range measurement.Provenances {
			if provenance == measurement.Published || hasRows(rows, provenance) {
				for _, key := range numbers.Rows(k.section) {
					s.PaperRows = append(s.PaperRows, paper.Key{Provenance: provenance, Budget: key.Budget})
				}
			}
		}
	}
	s.Lack = func(i int, _ paper.Key) string {
		e, err := src.Experiment()
		switch {
		case i < 0:
			return "no such row is stored"
		case err == nil && rows[i].Provenance != measurement.Measured && len(rows[i].Settings) != len(e.Profiles):
			return fmt.Sprintf("%d of the %d profiles were run", len(rows[i].Settings), len(e.Profiles))
		}
		return ""
	}
	return s, nil
}

// addNoise adds the noise of every number, its Monte Carlo standard error or its standard
// deviation over executions, and counts of what the sums are over.
func (k *costTable) addNoise(s *model.Sheet, rows []*costRow) {
	for j, c := range k.columns {
		noise := model.Column{Name: c.name + "_sd", Role: model.Spread, Of: c.name, Words: "The spread of " + c.name + ": the standard deviation of a single execution of the whole suite, over its repeats in " +
			measurement.RepeatsFile + "; empty where the suite was executed once, as the published one was.",
			Cell: func(i int) table.Cell { return table.Optional(rows[i].cells[j].sd) }}
		if c.replayed != nil {
			noise = model.Column{Name: c.name + "_se", Role: model.Error, Of: c.name, Cell: func(i int) table.Cell { return table.Number(rows[i].cells[j].SE) }}
		}
		s.Add(noise)
	}
	s.Add(
		model.Column{Name: "profiles", Cell: func(i int) table.Cell { return table.Integer(len(rows[i].Settings)) }},
		model.Column{Name: "repeats", Cell: func(i int) table.Cell { return table.Integer(rows[i].Repeats()) }})
}

// column is a number of the table.
func (k *costTable) column(rows []*costRow, numbers *paper.Numbers, j int) model.Column {
	c := k.columns[j]
	return model.Column{
		Name: c.name, Words: c.words, Head: c.head, Group: c.group, Align: table.Center, Format: c.format, PlusMinus: c.replayed == nil,
		Cell: func(i int) table.Cell { return table.Number(rows[i].cells[j].Value) },
		Shown: func(i int) table.Cell {
			cell := table.Number(rows[i].cells[j].Value)
			mark := ""
			if _, differs := k.differs(rows[i], j, numbers); differs {
				mark = model.Dagger
			}
			if rows[i].Provenance == measurement.Published && c.class(measurement.Published) == agreement.Computed {
				mark += computedMark
			}
			return cell.Marked(mark)
		},
		Rule: &model.Rule{DecimalsOf: c.decimals,
			ClassOf: func(key paper.Key) agreement.Class { return c.class(key.Provenance) },
			Judge:   func(i int, want float64) agreement.Comparison { return rows[i].judge(j, want) }},
	}
}

// differs reports whether a published number prints otherwise than the paper's, and
// which that is.
func (k *costTable) differs(r *costRow, j int, numbers *paper.Numbers) (want float64, differs bool) {
	if numbers == nil || r.Provenance != measurement.Published {
		return 0, false
	}
	c := k.columns[j]
	want, ok := numbers.At(k.section, c.name, paper.Key{Budget: r.Budget})
	return want, ok && agreement.BeyondRounding(r.cells[j].Value, want, c.decimals(want)) != 0
}

// differences are notes on the published numbers that print otherwise.
func (k *costTable) differences(rows []*costRow, numbers *paper.Numbers) (notes []string) {
	for _, r := range rows {
		var theirs []string
		for j, c := range k.columns {
			if want, differs := k.differs(r, j, numbers); differs {
				theirs = append(theirs, strings.ReplaceAll(c.name, "_", " ")+" "+c.format.Print(want))
			}
		}
		if len(theirs) > 0 {
			notes = append(notes, fmt.Sprintf("%s paper, b = %d: %s", model.Dagger, r.Budget, strings.Join(theirs, "; ")))
		}
	}
	return notes
}

// judge compares a number with the paper's: those of the published runs and of the
// replay by rounding and noise, predictions by their own deviation. What the fit has
// seen is shown only, and so are numbers of other machines, and a number that stands
// in the published row already.
func (r *costRow) judge(column int, want float64) agreement.Comparison {
	c, cell := r.kind.columns[column], r.cells[column]
	decimals := c.decimals(want)
	switch class := c.class(r.Provenance); {
	case class == agreement.Measured:
		return r.shown(cell.Value, want, decimals)
	case class == agreement.Predicted:
		return agreement.Foretold(r.forecast(column), r.naive(column), want, decimals)
	case class == agreement.InFit:
		return agreement.Foretold(r.forecast(column), r.naive(column), want, decimals).Seen()
	case r.repeatsPublished(column):
		return agreement.Beside(cell.Value, want, decimals).Shown("the same number is compared in the published row")
	}
	return agreement.Compare(cell.Estimate, want, decimals, 0)
}

// repeatsPublished reports whether the published row has the very same number: an
// average of b/r, whatever was executed.
func (r *costRow) repeatsPublished(column int) bool {
	return r.kind.replayed && column == continuousColumn && r.Provenance != measurement.Published
}

// shown is a number with the paper's, without a verdict.
func (r *costRow) shown(value, want float64, decimals int) agreement.Comparison {
	return agreement.Beside(value, want, decimals).Shown(fmt.Sprintf("other machines; profiles: %d", len(r.Settings)))
}

// macros are the numbers of the table, named after their provenance:
// \specPublishedAsyncTimeBSixFour is HBN-async's time beyond Uniform's at b = 64
// over the published runs, in percent.
func (k *costTable) macros(src *stored.Source) (all []model.Macro, err error) {
	rows, err := k.rows(src)
	for _, r := range rows {
		add := func(name, value string) {
			all = append(all, macroOf(strings.ToUpper(r.Provenance[:1])+r.Provenance[1:]+name, r.Budget, minus(value)))
		}
		for j, c := range k.columns {
			if c.macro != "" {
				f := c.format
				f.Signed = false
				add(c.macro, f.Print(r.cells[j].Value))
			}
		}
		if k.replayed {
			add("ExtraBudgetKept", points.Print(r.kept().Value))
			add("Executions", strconv.Itoa(r.Repeats()))
		}
	}
	return all, err
}
