package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/internal/figure"
	"speceval/internal/golden"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
)

// storing is the Run of a unit that stores rows.
func storing[T any](file string, rows []T) func(context.Context, *dag.Job) error {
	return func(_ context.Context, job *dag.Job) error { return store(job, file, rows) }
}

// casePairs has the case study's profile in place of the made-up one.
func casePairs(t *testing.T, pairs []pair.Pair) []pair.Pair {
	t.Helper()
	out := slices.Clone(pairs)
	for i, p := range out {
		if p.Name() == paperCase {
			out[i] = pair.Known(publishedCase(t).profile())
		}
	}
	return out
}

// drawn is a figure in a page, and its data.
func drawn(t *testing.T, f figure.Figure, err error) (page string, records [][]string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var html, data bytes.Buffer
	if err := figure.Inline(&html, f); err != nil {
		t.Fatal(err)
	}
	if err := figure.PDF(new(bytes.Buffer), f); err != nil {
		t.Fatal(err)
	}
	if err := figure.CSV(&data, f); err != nil {
		t.Fatal(err)
	}
	if records, err = csv.NewReader(&data).ReadAll(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(html.String(), "NaN") {
		t.Error("a place that is no number")
	}
	return html.String(), records
}

func number64(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFiguresMatchGoldenFiles(t *testing.T) {
	small := smallStudy()
	pairs, err := pairFigure(small.Ratios)
	if err != nil {
		t.Fatal(err)
	}
	s := withCase(t, paperStudy(t))
	study, err := caseFigure(newCase(*s.CaseStudy, s.Ratios, s.estimates))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []figure.Figure{pairs, study} {
		var page, data bytes.Buffer
		if err := figure.Inline(&page, f); err != nil {
			t.Fatal(err)
		}
		if err := figure.CSV(&data, f); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, f.Base+".html", page.Bytes())
		golden.Check(t, f.Base+".csv", data.Bytes())
		golden.Check(t, f.Base+".caption.tex", []byte(f.Caption+"\n"))
	}
}

func TestEveryProfileIsAPoint(t *testing.T) {
	s := paperStudy(t)
	f, err := pairFigure(s.Ratios)
	page, records := drawn(t, f, err)
	hbn := ofPolicy(s.Ratios, variance.HBN)
	if len(records) != 1+len(hbn) || len(hbn) != 4*107 {
		t.Fatalf("%d rows for %d ratios", len(records)-1, len(hbn))
	}
	if got := strings.Count(page, "<circle"); got != len(hbn)+1 { // and one in the legend
		t.Errorf("%d points", got)
	}
	for _, want := range []string{"math_100, Qwen3.5-4B, b = 16: 1.0240 ± 0.0004</title>", "mean of 107 profiles 0.8720", ">math_100, Qwen3.5-4B</text>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestBoxesShowQuartilesMedianAndMean(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   boxStats
	}{
		{[]float64{3}, boxStats{3, 3, 3, 3}},
		{[]float64{2, 1}, boxStats{1.25, 1.5, 1.75, 1.5}},
		{[]float64{5, 1, 2, 4, 3}, boxStats{2, 3, 4, 3}},
		{[]float64{4, 8, 1, 7}, boxStats{3.25, 5.5, 7.25, 5}}, // as NumPy's percentile
	} {
		if got := newBoxStats(c.values); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestFigure1OfFewResults(t *testing.T) {
	one := []variance.Ratio{{Benchmark: "b<&>", Model: "m", NTasks: 2, Budget: 7, Policy: variance.HBN, VarianceRatio: 1.5}}
	f, err := pairFigure(one)
	page, records := drawn(t, f, err)
	if len(records) != 2 || !strings.Contains(page, "b&lt;&amp;&gt;, m, b = 7: 1.5000") {
		t.Errorf("%d rows", len(records))
	}
	if _, err := pairFigure(nil); err == nil || !strings.Contains(err.Error(), "run the replay stage again") {
		t.Errorf("no ratios: %v", err)
	}
	var many []variance.Ratio
	for b := range int32(12) {
		for range 300 {
			many = append(many, variance.Ratio{Benchmark: "b", Model: "m", Budget: b + 2, Policy: variance.HBN, VarianceRatio: 0.5})
		}
	}
	f, err = pairFigure(many)
	drawn(t, f, err)
}

func TestThePoliciesDifferByMoreThanColour(t *testing.T) {
	seen := map[any]string{}
	for policy, style := range policyStyle {
		for _, mark := range []any{style.Ink, style.Dash, style.Marker} {
			if other, taken := seen[mark]; taken {
				t.Errorf("%s and %s share %T %v", policy, other, mark, mark)
			}
			seen[mark] = policy
		}
	}
}

func TestHalfWidthsAreThePapers(t *testing.T) {
	s := withCase(t, paperStudy(t))
	c := newCase(*s.CaseStudy, s.Ratios, nil)
	if got := 100 * c.halfWidth(1, 32); math.Abs(got-1.85) > 0.005 {
		t.Errorf("%v points", got)
	}
	if got := c.halfWidth(0.25, 32) / c.halfWidth(1, 128); math.Abs(got-1) > 1e-12 {
		t.Errorf("a quarter of the variance is worth %v of four times the budget", got)
	}
}

func TestFigure2SaysItsValues(t *testing.T) {
	s := withCase(t, paperStudy(t))
	f, err := caseFigure(newCase(*s.CaseStudy, s.Ratios, s.estimates))
	page, records := drawn(t, f, err)
	for _, want := range []string{
		"task at an endpoint (4)", "36.7% of tasks above 0.8", "33.3% of tasks below 0.2", "<title>Uniform, b = 32: 1.849 points</title>",
		"<title>HBN, b = 32: 0.842 ± 0.0004</title>", "<title>Oracle, b = 64: 0.644</title>", "all 3 centred on the", "Uniform, s.d. 0.94",
	} {
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
				area[r[2]] += number64(t, r[6]) * (number64(t, next[5]) - number64(t, r[5]))
			}
		}
	}
	for what, n := range map[string]int{"a task_probability": 30, "b half_width_points": 12, "c variance_ratio": 12, "d density": 60, "d mean": 3, "d truth": 1} {
		if count[what] != n {
			t.Errorf("%d rows of %s, want %d", count[what], what, n)
		}
	}
	for policy, a := range area {
		if math.Abs(a-1) > 0.01 {
			t.Errorf("the density of %s has an area of %v", policy, a)
		}
	}
}

func TestAnEstimatorOffCentreIsSaidToBe(t *testing.T) {
	s := withCase(t, paperStudy(t))
	for i := range s.estimates {
		if e := &s.estimates[i]; e.Policy == variance.HBN {
			e.Mean = e.Truth + 4*e.MeanSE
		}
	}
	f, err := caseFigure(newCase(*s.CaseStudy, s.Ratios, s.estimates))
	if page, _ := drawn(t, f, err); !strings.Contains(page, "HBN off centre") || strings.Contains(page, "all 3 centred") {
		t.Error("the page says that all are centred")
	}
}

func TestFigure2WithoutAllOfItsParts(t *testing.T) {
	s := withCase(t, paperStudy(t))
	degenerate := CaseFact{Benchmark: "b", Model: "m", Budget: 8, TestedK: 4, TaskIDs: []string{"1", "2"}, PassCounts: []int{0, 4}}
	for name, c := range map[string]struct {
		study caseStudy
		want  string
	}{
		"no budget for distributions": {newCase(*s.CaseStudy, s.Ratios, nil), "is not among"},
		"no replay":                   {caseStudy{Profile: s.CaseStudy.profile(), budget: 32, simulated: true}, "has not run"},
		"a degenerate profile":        {newCase(degenerate, nil, nil), "the same way"},
		"nothing":                     {caseStudy{}, "has not run"},
		"one budget":                  {newCase(*s.CaseStudy, pick(s.Ratios, variance.HBN, 32), s.estimates), "all 3 centred"},
	} {
		f, err := caseFigure(c.study)
		if page, _ := drawn(t, f, err); !strings.Contains(page, c.want) {
			t.Errorf("%s: the page lacks %q", name, c.want)
		}
	}
}

func TestFiguresBeforeTheReplayHasRun(t *testing.T) {
	s := withCase(t, paperStudy(t))
	set := settings(t, s)
	set.CaseStudy = CaseStudy{paperCase, 32}
	set.Pairs = casePairs(t, set.Pairs)
	dir := t.TempDir()
	dagtest.Select(t, []dag.Stage{simulated(s), Stage(set)}, dir, dag.Selection{Stages: []string{"report"}})
	for _, base := range []string{"figure1_pair_distribution", "figure2_case_study"} {
		if svg, err := os.ReadFile(filepath.Join(dir, "figures", base+".svg")); err != nil || !bytes.Contains(svg, []byte("has not run")) {
			t.Errorf("%s does not say so: %v", base, err)
		}
	}
}

func TestNoFigure2WithoutItsProfile(t *testing.T) {
	s := paperStudy(t)
	set := settings(t, s)
	set.CaseStudy = CaseStudy{"mine__model=own", 32}
	if kinds := set.figures(); len(kinds) != 1 || kinds[0].base != "figure1_pair_distribution" {
		t.Errorf("%d figures", len(kinds))
	}
	if why := set.NoCaseStudy(); !strings.Contains(why, "mine__model=own is not among") {
		t.Errorf("reason %q", why)
	}
	set.CaseStudy.Profile = ""
	if why := set.NoCaseStudy(); !strings.Contains(why, "names no profile") {
		t.Errorf("reason %q", why)
	}
}

func TestDamagedDistributionsAreNamed(t *testing.T) {
	s := withCase(t, paperStudy(t))
	for _, damage := range []func(*variance.Estimates){
		func(e *variance.Estimates) { e.High = e.Low }, func(e *variance.Estimates) { e.Count = -1 },
		func(e *variance.Estimates) { e.SD = math.NaN() }, func(e *variance.Estimates) { e.Mean = math.NaN() },
		func(e *variance.Estimates) { e.Repetitions = 0 },
	} {
		rows := slices.Clone(s.estimates)
		damage(&rows[3])
		path := filepath.Join(t.TempDir(), "e.parquet")
		write(t, path, rows)
		_, err := readEstimates(func(string) (string, error) { return path, nil })
		if err == nil || !strings.Contains(err.Error(), "row 4") {
			t.Errorf("error %v", err)
		}
	}
}
