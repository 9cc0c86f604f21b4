package report_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/figure"
	"speceval/stages/report/figures"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// drawn is a figure of stored results in a page, and its data.
func drawn(t *testing.T, f *figures.Figure, src *stored.Source) (page string, records [][]string) {
	t.Helper()
	made := must(f.Make(src))
	var html bytes.Buffer
	ok(t, figure.Inline(&html, made))
	ok(t, figure.PDF(io.Discard, made))
	if strings.Contains(html.String(), "NaN") {
		t.Errorf("%s: a place that is no number", f.Base)
	}
	return html.String(), must(csv.NewReader(strings.NewReader(csvOf(t, made.Data))).ReadAll())
}

// unrun is the source of a study before its first stage.
func (s study) unrun(t *testing.T) *stored.Source {
	set := s.settings(t)
	return stored.NewSource(&set, stored.Folder(t.TempDir()))
}

func TestFiguresMatchGoldenFiles(t *testing.T) {
	for f, s := range map[*figures.Figure]study{figures.Pairs: smallStudy(), figures.Case: withCase(t, paperStudy(t))} {
		made := must(f.Make(s.source(t)))
		var page bytes.Buffer
		ok(t, figure.Inline(&page, made))
		for ext, text := range map[string]string{".html": page.String(), ".csv": csvOf(t, made.Data), ".caption.txt": made.Caption + "\n"} {
			golden.Check(t, f.Base+ext, []byte(text))
		}
	}
}

// hbnRatios is the study of n profiles of a benchmark at some budgets, each of ratio of(k).
func hbnRatios(benchmark string, n int, of func(k int) float64, budgets ...int32) (s study) {
	for _, b := range budgets {
		for range n {
			s.ratios = append(s.ratios, variance.Ratio{Subject: variance.Subject{Benchmark: benchmark, Model: "m", Budget: b, Policy: policy.HBN.Name, Donors: "none"},
				VarianceRatio: of(len(s.ratios)), RatioSE: 0.01})
		}
	}
	return s
}

