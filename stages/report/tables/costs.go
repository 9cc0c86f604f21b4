package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// cost is a number that sums over settings of runs give, in a row.
type cost func([]measurement.Setting) float64

// over is sums over a sum; change is how much more than that they are, relatively.
func over(below measurement.Term, above ...measurement.Term) cost {
	return func(settings []measurement.Setting) float64 { return measurement.Quotient(settings, below, above...) }
}

func change(below measurement.Term, above ...measurement.Term) cost {
	return func(settings []measurement.Setting) float64 {
		return measurement.Quotient(settings, below, above...) - 1
	}
}

// less is one number minus another.
func less(one, other cost) cost {
	return func(settings []measurement.Setting) float64 { return one(settings) - other(settings) }
}

// costTable is the difference between Tables 2, 3 and 4: sums over settings
// of runs, a row for each provenance and budget.
type costTable struct {
	section    string // of the paper
	title      string
	columns    []costColumn
	strategies []string // a setting counts if it has a run of each
	replayed   bool     // it has equivalent budgets, which come from the replay's ratios
}

// costColumn is a number of Tables 2 to 4: a fraction, or a budget.
type costColumn struct {
	name        string
	head, group string // as tags of rows have them
	format      table.Format
	macro       string // its name in LaTeX commands; empty for a repetition

	of    cost // nil: it comes from the replay, and so has a Monte Carlo error in place of a spread over executions
	naive cost // on a fleet that is as fast whatever waits and wastes nothing; nil: zero

	executed bool // of the replayed ones: a mean of budgets that were executed
	inFit    bool // the fit of the simulated fleet has seen it (data/fleet/README.md)
}

// Headings and formats of the printed numbers.
const deltaHead = `Delta|$\Delta$`

var (
	signed = table.ParseFormat("+.2%")  // a cost, relative to Uniform
	fine   = table.ParseFormat("+.2%~") // with one decimal more where it is small
	points = table.ParseFormat(".2%")   // a difference of two
)

// class is where the number comes from in rows of a provenance. Budgets follow from
// our own replay, but for those that the authors executed.
func (c costColumn) class(provenance string) agreement.Class {
	switch {
	case provenance == measurement.Measured:
		return agreement.Measured
	case c.of == nil && !(c.executed && provenance == measurement.Published):
		return agreement.Computed
	case provenance == measurement.Published:
		return agreement.Reaggregated
	case c.inFit:
		return agreement.InFit
	}
	return agreement.Predicted
}

// decimals is the number of decimals of a printed number of the paper, as a
// fraction.
func (c costColumn) decimals(paper float64) int {
	switch {
	case !c.format.Percent:
		return c.format.Decimals
	case c.format.Fine && math.Abs(paper) < 0.001:
		return c.format.Decimals + 3
	}
	return c.format.Decimals + 2
}

// quoted is a number as texts quote it, without a plus sign.
func (c costColumn) quoted(v float64) string {
	c.format.Signed = false
	return c.format.Print(v)
}

// costRow is a row of Tables 2 to 4, and of Table 10: a group of runs without the runs.
type costRow struct {
	Provenance        string
	Budget            int32
	profiles, repeats int
	policy            *policy.Policy // that was executed, where a table has several
	drawn             bool           // the lengths of answers were drawn, and not the models'
	cells             []costCell     // by column

	// Of equivalent budgets: in how many settings another one was executed than HBN's ratios
	// give; and the probabilities, and their sum, that a replay of the authors' gives another
	// than ours.
	differing int
	another   []float64
	expected  float64
}

// costCell is a number with its Monte Carlo error, and the standard deviation of a single
// execution of the suite, NaN with fewer than two; and what a naive fleet would make of it.
type costCell struct {
	agreement.Estimate
	sd    float64
	naive agreement.Forecast
}

// row computes the numbers of a group of runs.
func (k *costTable) row(g measurement.Group, costs stored.Timed, res stored.Replay) (*costRow, error) {
	r := &costRow{Provenance: g.Provenance, Budget: g.Budget, profiles: len(g.Settings), repeats: g.Repeats(),
		drawn: costs.Drawn && g.Provenance == measurement.Measured}
	if k.replayed {
		if err := r.equivalents(g, res); err != nil {
			return nil, err
		}
	}
	// spread is the standard deviation of a number over executions of the suite
	spread := func(of cost) float64 {
		var values []float64
		for _, settings := range g.Suites {
			values = append(values, of(settings))
		}
		sd, _ := measurement.Spread(values)
		return sd
	}
	for _, c := range k.columns[len(r.cells):] {
		cell := costCell{Estimate: exactly(c.of(g.Settings)), sd: spread(c.of)}
		if c.naive != nil {
			cell.naive = agreement.NewForecast(c.naive(g.Settings), spread(c.naive), r.repeats)
		}
		r.cells = append(r.cells, cell)
	}
	return r, nil
}

