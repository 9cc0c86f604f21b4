package report_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/stages/report"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// costTables are Tables 2 to 4.
var costTables = []*model.Table{tables.Compute, tables.Time, tables.Benefit}

// The published runs give every digit that the paper prints, and those that a
// separate computation gave beyond: percent, by budget.
func TestPublishedRunsGiveThePapersNumbers(t *testing.T) {
	want := map[string][4][]float64{
		"table2_compute": {
			{2.887560, 1.998512, 2.232936, 4.231449}, {0.977000, 3.031248, 0.511454, 3.542702},
			{0.246275, 4.414637, 0.073463, 4.488100}, {0.077490, 5.618257, 0.025954, 5.644212}},
		"table3_time": {
			{33.727205, 11.154115, 22.573090, 30.479567, 8.446901, 22.032666},
			{16.466258, 2.851801, 13.614456, 13.385629, 0.139457, 13.246172},
			{13.380498, 5.488947, 7.891551, 9.266672, 1.327073, 7.939599},
			{11.096363, 6.559846, 4.536517, 5.607554, 1.378318, 4.229235}},
		"table4_benefit": {
			{937.3378, 887.0185, 94.631682, 3.794149, 11.154115, -7.359966},
			{2087.5106, 2038.7089, 97.662207, 13.644150, 2.851801, 10.792349},
			{4703.6719, 4655.8016, 98.982278, 27.945928, 5.488947, 22.456980},
			{10722.1559, 10674.6260, 99.556713, 42.808338, 6.559846, 36.248492}},
	}
	s := paperStudy(t)
	for _, of := range costTables {
		sheet := s.sheet(t, of)
		if sheet.Rows != 4 {
			t.Fatalf("%s has %d rows", of.Base, sheet.Rows)
		}
		for i, label := range sheet.Labels() {
			for j, w := range want[of.Base][i] {
				column := sheet.Columns[2+j] // behind the budget and the provenance
				if got := 100 * number(t, sheet, i, column.Name); math.Abs(got-w) > 1.01e-4*math.Max(1, math.Abs(w)/1000) && math.Abs(got-w) > 0.6e-6 {
					t.Errorf("%s %s %s is %.6f, want %.6f", of.Base, label, column.Name, got, w)
				}
			}
			if number(t, sheet, i, "profiles") != 107 || number(t, sheet, i, "repeats") != 1 {
				t.Errorf("%s %s: not of 107 profiles, executed once", of.Base, label)
			}
			for _, c := range sheet.Columns {
				if strings.HasSuffix(c.Name, "_sd") && !c.Cell(i).IsMissing() {
					t.Errorf("%s %s: %s of a single execution", of.Base, label, c.Name)
				}
			}
		}
	}
	if kept := cellOf(t, s.verdicts(t), paper.Benefit, "published b=8", "extra_budget_kept"); math.Abs(*kept.Obtained-0.6336) > 0.00005 {
		t.Errorf("%v of the extra rollouts are kept at b = 8, want 0.6336", *kept.Obtained)
	}
}

// lines is the rows of a sheet as text, without the paper's numbers.
func lines(s *model.Sheet) (all []string) {
	for i := range s.Rows {
		var words []string
		for _, c := range s.Stored() {
			if !c.IsPaper() {
				words = append(words, c.Cell(i).Exact())
			}
		}
		all = append(all, strings.Join(words, ","))
	}
	return all
}

func TestProvenancesStayApart(t *testing.T) {
	s := fleetStudy(t)
	for i := range s.timed { // other times for each
		switch m := &s.timed[i]; m.Provenance {
		case measurement.Simulated:
			m.TimeSeconds *= 1 + float64(len(m.Strategy))
		case measurement.Measured:
			m.TimeSeconds *= 1 + 2*float64(len(m.Strategy))
		}
	}
	for _, of := range costTables {
		mixed := lines(s.sheet(t, of))
		if len(mixed) != 12 {
			t.Fatalf("%s has %d rows, want 12", of.Base, len(mixed))
		}
		for i, provenance := range measurement.Provenances {
			alone := s.clone()
			alone.timed = slices.DeleteFunc(alone.timed, func(m measurement.Measurement) bool { return m.Provenance != provenance })
			alone.repeats = slices.DeleteFunc(alone.repeats, func(m measurement.Repeat) bool { return m.Provenance != provenance })
			alone.Published = provenance == measurement.Published
			if got := lines(alone.sheet(t, of)); !slices.Equal(got, mixed[4*i:4*i+4]) {
				t.Errorf("%s, %s: %q among others, %q alone", of.Base, provenance, mixed[4*i:4*i+4], got)
			}
		}
	}
}

