package studies

import (
	"math"
	"strings"
	"testing"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/estimate"
)

// TestSmallStudiesPass wants the same output whatever runs at a time.
func TestSmallStudiesPass(t *testing.T) {
	for _, test := range []struct {
		drill lab.Drill
		flags []string
		parts map[string]int // how often they are there
	}{
		{Decisions, []string{"-small", "-n", "2"}, map[string]int{"tasks: ": 1, "gate: ": 1, "passk: ": 1, "drift: ": 1, "drift from siblings: ": 1}},
		{Stages, []string{"-small"}, map[string]int{"places, donors": 4}},
	} {
		var first string
		for _, at := range []string{"1", "3"} {
			code, out := run(test.drill, append(test.flags, "-j", at)...)
			tables, _, _ := strings.Cut(out, "it took")
			if code != 0 || !strings.HasSuffix(out, test.drill.Name+": passed\n") {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			for part, times := range test.parts {
				if strings.Count(tables, part) != times {
					t.Errorf("not %d parts %s in\n%s", times, part, tables)
				}
			}
			if first == "" {
				first = tables
			}
			if tables != first {
				t.Errorf("%s profiles at a time:\n%s\none at a time:\n%s", at, tables, first)
			}
		}
	}
}

// run runs a drill, and returns its exit code and what it prints.
func run(d lab.Drill, args ...string) (code int, out string) {
	var b strings.Builder
	code = d.Main(args, func(string) string { return "" }, &b, &b)
	return code, b.String()
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, wrong := range [][]string{{"-what"}, {"-part", "nothing"}, {"-n", "1"}, {"-j", "0"}} {
		if code, out := run(Decisions, wrong...); code != 2 {
			t.Errorf("exit code %d for %v: %s", code, wrong, out)
		}
	}
	if code, _ := run(Stages, "-what"); code != 2 {
		t.Errorf("exit code %d for a flag that is none", code)
	}
}

// TestShiftsMoveTheMean, as far as probabilities allow.
func TestShiftsMoveTheMean(t *testing.T) {
	for _, by := range []float64{-0.1, 0.03} {
		ps := []float64{0, 0.2, 0.9, 1, 0.5}
		before := average(ps)
		if shift(ps, by); math.Abs(average(ps)-before-by) > 1e-6 {
			t.Errorf("by %v: %v to %v", by, before, average(ps))
		}
	}
	ps := []float64{0, 0.01}
	if shift(ps, -0.5); math.Abs(average(ps)-0.005) > 1e-6 {
		t.Errorf("as low as can be is %v", average(ps))
	}
}

// TestWhatIsWrongIsFound: coverage that is too low, biases, and gates that let too many
// pass are faults.
func TestWhatIsWrongIsFound(t *testing.T) {
	var out strings.Builder
	s := &study{Lab: &lab.Lab{Stdout: &out}, number: 1000}
	if err := s.covers(summary{coverage: 0.9, error: 0.001}, 0.93, "here"); err == nil || !strings.Contains(err.Error(), "here: the interval covers the truth in 90.0%") {
		t.Errorf("%v", err)
	}
	if err := s.covers(summary{coverage: 0.95, error: 0.001}, 0.93, "here"); err != nil {
		t.Error(err)
	}
	if err := s.unbiased(asked{}, summary{bias: 5}); err == nil || s.unbiased(asked{}, summary{bias: 4}) != nil {
		t.Errorf("a bias of 5 errors: %v", err)
	}
	if err := s.alarmed(true, 0.5, 0.01, "here"); err == nil || s.alarmed(false, 0.5, 0.01, "") != nil || s.alarmed(true, 0.01, 0.01, "") != nil {
		t.Errorf("alarms of half of the models: %v", err)
	}
	all := []verdicts{{count: 1000, outcomes: [3]int{800, 150, 50}, spent: 8000, se: 20}}
	if err := s.judged(gated{8, 1, -1}, all); err == nil || !strings.Contains(err.Error(), "15.0% of models") {
		t.Errorf("%v: %s", err, &out)
	}
	if err := s.judged(gated{8, 1, 0}, all); err != nil {
		t.Error(err)
	}
	all[0].outcomes = [3]int{estimate.Undecided: 850, estimate.Worse: 150}
	if err := s.judged(gated{8, 1, -1}, all); err == nil || !strings.Contains(err.Error(), "15.0% of models") {
		t.Errorf("models at the margin that are found to be worse: %v", err)
	}
	var c score
	for k := range 400 {
		value := 0.5 + 0.01*float64(k%2)
		c.add(0.5, value, 0.005, value-0.001, value+0.001)
	}
	if m := summarize([]score{c}); m.coverage != 0.5 || math.Abs(m.length-0.002) > 1e-12 || m.bias < 15 {
		t.Errorf("%+v", m)
	}
	random := seed.Root(1).Stream()
	if x := binomial(&random, 1000, 0.3); x < 230 || x > 370 {
		t.Errorf("%d of 1000 pass", x)
	}
}

// TestModelsTakeTurns counts the profiles of each model in a sample.
func TestModelsTakeTurns(t *testing.T) {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []int{1, 2, 3, 6} {
		s := stagesStudy{each: each, all: all}
		models, benchmarks, seen := map[string]int{}, map[string]int{}, map[string]bool{}
		for _, p := range s.sample() {
			models[p.Model]++
			benchmarks[p.Benchmark]++
			if seen[p.Name()] || p.VarianceSum() == 0 {
				t.Errorf("%s is there twice, or has no variance", p.Name())
			}
			seen[p.Name()] = true
		}
		for model, n := range models {
			if len(models) != 6 || n < 3*each-1 || n > 3*each+1 {
				t.Errorf("%d of each benchmark: %d of %s", each, n, model)
			}
		}
		for benchmark, n := range benchmarks {
			if len(benchmarks) != 18 || n != each && n != 5 {
				t.Errorf("%d of each benchmark: %d of %s", each, n, benchmark)
			}
		}
	}
}

// made is designs of two profiles with such products.
func made(products ...[2]float64) (rows []row) {
	for i, p := range products {
		rows = append(rows, row{stages: 2 + i, variance: 0.9 - 0.1*float64(i), waiting: 1.2, speculating: 1.1, products: p[:]})
	}
	return rows
}

func TestTheLeastProductWins(t *testing.T) {
	rows := made([2]float64{0.9, 0.8}, [2]float64{0.7, 0.6}, [2]float64{0.6, 0.72})
	first, alike := best(rows, func(r row) []float64 { return r.products }, false)
	if first.stages != 3 || len(alike) != 1 || alike[0] != 4 {
		t.Errorf("%d stages win, as good are %v; want 3 and [4]", first.stages, alike)
	}
	if first, alike := best(rows, func(r row) []float64 { return r.products }, true); first.stages != 2 || len(alike) != 1 || alike[0] != 4 {
		t.Errorf("where much is good %d stages win, as good are %v; want 2 and [4]", first.stages, alike)
	}
}

func TestQuotientsHaveTheQuotientOfSumsAsTheirMean(t *testing.T) {
	if got := average(quotients([]float64{3, 8, 1}, []float64{2, 1, 5})); math.Abs(got-12.0/8) > 1e-12 {
		t.Errorf("%v, want 1.5", got)
	}
}

func TestWhatCannotBeIsAFault(t *testing.T) {
	if err := consistent(made([2]float64{0.9, 0.8}, [2]float64{0.7, 0.6}), "here"); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(rows []row){
		"here: the variance of 3 stages is 0.950, of 2 stages 0.900": func(rows []row) { rows[1].variance = 0.95 },
		"here: speculation takes 1.250 of Uniform's time":            func(rows []row) { rows[0].speculating = 1.4 },
	} {
		rows := made([2]float64{0.9, 0.8}, [2]float64{0.7, 0.6})
		spoil(rows)
		if err := consistent(rows, "here"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
