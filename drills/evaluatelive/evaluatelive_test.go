package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/drills/evaluated"
	"speceval/drills/timed"
	"speceval/internal/profile"
)

func TestFlags(t *testing.T) {
	var out, errs bytes.Buffer
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for words, want := range map[string]int{"-no-such-flag": 2, "-at8 2": 2, "-at16 1": 2, "-out " + nowhere: 1} {
		if code := run(strings.Fields(words), nil, &out, &errs); code != want {
			t.Errorf("%s: exit code %d, want %d", words, code, want)
		}
	}
	if said := out.String(); !strings.Contains(said, "make live") || !strings.HasSuffix(said, "drill-evaluate-live: failed\n") {
		t.Errorf("without a profile it says %s", said)
	}
}

func TestScheduleTakesTurns(t *testing.T) {
	all := schedule(map[int]int{8: 5, 16: 3})
	seeds, counts, first := map[uint64]bool{}, map[string]int{}, map[string]int{}
	for i, o := range all {
		if seeds[o.Seed] {
			t.Errorf("seed %d is there twice", o.Seed)
		}
		seeds[o.Seed] = true
		counts[o.Policy]++
		if i%2 == 0 {
			first[o.Policy]++
			if p := all[i+1]; p.Policy == o.Policy || p.Budget != o.Budget {
				t.Errorf("%+v stands beside %+v", o, p)
			}
		}
	}
	if len(all) != 16 || counts[evaluated.Async] != 8 || first[evaluated.Async] != 5 || first[evaluated.Uniform] != 3 {
		t.Errorf("%d evaluations, %v; first of pairs %v", len(all), counts, first)
	}
	if more := schedule(map[int]int{8: 6, 16: 3}); more[0].Seed != all[0].Seed || more[len(more)-1].Budget != 8 {
		t.Error("more evaluations change the earlier ones")
	}
}

// known is a truth without error, of 50 tasks with p = 1/2.
func known(tested int) *truth {
	p := profile.Profile{Benchmark: "quiz", Model: "m", TestedK: tested}
	for range 50 {
		p.PassCounts = append(p.PassCounts, tested/2)
		p.TaskIDs = append(p.TaskIDs, "")
	}
	return &truth{profile: p, predictions: evaluated.Predictions{{Benchmark: "quiz", Model: "m", Budget: 8, VarianceRatio: 0.8}}}
}

// TestTheProfilesErrorIsTakenOff draws profiles with an error as large as that of
// the estimates, 20,000 of them: the ratio must be that of the estimates alone,
// within 5 standard errors, and the bias no larger than by chance.
func TestTheProfilesErrorIsTakenOff(t *testing.T) {
	truth := known(8)
	if math.Abs(truth.unit(8)-0.25/50/8) > 1e-15 || truth.variance() != truth.unit(8) {
		t.Fatalf("unit %v, variance %v", truth.unit(8), truth.variance())
	}
	random := rand.New(rand.NewPCG(1, 1))
	sd := math.Sqrt(truth.unit(8))
	var all evaluated.Tally
	for range 20_000 {
		all.Add(evaluated.Outcome{Estimate: 0.5 + sd*random.NormFloat64()*math.Sqrt(0.8), Low: 0, High: 1}, 0.5+sd*random.NormFloat64())
	}
	if r, se := truth.ratio(&all, 8); math.Abs(r-0.8) > 5*se || se > 0.03 {
		t.Errorf("ratio %v ± %v, want 0.8", r, se)
	}
	var shifted evaluated.Tally
	for i := range 10_000 {
		shifted.Add(evaluated.Outcome{Estimate: 0.5 + sd + 1e-3*float64(2*(i%2)-1)}, 0.5)
	}
	if z := truth.biasScore(&shifted); math.Abs(z-1) > 0.01 {
		t.Errorf("a bias of one standard error of the profile is %v standard errors", z)
	}
}

func result(policy string, estimate, seconds float64, sessions int) *evaluated.Result {
	r := &evaluated.Result{Policy: policy, Budget: 8, Estimate: estimate, StandardError: 0.025, Interval: [2]float64{estimate - 0.05, estimate + 0.05}, Seconds: seconds, Sessions: sessions, Provenance: "measured"}
	r.Tokens.Completion = 100
	return r
}

func TestTimesAreThoseOfPairs(t *testing.T) {
	p := pair{8, []*evaluated.Result{result(evaluated.Async, 0, 2, 1), result(evaluated.Async, 0, 30, 1), result(evaluated.Async, 0, 99, 2)},
		[]*evaluated.Result{result(evaluated.Uniform, 0, 1, 1), result(evaluated.Uniform, 0, 15, 1), result(evaluated.Uniform, 0, 1, 1)}}
	if ratio, se, n := p.times(); math.Abs(ratio-2) > 1e-12 || se > 1e-12 || n != 2 {
		t.Errorf("%v ± %v of %d pairs", ratio, se, n)
	}
	if mean, se := meanOf([]float64{1, 3}); mean != 2 || se != 1 {
		t.Errorf("mean %v ± %v", mean, se)
	}
}

// TestReport makes 60 runs of each policy whose spread is as it should be, and
// then others.
func TestReport(t *testing.T) {
	runs := func(bias, wider float64) (all []*evaluated.Result) {
		sd := math.Sqrt(0.25 / 50 / 8)
		for i := range 60 {
			away := sd * float64(2*(i%2)-1)
			all = append(all, result(evaluated.Async, 0.5+bias+wider*away*math.Sqrt(0.8), 9, 1), result(evaluated.Uniform, 0.5+away, 10, 1))
		}
		return all
	}
	for want, test := range map[string][]*evaluated.Result{"": runs(0, 1), "no bias": runs(0.02, 1), "variances": runs(0, 1.5)} {
		var out bytes.Buffer
		err := report(&out, known(1<<20), test)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v\n%s", want, err, out.String())
		}
		if want == "" && (!strings.Contains(out.String(), "| 8 | 9.0 | 10.0 | 0.900 ± 0.000 | 60 |") || !strings.Contains(out.String(), "0.80 ±")) {
			t.Errorf("it says %s", out.String())
		}
	}
}

func TestTruthOfFiles(t *testing.T) {
	dir := t.TempDir()
	p := profile.Profile{Benchmark: "quiz", Model: "m", TestedK: 4, TaskIDs: []string{"a", "b"}, PassCounts: []int{1, 3}}
	o := options{profiles: filepath.Join(dir, "p.csv"), replayed: dir, benchmark: "quiz", model: "m"}
	if err := timed.WriteProfiles(o.profiles, []profile.Profile{p}); err != nil {
		t.Fatal(err)
	}
	if _, err := readTruth(o); err == nil || !strings.Contains(err.Error(), "has not been replayed") {
		t.Errorf("without a replay: %v", err)
	}
	other := o
	other.model = "n"
	if _, err := readTruth(other); err == nil || !strings.Contains(err.Error(), "has no profile of quiz and n") {
		t.Errorf("of another model: %v", err)
	}
}

func TestRunsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.csv")
	if err := writeRuns(path, []*evaluated.Result{result(evaluated.Async, 0.5, 9, 1), result(evaluated.Uniform, 0.25, 10, 1)}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) != 3 || lines[0] != strings.Join(header, ",") || !strings.HasPrefix(lines[2], "8,uniform,0,measured,0,0,0.25,0.025,") {
		t.Errorf("%q, %v", lines, err)
	}
}