func TestSpreadIsThatOfTheSuiteOverRepeats(t *testing.T) {
	s := fleetStudy(t)
	times := s.sheet(t, tables.Time)
	published, simulated, measured := row(t, times, "published b=16"), row(t, times, "simulated b=16"), row(t, times, "measured b=16")
	for i, want := range map[int][2]float64{published: {107, 1}, simulated: {107, fleetRepeats}, measured: {6, 1}} {
		if got := [2]float64{number(t, times, i, "profiles"), number(t, times, i, "repeats")}; got != want {
			t.Errorf("row %d has %v profiles and repeats, want %v", i, got, want)
		}
	}
	value := number(t, times, published, "async_time")
	if number(t, times, simulated, "async_time") != value {
		t.Errorf("the value is not that of the measurement file")
	}
	want := fleetStep * (1 + value)
	near(t, "the spread", number(t, times, simulated, "async_time_sd"), want)
	near(t, "the spread of times that do not vary", number(t, times, simulated, "sync_time_sd"), 0)
	v := s.verdicts(t)
	near(t, "the error of the mean beside a single suite", *cellOf(t, v, paper.Time, "simulated b=16", "async_time").SE, want*math.Sqrt(1+1.0/fleetRepeats))
	if c := cellOf(t, v, paper.Time, "measured b=16", "async_time"); !times.Column("async_time_sd").Cell(measured).IsMissing() || c.SE != nil {
		t.Error("a spread of a single execution")
	}
	benefit := s.sheet(t, tables.Benefit)
	if benefit.Column("continuous_budget_sd") != nil || benefit.Column("delta_sd").Cell(simulated).IsMissing() {
		t.Error("budgets have a spread over executions, or times have none")
	}
}

// otherBudgets has the authors execute one rollout a task more at so many settings of
// each budget.
func otherBudgets(settings int) func(*study) {
	return func(s *study) {
		left := map[int32]int{8: settings, 16: settings, 32: settings, 64: settings}
		for i := range s.timed {
			if m := &s.timed[i]; m.Strategy == measurement.UniformEquivalent && !executedHere(*m) && left[m.ReferenceBudget] > 0 {
				left[m.ReferenceBudget]--
				m.Budget++
				m.AcceptedRollouts = m.Budget * m.NTasks
			}
		}
	}
}

// TestDrawnLengthsAreSaid: only above the measured rows, and only where it is so.
func TestDrawnLengthsAreSaid(t *testing.T) {
	const said = "lengths of answers drawn from the length model"
	for _, drawn := range []bool{false, true} {
		s := ofThePaper(smallStudy())
		s.drawn = drawn
		for _, of := range costTables {
			sections := s.sheet(t, of).Print().Sections
			if len(sections) != 3 {
				t.Errorf("%s has %d sections", of.Base, len(sections))
			}
			for _, section := range sections {
				measured := strings.HasPrefix(section.Head.Plain, "Measured")
				if strings.Contains(section.Head.Plain, said) != (drawn && measured) {
					t.Errorf("%s, drawn %t: %s", of.Base, drawn, section.Head.Plain)
				}
			}
		}
	}
}

func TestOtherProfilesHaveCostsOnlyOfTheirOwn(t *testing.T) {
	s := paperStudy(t)
	s.Published = false
	for _, u := range report.Stage(s.settings(t)).Units {
		if n, _ := paper.Number(u.ID); n >= 2 && n <= 4 && strings.HasPrefix(u.ID, "table") {
			t.Errorf("unit %s without runs to fill it", u.ID)
		}
	}
	s = fleetStudy(t)
	s.Published = false
	times := s.sheet(t, tables.Time)
	if times.Rows != 8 || times.Data().Columns[len(times.Data().Columns)-1].Name != "repeats" {
		t.Errorf("%d rows, %v", times.Rows, times.Data().Columns)
	}
}

func TestOnlyTheExperimentsRunsAreShown(t *testing.T) {
	s := paperStudy(t)
	s.Budgets = []int32{16, 12}
	few := s.clone()
	few.pairs = few.pairs[:5]
	for _, s := range []study{s, few} {
		costs, err := stored.Costs(s.source(t))
		if err != nil || len(costs.Runs) != 4*len(s.pairs) || costs.Runs[0].ReferenceBudget != 16 {
			t.Errorf("%d runs of %d profiles, %v", len(costs.Runs), len(s.pairs), err)
		}
	}
}