func TestEveryProfileIsAPoint(t *testing.T) {
	s := hbnRatios("b<&>", 300, func(k int) float64 { return 0.5 + float64(k%300)/1000 }, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
	s.ratios[700].VarianceRatio = 1.5
	page, records := drawn(t, figures.Pairs, s.source(t))
	if len(records) != 1+len(s.ratios) {
		t.Fatalf("%d rows for %d ratios", len(records)-1, len(s.ratios))
	}
	if got := strings.Count(page, "<circle"); got != len(s.ratios)+2*12 { // and the means
		t.Errorf("%d points", got)
	}
	if want := ">b&lt;&amp;&gt;, m</text>"; !strings.Contains(page, want) {
		t.Errorf("the page lacks %q", want)
	}
}

// TestALongNameLeavesRoom: the name of the worst profile takes none of the width of the plot.
func TestALongNameLeavesRoom(t *testing.T) {
	width := func(name string) float64 {
		page, _ := drawn(t, figures.Pairs, hbnRatios(name, 1, func(k int) float64 { return 1 + float64(k)/1000 }, 8, 16, 32, 64).source(t))
		var at []float64
		for _, m := range regexp.MustCompile(`<circle cx="([0-9.]+)"`).FindAllStringSubmatch(page, -1) {
			at = append(at, float(m[1]))
		}
		return slices.Max(at) - slices.Min(at)
	}
	if short, long := width("b"), width(strings.Repeat("long_", 16)); long < 0.98*short {
		t.Errorf("the points are %v wide, with a long name %v", short, long)
	}
}

func float(s string) float64 {
	return must(strconv.ParseFloat(s, 64))
}

func TestPairsWithoutHBN(t *testing.T) {
	s := smallStudy()
	s.ratios = s.ratios[:1]
	if _, err := figures.Pairs.Make(s.source(t)); err == nil || !strings.Contains(err.Error(), "run the replay stage again") {
		t.Errorf("no ratios of HBN: %v", err)
	}
	absent := s.unrun(t)
	if page, _ := drawn(t, figures.Pairs, absent); !strings.Contains(page, "has not run") || !slices.Equal(absent.Lacking(), []string{"replay"}) {
		t.Errorf("the figure does not say that the replay has not run; the source lacks %q", absent.Lacking())
	}
	src := smallStudy().source(t)
	if _, err := stored.Runs(src); err != nil || len(src.Lacking()) != 1 {
		t.Fatal(err, src.Lacking())
	}
	if f, err := figures.Pairs.Make(src); err != nil || len(f.Data.Rows) != 6 {
		t.Errorf("without another stage: %d rows, %v", len(f.Data.Rows), err)
	}
}

func TestTheCaseStudySaysItsValues(t *testing.T) {
	page, records := drawn(t, figures.Case, withCase(t, paperStudy(t)).source(t))
	for _, want := range []string{"task at an endpoint (4)", "36.7% of tasks above 0.8", "33.3% of tasks below 0.2", "all 3 centred on the", "Uniform, s.d. 0.94"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	count := map[string]int{}
	area := map[string]float64{}
	for i, r := range records[1:] {
		count[r[0]+" "+r[1]]++
		if r[1] == "density" {
			next := records[1:][min(i+1, len(records)-2)]
			if next[1] == "density" && next[2] == r[2] {
				area[r[2]] += float(r[6]) * (float(next[5]) - float(r[5]))
			}
		}
	}
	for what, n := range map[string]int{"a task_probability": 30, "b half_width_points": 12, "c variance_ratio": 12, "d density": 60, "d mean": 3, "d truth": 1} {
		if count[what] != n {
			t.Errorf("%d rows of %s, want %d", count[what], what, n)
		}
	}
	for of, a := range area {
		if math.Abs(a-1) > 0.01 {
			t.Errorf("the density of %s has an area of %v", of, a)
		}
	}
}

// TestTheCaseStudySaysWhatIsLacking has an estimator off centre, and parts that are missing.
func TestTheCaseStudySaysWhatIsLacking(t *testing.T) {
	changed := func(change func(s *study)) *stored.Source {
		s := withCase(t, paperStudy(t))
		change(&s)
		return s.source(t)
	}
	for name, c := range map[string]struct {
		src  *stored.Source
		want string
	}{
		"an estimator off centre": {changed(func(s *study) {
			each(s.estimates, func(e *variance.Estimates) {
				if e.Policy == policy.HBN.Name {
					e.Mean = e.Truth + 4*e.MeanSE
				}
			})
		}), "HBN off centre"},
		"no budget for distributions": {changed(func(s *study) { s.CaseStudy.Budget, s.caseStudy.Budget, s.estimates = 48, 48, nil }), "no results"},
		"one budget": {changed(func(s *study) {
			s.ratios = slices.DeleteFunc(s.ratios, func(r variance.Ratio) bool { return r.Budget != 32 })
		}), "all 3 centred"},
		"a degenerate profile": {changed(func(s *study) { s.CaseStudy.PassCounts, s.estimates = make([]int, 30), nil }), "no results"},
		"no replay":            {withCase(t, paperStudy(t)).unrun(t), "has not run"},
		"nothing":              {smallStudy().unrun(t), "has not run"},
	} {
		page, _ := drawn(t, figures.Case, c.src)
		if !strings.Contains(page, c.want) || c.want != "all 3 centred" && strings.Contains(page, "all 3 centred") {
			t.Errorf("%s: the page lacks %q", name, c.want)
		}
	}
}

func TestFiguresThatAnExperimentHas(t *testing.T) {
	settings := withCase(t, paperStudy(t)).settings(t)
	for _, c := range []struct{ profile, has, why string }{
		{tables.PaperCase, "figure1_pair_distribution figure2_case_study figure3_policies ", ""},
		{"mine__model=own", "figure1_pair_distribution figure3_policies ", "mine__model=own is not among"},
		{"", "figure1_pair_distribution figure3_policies ", "names no profile"},
	} {
		settings.CaseStudy.Profile = c.profile
		has := ""
		for _, f := range figures.Of(&settings) {
			has += f.Base + " "
		}
		if why := settings.NoCaseStudy(); has != c.has || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%q: %s, since %q", c.profile, has, why)
		}
	}
}