// rows computes the table: a row for each provenance and budget that has a whole
// setting.
func (k *costTable) rows(src *stored.Source) ([]*costRow, error) {
	return stored.Once(k.section, func(src *stored.Source) (rows []*costRow, err error) {
		costs, err := stored.Costs(src)
		var res stored.Replay
		if err == nil && k.replayed {
			if res, err = stored.Results(src); len(res.Ratios) == 0 {
				return nil, err // the replay has not run
			}
		}
		groups, noGroups := stored.Groups(src, k.strategies...)
		if err := cmp.Or(err, noGroups); err != nil {
			return nil, err
		}
		for _, g := range groups {
			row, err := k.row(g, costs, res)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		return rows, nil
	})(src)
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
	numbers, _ := stored.Paper(src) // whose error the sheet finds as well
	var keys []costKeys
	for _, r := range rows {
		keys = append(keys, costKeys{r.Budget, r.Provenance})
	}
	s := model.NewSheet(k.title, keys)
	for _, r := range rows {
		var theirs []string
		for j, c := range k.columns {
			if want, differs := k.differs(r, j, numbers); differs {
				theirs = append(theirs, strings.ReplaceAll(c.name, "_", " ")+" "+c.format.Print(want))
			}
		}
		if len(theirs) > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s paper, b = %d: %s", model.Dagger, r.Budget, strings.Join(theirs, "; ")))
		}
	}
	s.Heading = func(i int) table.Head { return heading(rows, rows[i].Provenance) }
	k.addNumbers(s, rows, numbers)
	if k.replayed {
		s.Add(
			model.Column{Name: differingName, Cell: func(i int) table.Cell { return table.Integer(rows[i].differing) }},
			model.Column{Name: "budgets_differing_expected", Cell: func(i int) table.Cell { return table.Number(rows[i].expected) }})
		s.Extra = func(e stored.Experiment) []agreement.Comparison {
			return append(judgeKept(s, e, rows, numbers), judgeBudgets(rows)...)
		}
		s.Notes = append(s.Notes, budgetNotes(rows)...)
	}
	if numbers != nil {
		for _, provenance := range measurement.Provenances {
			if provenance == measurement.Published || slices.ContainsFunc(rows, func(r *costRow) bool { return r.Provenance == provenance }) {
				for _, key := range numbers.Rows(k.section) {
					s.PaperRows = append(s.PaperRows, paper.Key{Provenance: provenance, Budget: key.Budget})
				}
			}
		}
	}
	s.Lack = func(i int) string {
		if e, err := stored.Facts(src); err == nil && rows[i].Provenance != measurement.Measured && rows[i].profiles != len(e.Profiles) {
			return fmt.Sprintf("%d of the %d profiles were run", rows[i].profiles, len(e.Profiles))
		}
		return ""
	}
	return s, nil
}

// addNumbers adds the numbers, then the noise of each, its Monte Carlo standard error or its
// standard deviation over executions, and counts of what the sums are over.
func (k *costTable) addNumbers(s *model.Sheet, rows []*costRow, numbers *paper.Numbers) {
	var noise []model.Column
	for j, c := range k.columns {
		s.Add(model.Column{
			Name: c.name, Head: model.HeadOf(c.head), Group: model.HeadOf(c.group), Align: table.Center, Format: c.format, PlusMinus: c.of != nil,
			Cell: func(i int) table.Cell {
				mark := ""
				if _, differs := k.differs(rows[i], j, numbers); differs {
					mark = model.Dagger
				}
				if rows[i].Provenance == measurement.Published && c.class(measurement.Published) == agreement.Computed {
					mark += computedMark
				}
				return table.Number(rows[i].cells[j].Value).Marked(mark)
			},
			Rule: &model.Rule{Decimals: c.decimals(1),
				Class: func(key paper.Key) agreement.Class { return c.class(key.Provenance) },
				Judge: func(i int, want float64) agreement.Comparison { return k.judge(rows[i], j, want) }},
		})
		if c.of == nil {
			noise = append(noise, model.Column{Name: c.name + "_se", Cell: func(i int) table.Cell { return table.Number(rows[i].cells[j].SE) }})
		} else {
			noise = append(noise, model.Column{Name: c.name + "_sd", Cell: func(i int) table.Cell { return table.Finite(rows[i].cells[j].sd) },
				Words: "The spread of " + c.name + ": the standard deviation of a single execution of the whole suite, over its repeats in " + measurement.RepeatsFile +
					"; empty where the suite was executed once, as the published one was."})
		}
	}
	s.Add(noise...)
	s.Add(
		model.Column{Name: "profiles", Cell: func(i int) table.Cell { return table.Integer(rows[i].profiles) }},
		model.Column{Name: "repeats", Cell: func(i int) table.Cell { return table.Integer(rows[i].repeats) }})
}

