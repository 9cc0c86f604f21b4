package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"speceval/internal/measurement"
	"speceval/internal/variance"
)

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
	for _, kind := range costKinds {
		rows := s.costs[kind.base]
		if len(rows) != 4 {
			t.Fatalf("%s has %d rows", kind.base, len(rows))
		}
		for i, r := range rows {
			for j, w := range want[kind.base][i] {
				if got := 100 * r.cells[j].Value; math.Abs(got-w) > 1.01e-4*math.Max(1, math.Abs(w)/1000) && math.Abs(got-w) > 0.6e-6 {
					t.Errorf("%s b=%d %s is %.6f, want %.6f", kind.base, r.budget, kind.columns[j].name, got, w)
				}
			}
			if r.profiles != 107 || r.repeats != 1 || r.cells[3].sd != nil {
				t.Errorf("%s b=%d: %d profiles, %d executions", kind.base, r.budget, r.profiles, r.repeats)
			}
		}
	}
	if kept := s.costs["table4_benefit"][0].kept(); math.Abs(kept.Value-0.6336) > 0.00005 {
		t.Errorf("%v of the extra rollouts are kept at b = 8, want 0.6336", kept.Value)
	}
}

func TestProvenancesStayApart(t *testing.T) {
	s := paperStudy(t)
	costs := withFleet(paperCosts(t, s))
	for i, m := range costs.Runs { // other times for each
		switch m.Provenance {
		case measurement.Simulated:
			costs.Runs[i].TimeSeconds *= 1 + float64(len(m.Strategy))
		case measurement.Measured:
			costs.Runs[i].TimeSeconds *= 1 + 2*float64(len(m.Strategy))
		}
	}
	for _, kind := range costKinds {
		mixed, err := costRows(kind, costs)
		if err != nil {
			t.Fatal(err)
		}
		if len(mixed) != 12 {
			t.Fatalf("%s has %d rows, want 12", kind.base, len(mixed))
		}
		for i, provenance := range provenances {
			alone := costs
			alone.Runs = slices.DeleteFunc(slices.Clone(costs.Runs), func(m measurement.Measurement) bool { return m.Provenance != provenance })
			alone.Repeats = slices.DeleteFunc(slices.Clone(costs.Repeats), func(m measurement.Repeat) bool { return m.Provenance != provenance })
			rows, err := costRows(kind, alone)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprint(printed(mixed[4*i:4*i+4])), fmt.Sprint(printed(rows)); got != want {
				t.Errorf("%s, %s: %s among others, %s alone", kind.base, provenance, got, want)
			}
		}
	}
}

// printed is rows as text, the spreads with them.
func printed(rows []costRow) []string {
	var out []string
	for _, r := range rows {
		text := fmt.Sprint(r.budget, r.provenance, r.profiles, r.repeats, r.differing)
		for _, c := range r.cells {
			text += fmt.Sprintf(" %v", c.Estimate)
			if c.sd != nil {
				text += fmt.Sprintf("±%v", *c.sd)
			}
		}
		out = append(out, text)
	}
	return out
}

func TestSpreadIsThatOfTheSuiteOverRepeats(t *testing.T) {
	s := fleetStudy(t)
	published, simulated, measured := s.costs["table3_time"][1], s.costs["table3_time"][5], s.costs["table3_time"][9]
	if simulated.repeats != fleetRepeats || simulated.profiles != 107 || measured.repeats != 1 || measured.profiles != 6 {
		t.Errorf("%d repeats of %d profiles, measured %d of %d", simulated.repeats, simulated.profiles, measured.repeats, measured.profiles)
	}
	const sync, async = 0, 1
	if simulated.cells[async].Value != published.cells[async].Value {
		t.Errorf("the value is not that of the measurement file")
	}
	want := fleetStep * (1 + published.cells[async].Value)
	if got := *simulated.cells[async].sd; math.Abs(got-want) > 1e-12 {
		t.Errorf("spread %v, want %v", got, want)
	}
	if got := *simulated.cells[sync].sd; got != 0 {
		t.Errorf("spread %v of times that do not vary", got)
	}
	if got := simulated.chance(async); math.Abs(got-want*math.Sqrt(1+1.0/fleetRepeats)) > 1e-12 {
		t.Errorf("standard error %v of the mean", got)
	}
	if measured.cells[async].sd != nil || measured.chance(async) != 0 {
		t.Error("a spread of a single execution")
	}
	benefit := s.costs["table4_benefit"][5]
	if benefit.cells[continuousColumn].sd != nil || benefit.cells[3].sd == nil {
		t.Error("budgets have a spread over executions, or times have none")
	}
}

