package figures

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/golden"
	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/internal/terminal/figure"
	"speceval/internal/terminal/table"
	"speceval/pipeline/pair"
	"speceval/stages/report/stored"
)

// results are stored results to make figures of.
type results struct {
	fact      *stored.CaseFact
	ratios    []variance.Ratio
	estimates []variance.Estimates
}

// put writes a file of an output folder.
func put(t *testing.T, dir, file string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// store writes rows to a file, which is not there without any.
func store[T any](t *testing.T, dir, file string, rows []T) {
	t.Helper()
	var b bytes.Buffer
	if len(rows) == 0 {
		return
	}
	if err := rowfile.Write(&b, rows, nil); err != nil {
		t.Fatal(err)
	}
	put(t, dir, file, b.Bytes())
}

// source stores the results in a folder of their own.
func (r results) source(t *testing.T) *stored.Source {
	t.Helper()
	dir := t.TempDir()
	store(t, dir, variance.RatiosFile, r.ratios)
	store(t, dir, variance.EstimatesFile, r.estimates)
	settings := &stored.Settings{Budgets: []int{8, 16, 32, 64}}
	if r.fact != nil {
		facts, err := json.Marshal(stored.Experiment{CaseStudy: r.fact})
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, stored.ExperimentFile, facts)
		settings.CaseStudy = stored.CaseStudy{Profile: r.fact.Evaluated().Name(), Budget: int(r.fact.Budget)}
		settings.Pairs = append(settings.Pairs, pair.Known(r.fact.Evaluated()))
	}
	return stored.NewSource(settings, stored.Folder(dir))
}

// smallPairs is three profiles at two budgets.
func smallPairs() (all []variance.Ratio) {
	for _, b := range []int32{8, 12} {
		for i, p := range []struct {
			benchmark, model string
			nTasks           int32
		}{{"aime24", "qwen3_5_4b", 30}, {"math_100", "qwen3_5_4b", 100}, {"math_100", "my_model", 100}} {
			r := variance.Ratio{Subject: variance.Subject{Benchmark: p.benchmark, Model: p.model, NTasks: p.nTasks, Budget: b, Policy: policy.Oracle.Name, Donors: "none"}, VarianceRatio: 0.4 + 0.05*float64(i)}
			all = append(all, r)
			r.Policy, r.VarianceRatio, r.RatioSE, r.Draws = policy.HBN.Name, 0.9+0.08*float64(i), 0.0005, 64
			all = append(all, r)
		}
	}
	return all
}

// paperCase is the case study as the paper prints it: its profile, its ratios, of
// which it has none at 16, and sampling distributions that are centred and as wide
// as the formula says.
func paperCase(t *testing.T) results {
	t.Helper()
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all, func(p profile.Profile) bool { return p.Name() == "aime24__model=qwen3_5_4b" })
	p := all[at]
	r := results{fact: &stored.CaseFact{Benchmark: p.Benchmark, Model: p.Model, Budget: 32, TestedK: p.TestedK, TaskIDs: p.TaskIDs, PassCounts: p.PassCounts}}
	for _, at := range []struct {
		budget      int32
		hbn, oracle float64
	}{{8, 0.937, 0.655}, {16, 0.892, 0.649}, {32, 0.842, 0.646}, {64, 0.801, 0.644}} {
		ratio := variance.Ratio{Subject: variance.Subject{Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), Budget: at.budget, Policy: policy.Oracle.Name, Donors: "none"}, VarianceRatio: at.oracle}
		r.ratios = append(r.ratios, ratio)
		ratio.Policy, ratio.VarianceRatio, ratio.RatioSE = policy.HBN.Name, at.hbn, 0.0004
		r.ratios = append(r.ratios, ratio)
	}
	r.estimates = madeEstimates(*r.fact, r.ratios)
	return r
}

// madeEstimates is the normal law of each policy, in twenty bins.
func madeEstimates(fact stored.CaseFact, ratios []variance.Ratio) (out []variance.Estimates) {
	c := variance.NewCase(fact.Evaluated(), fact.Budget, ratios, nil)
	truth := 0.0
	for i := range c.N() {
		truth += c.P(i) / float64(c.N())
	}
	const repetitions, bins, reach = 200_000, 20, 4.0
	for _, p := range policy.CaseStudy {
		r, _ := c.Ratio(p, fact.Budget)
		sd := c.HalfWidth(r.VarianceRatio, fact.Budget) / variance.GainZ
		below := func(k int) float64 {
			return 0.5 * math.Erfc(-(2*reach*float64(k)/bins-reach)/math.Sqrt2)
		}
		for k := range bins {
			out = append(out, variance.Estimates{
				Benchmark: fact.Benchmark, Model: fact.Model, Budget: fact.Budget, Policy: p.Name,
				Low: truth + sd*(2*reach*float64(k)/bins-reach), High: truth + sd*(2*reach*float64(k+1)/bins-reach),
				Count:       int64(math.Round(repetitions * (below(k+1) - below(k)))),
				Repetitions: repetitions, Truth: truth, Mean: truth + 1e-6, MeanSE: sd / math.Sqrt(repetitions),
				SD: 1.0005 * sd, Expected: sd,
			})
		}
	}
	return out
}

