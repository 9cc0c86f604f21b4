package main

import (
	"math"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/profile"
)

// TestASmallStudyPasses wants the same output whatever runs at a time.
func TestASmallStudyPasses(t *testing.T) {
	var first string
	for _, at := range []string{"1", "3"} {
		var out, faults strings.Builder
		if code := run([]string{"-small", "-j", at}, &out, &faults); code != 0 || faults.Len() > 0 {
			t.Fatalf("exit code %d: %s%s", code, &out, &faults)
		}
		tables, _, _ := strings.Cut(out.String(), "it took")
		if n := strings.Count(tables, "places, donors"); n != 4 || !strings.HasSuffix(out.String(), "drill-stages: passed\n") {
			t.Errorf("%d tables in\n%s", n, &out)
		}
		if first == "" {
			first = tables
		}
		if tables != first {
			t.Errorf("%s profiles at a time:\n%s\none at a time:\n%s", at, tables, first)
		}
	}
	if code := run([]string{"-what"}, &strings.Builder{}, &strings.Builder{}); code != 2 {
		t.Errorf("exit code %d for a flag that is none", code)
	}
}

// TestModelsTakeTurns counts the profiles of each model in a sample.
func TestModelsTakeTurns(t *testing.T) {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []int{1, 2, 3, 6} {
		s := study{each: each, all: all}
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
	if got := mean(quotients([]float64{3, 8, 1}, []float64{2, 1, 5})); math.Abs(got-12.0/8) > 1e-12 {
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