func TestRunsThatDoNotFitAreErrors(t *testing.T) {
	s := paperStudy(t)
	for _, c := range []struct {
		name, want string
		change     func(*Costs)
	}{
		{"no ratio", "aime24__model=qwen2_5_32b of 30 tasks at budget 16 is among the published runs, but replay/ratios.parquet has no HBN ratio", func(c *Costs) {
			c.Ratios = slices.DeleteFunc(slices.Clone(c.Ratios), func(r variance.Ratio) bool {
				return name(r) == "aime24__model=qwen2_5_32b" && r.Budget == 16
			})
		}},
		{"another profile of that name", "run the replay stage on the same profiles", func(c *Costs) {
			c.Ratios = slices.Clone(c.Ratios)
			for i := range c.Ratios {
				if name(c.Ratios[i]) == "aime24__model=qwen2_5_32b" {
					c.Ratios[i].NTasks = 31
				}
			}
		}},
		{"no repeats", "no repeat has the 107 simulated settings at budget 8", func(c *Costs) { c.Repeats = nil }},
		{"repeats of fewer profiles", "no repeat has the 107 simulated settings at budget 8", func(c *Costs) {
			c.Repeats = slices.DeleteFunc(slices.Clone(c.Repeats), func(r measurement.Repeat) bool { return r.Benchmark == "aime24" })
		}},
	} {
		costs := withFleet(paperCosts(t, s))
		c.change(&costs)
		if _, err := costRows(benefitTable, costs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestOtherEquivalentBudgetsAreCounted(t *testing.T) {
	s := paperStudy(t)
	costs := paperCosts(t, s)
	for i, m := range costs.Runs { // what this study's ratios ask for, but for one profile
		if m.Strategy == measurement.UniformEquivalent && m.Model != "qwen2_5_32b" {
			r, _ := profileRatio(costs.Ratios, variance.HBN, m.Profile(), m.ReferenceBudget)
			b, err := variance.EquivalentBudget(m.ReferenceBudget, r.VarianceRatio)
			if err != nil {
				t.Fatal(err)
			}
			if m.Profile() == "aime25__model=qwen3_5_9b" && b != m.Budget {
				continue
			}
			costs.Runs[i].Budget, costs.Runs[i].AcceptedRollouts = b, b*m.NTasks
		}
	}
	rows, err := costRows(benefitTable, costs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.differing == 0 || r.differing > 19 {
			t.Errorf("b=%d: %d settings ran another budget", r.budget, r.differing)
		}
	}
}

// A second replay of the same noise moves the rounded average as much as
// budgetNoise says.
func TestRoundedBudgetsMoveAsTheirNoiseSays(t *testing.T) {
	const se, runs = 0.002, 400
	s := paperStudy(t)
	ratios := pick(s.Ratios, variance.HBN, 64)
	for i := range ratios {
		ratios[i].RatioSE = se
	}
	flat := schedules{}
	for key, d := range newSchedules(s.Designs) {
		d.RiskSE = 0 // replay noise alone
		flat[key] = d
	}
	continuous, rounded, err := budgetNoise(flat, ratios)
	if err != nil {
		t.Fatal(err)
	}
	var tasks float64
	for _, r := range ratios {
		tasks += float64(r.NTasks)
	}
	source := rand.New(rand.NewPCG(9, 10))
	var squaresC, squaresR float64
	for range runs {
		var differenceC, differenceR float64
		for _, r := range ratios {
			// Another profile of about this ratio, replayed twice.
			truth := r.VarianceRatio + 0.02*source.Float64()
			one, two := 64/(truth+se*source.NormFloat64()), 64/(truth+se*source.NormFloat64())
			differenceC += float64(r.NTasks) * (one - two)
			differenceR += float64(r.NTasks) * (math.Floor(one) - math.Floor(two))
		}
		squaresC += differenceC * differenceC / tasks / tasks
		squaresR += differenceR * differenceR / tasks / tasks
	}
	// A mean square of 400 normal draws has a relative error of 7%; 4 of these.
	// The truths lie above the ratios by up to 0.02, which takes 6% off.
	if got := math.Sqrt(squaresC / 2 / runs); math.Abs(got/continuous-1) > 0.2 {
		t.Errorf("continuous budgets move by %v, expected %v", got, continuous)
	}
	// The error that is common to both is counted twice over: an upper bound.
	if got := math.Sqrt(squaresR / 2 / runs); got > 1.15*rounded || got < 0.6*rounded {
		t.Errorf("rounded budgets move by %v, expected at most %v", got, rounded)
	}
}

// TestDrawnLengthsAreSaid: only above the measured rows, and only where it is so.
func TestDrawnLengthsAreSaid(t *testing.T) {
	const said = "lengths of answers drawn from the length model"
	for _, drawn := range []bool{false, true} {
		costs := smallCosts(smallStudy())
		costs.Drawn = drawn
		for _, kind := range costKinds {
			sheet, err := costTable(kind, costs, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, section := range sheet.Print.Sections {
				measured := strings.HasPrefix(section.Head.Plain, "Measured")
				if strings.Contains(section.Head.Plain, said) != (drawn && measured) {
					t.Errorf("%s, drawn %t: %s", kind.base, drawn, section.Head.Plain)
				}
			}
		}
	}
}