// drawn is a figure of stored results in a page, and its data.
func drawn(t *testing.T, f *Figure, of results) (page string, records [][]string) {
	t.Helper()
	made, err := f.Make(of.source(t))
	if err != nil {
		t.Fatal(err)
	}
	var html, data bytes.Buffer
	if err := figure.Inline(&html, made); err != nil {
		t.Fatal(err)
	}
	if err := figure.PDF(new(bytes.Buffer), made); err != nil {
		t.Fatal(err)
	}
	if err := table.CSV(&data, made.Data); err != nil {
		t.Fatal(err)
	}
	if records, err = csv.NewReader(&data).ReadAll(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(html.String(), "NaN") {
		t.Errorf("%s: a place that is no number", f.Base)
	}
	return html.String(), records
}

func TestFiguresMatchGoldenFiles(t *testing.T) {
	for f, of := range map[*Figure]results{Pairs: {ratios: smallPairs()}, Case: paperCase(t)} {
		made, err := f.Make(of.source(t))
		if err != nil {
			t.Fatal(err)
		}
		var page, data bytes.Buffer
		if err := figure.Inline(&page, made); err != nil {
			t.Fatal(err)
		}
		if err := table.CSV(&data, made.Data); err != nil {
			t.Fatal(err)
		}
		for ext, text := range map[string][]byte{".html": page.Bytes(), ".csv": data.Bytes(), ".caption.txt": []byte(made.Caption + "\n")} {
			golden.Check(t, filepath.Join("..", "..", "testdata", f.Base+ext), text)
		}
	}
}

func TestEveryProfileIsAPoint(t *testing.T) {
	var ratios []variance.Ratio
	for b := range int32(12) {
		for i := range 300 {
			ratios = append(ratios, variance.Ratio{Subject: variance.Subject{Benchmark: "b<&>", Model: "m", Budget: b + 2, Policy: policy.HBN.Name, Donors: "none"}, VarianceRatio: 0.5 + float64(i)/1000, RatioSE: 0.01})
		}
	}
	ratios[700].VarianceRatio = 1.5
	page, records := drawn(t, Pairs, results{ratios: ratios})
	if len(records) != 1+len(ratios) {
		t.Fatalf("%d rows for %d ratios", len(records)-1, len(ratios))
	}
	if got := strings.Count(page, "<circle"); got != len(ratios)+2*12 { // and the means
		t.Errorf("%d points", got)
	}
	if want := ">b&lt;&amp;&gt;, m</text>"; !strings.Contains(page, want) {
		t.Errorf("the page lacks %q", want)
	}
}

// TestALongNameLeavesRoom: the name of the worst profile takes none of the width of the plot.
func TestALongNameLeavesRoom(t *testing.T) {
	x := regexp.MustCompile(`<circle cx="([0-9.]+)"`)
	width := func(name string) float64 {
		var ratios []variance.Ratio
		for _, b := range []int32{8, 16, 32, 64} {
			ratios = append(ratios, variance.Ratio{Subject: variance.Subject{Benchmark: name, Model: "m", Budget: b, Policy: policy.HBN.Name, Donors: "none"}, VarianceRatio: 1 + float64(b)/1000})
		}
		page, _ := drawn(t, Pairs, results{ratios: ratios})
		var at []float64
		for _, m := range x.FindAllStringSubmatch(page, -1) {
			v, _ := strconv.ParseFloat(m[1], 64)
			at = append(at, v)
		}
		return slices.Max(at) - slices.Min(at)
	}
	if short, long := width("b"), width(strings.Repeat("long_", 16)); long < 0.98*short {
		t.Errorf("the points are %v wide, with a long name %v", short, long)
	}
}

func TestBoxesShowQuartilesMedianAndMean(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   quartiles
	}{
		{[]float64{3}, quartiles{3, 3, 3, 3}},
		{[]float64{2, 1}, quartiles{1.25, 1.5, 1.75, 1.5}},
		{[]float64{5, 1, 2, 4, 3}, quartiles{2, 3, 4, 3}},
		{[]float64{4, 8, 1, 7}, quartiles{3.25, 5.5, 7.25, 5}}, // as NumPy's percentile
	} {
		if got := newQuartiles(c.values); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestPairsWithoutHBN(t *testing.T) {
	oracle := smallPairs()[:1]
	if _, err := Pairs.Make((results{ratios: oracle}).source(t)); err == nil || !strings.Contains(err.Error(), "run the replay stage again") {
		t.Errorf("no ratios of HBN: %v", err)
	}
	if page, _ := drawn(t, Pairs, results{}); !strings.Contains(page, "has not run") {
		t.Error("the figure does not say that the replay has not run")
	}
	absent := (results{}).source(t)
	if _, err := Pairs.Make(absent); err != nil || !slices.Equal(absent.Lacking(), []string{"replay"}) {
		t.Errorf("the source lacks %q, error %v", absent.Lacking(), err)
	}
	src := (results{ratios: smallPairs()}).source(t)
	if _, err := stored.Runs(src); err != nil || len(src.Lacking()) != 1 {
		t.Fatal(err, src.Lacking())
	}
	if f, err := Pairs.Make(src); err != nil || len(f.Data.Rows) != 6 {
		t.Errorf("without another stage: %d rows, %v", len(f.Data.Rows), err)
	}
}

// TestPoliciesHaveStyles checks that every policy has a look, and that those of the
// case study differ by more than colour.
func TestPoliciesHaveStyles(t *testing.T) {
	for _, p := range policy.All {
		if styleOf(p).Marker == nil {
			t.Errorf("%s has no style", p.Title())
		}
	}
	seen := map[any]string{}
	for _, p := range policy.CaseStudy {
		for _, mark := range []any{styleOf(p).Ink, styleOf(p).Dash, styleOf(p).Marker} {
			if other, taken := seen[mark]; taken {
				t.Errorf("%s and %s share %T %v", p.Name, other, mark, mark)
			}
			seen[mark] = p.Name
		}
	}
}

func TestNoPointOfASwarmCoversAnother(t *testing.T) {
	ys := make([]float64, 107)
	for i := range ys {
		ys[i] = 60 + float64(i*i%7) + float64(i)/4
	}
	slices.Sort(ys)
	const high, wide = 2.6, 0.05
	aside := swarm(ys, high, wide)
	for i := range ys {
		for j := range i {
			if d := math.Hypot((aside[i]-aside[j])/wide, (ys[i]-ys[j])/high); d < 1-1e-9 || math.Abs(aside[i]) > 0.5 {
				t.Errorf("points %d and %d are %v discs apart, at %v", i, j, d, aside[i])
			}
		}
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheCaseStudySaysItsValues(t *testing.T) {
	page, records := drawn(t, Case, paperCase(t))
	for _, want := range []string{
		"task at an endpoint (4)", "36.7% of tasks above 0.8", "33.3% of tasks below 0.2",
		"all 3 centred on the", "Uniform, s.d. 0.94",
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
				area[r[2]] += number(t, r[6]) * (number(t, next[5]) - number(t, r[5]))
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

func TestAnEstimatorOffCentreIsSaidToBe(t *testing.T) {
	of := paperCase(t)
	for i := range of.estimates {
		if e := &of.estimates[i]; e.Policy == policy.HBN.Name {
			e.Mean = e.Truth + 4*e.MeanSE
		}
	}
	if page, _ := drawn(t, Case, of); !strings.Contains(page, "HBN off centre") || strings.Contains(page, "all 3 centred") {
		t.Error("the page says that all are centred")
	}
}

func TestTheCaseStudyWithoutAllOfItsParts(t *testing.T) {
	whole := paperCase(t)
	otherBudget := *whole.fact
	otherBudget.Budget = 48
	for name, c := range map[string]struct {
		of   results
		want string
	}{
		"no budget for distributions": {results{fact: &otherBudget, ratios: whole.ratios}, "is not among"},
		"no replay":                   {results{fact: whole.fact}, "has not run"},
		"a degenerate profile":        {results{fact: &stored.CaseFact{Benchmark: "b", Model: "m", Budget: 8, TestedK: 4, TaskIDs: []string{"1", "2"}, PassCounts: []int{0, 4}}}, "there is no variance"},
		"nothing":                     {results{}, "has not run"},
		"one budget":                  {results{fact: whole.fact, estimates: whole.estimates, ratios: slices.DeleteFunc(slices.Clone(whole.ratios), func(r variance.Ratio) bool { return r.Budget != 32 })}, "all 3 centred"},
	} {
		if page, _ := drawn(t, Case, c.of); !strings.Contains(page, c.want) {
			t.Errorf("%s: the page lacks %q", name, c.want)
		}
	}
}

func TestFiguresThatAnExperimentHas(t *testing.T) {
	bases := func(s *stored.Settings) (all string) {
		for _, f := range Of(s) {
			all += f.Base + " "
		}
		return all
	}
	settings := paperCase(t).source(t).Settings
	if got := bases(settings); got != "figure1_pair_distribution figure2_case_study figure3_policies " {
		t.Errorf("all: %s", got)
	}
	settings.CaseStudy.Profile = "mine__model=own"
	if got := bases(settings); got != "figure1_pair_distribution figure3_policies " {
		t.Errorf("without the profile of the case study: %s", got)
	}
	if why := settings.NoCaseStudy(); !strings.Contains(why, "mine__model=own is not among") {
		t.Errorf("reason %q", why)
	}
	settings.CaseStudy.Profile = ""
	if why := settings.NoCaseStudy(); !strings.Contains(why, "names no profile") {
		t.Errorf("reason %q", why)
	}
}