// differs reports whether a published number prints otherwise than the paper's, and
// which that is.
func (k *costTable) differs(r *costRow, j int, numbers *paper.Numbers) (want float64, differs bool) {
	c := k.columns[j]
	want, ok := numbers.At(k.section, c.name, paper.Key{Budget: r.Budget})
	return want, ok && r.Provenance == measurement.Published && agreement.BeyondRounding(r.cells[j].Value, want, c.decimals(want)) != 0
}

// judge compares a number with the paper's: those of the published runs and of the
// replay by rounding and noise, predictions by their own deviation. What the fit has
// seen is shown only, and so are numbers of other machines, and the average of b/r, which
// stands in the published row already.
func (k *costTable) judge(r *costRow, column int, want float64) agreement.Comparison {
	c, cell := k.columns[column], r.cells[column]
	decimals := c.decimals(want)
	// a further execution of the suite, as the published one is, meets as many long answers as it happens to
	forecast := agreement.NewForecast(cell.Value, cell.sd, r.repeats)
	switch class := c.class(r.Provenance); {
	case class == agreement.Measured:
		return r.shown(cell.Value, want, decimals)
	case class == agreement.Predicted:
		return agreement.Foretold(forecast, cell.naive, want, decimals)
	case class == agreement.InFit:
		return agreement.Foretold(forecast, cell.naive, want, decimals).Seen()
	case k.replayed && column == continuousColumn && r.Provenance != measurement.Published:
		return agreement.Beside(cell.Value, want, decimals).Shown("the same number is compared in the published row")
	}
	return agreement.Compare(cell.Estimate, want, decimals, 0)
}

// shown is a number with the paper's, without a verdict.
func (r *costRow) shown(value, want float64, decimals int) agreement.Comparison {
	return agreement.Beside(value, want, decimals).Shown(fmt.Sprintf("other machines; profiles: %d", r.profiles))
}

// provenanceLabels head the rows of a provenance.
var provenanceLabels = map[string]string{
	measurement.Published: "Published measurements",
	measurement.Simulated: "Simulated fleet",
	measurement.Measured:  "Measured on real servers",
}

// heading says where the rows of a provenance come from, and how many profiles and
// repeats are in them.
func heading(rows []*costRow, provenance string) table.Head {
	var profiles, repeats []int
	drawn := false
	for _, r := range rows {
		if r.Provenance == provenance {
			drawn = r.drawn
			profiles, repeats = append(profiles, r.profiles), append(repeats, r.repeats)
		}
	}
	head := fmt.Sprintf("%s (profiles: %s", provenanceLabels[provenance], model.Between(profiles))
	if repeats[0] > 1 {
		head += fmt.Sprintf("; mean of %s repeats ± standard deviation of one", model.Between(repeats))
	}
	if drawn {
		head += "; lengths of answers drawn from the length model"
	}
	return table.Head{Plain: head + ")"}
}

// macros are the numbers of the table, named after their provenance:
// \specPublishedAsyncTimeBSixFour is HBN-async's time beyond Uniform's at b = 64
// over the published runs, in percent.
func (k *costTable) macros(src *stored.Source) (all []model.Macro, err error) {
	rows, err := k.rows(src)
	for _, r := range rows {
		add := func(name, value string) {
			all = append(all, macroOf(strings.ToUpper(r.Provenance[:1])+r.Provenance[1:]+name, r.Budget, value))
		}
		for j, c := range k.columns {
			if c.macro != "" {
				add(c.macro, c.quoted(r.cells[j].Value))
			}
		}
		if k.replayed {
			add("ExtraBudgetKept", points.Print(r.kept().Value))
			add("Executions", strconv.Itoa(r.repeats))
		}
	}
	return all, err
}
