package evaluations

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/drills/lab"
	"speceval/internal/evaluation"
	"speceval/internal/profile"
)

func TestFlagsOfEvaluateLive(t *testing.T) {
	var out, errs bytes.Buffer
	nowhere := filepath.Join(t.TempDir(), "nowhere.csv")
	for words, want := range map[string]int{
		"-no-such-flag": 2, "-at8 2": 2, "-at16 1": 2, "-at8 0 -at16 0": 2, "-draws 1": 2, "-arms hbn,whatever": 2, "-profiles " + nowhere: 1, "-shipped " + nowhere + " -out " + nowhere: 1,
	} {
		if code := EvaluateLive.Main(strings.Fields(words), noEnvironment, &out, &errs); code != want {
			t.Errorf("%s: exit code %d, want %d", words, code, want)
		}
	}
	if !strings.Contains(errs.String(), `there is no arm "whatever": want some of uniform,hbn,`) {
		t.Errorf("it reports %s", errs.String())
	}
	if text := out.String(); !strings.Contains(text, "nowhere.csv") || !strings.HasSuffix(text, "drill-evaluate-live: failed\n") {
		t.Errorf("without a profile it prints %s", text)
	}
}

func armsOf(t *testing.T, names string) []liveArm {
	t.Helper()
	all, err := chosenArms(names)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestArmsTakeTurns(t *testing.T) {
	three := armsOf(t, "informed,uniform,hbn")
	if names := []string{three[0].name, three[1].name, three[2].name}; !slices.Equal(names, []string{"uniform", "hbn", "informed"}) {
		t.Fatalf("arms %v", names)
	}
	all := schedule(three, map[int]int{8: 6, 16: 3})
	seeds, counts, first := map[uint64]bool{}, map[string]int{}, map[string]int{}
	for i, o := range all {
		if seeds[o.seed] {
			t.Errorf("seed %d is there twice", o.seed)
		}
		seeds[o.seed] = true
		counts[o.arm.name]++
		if i%3 == 0 {
			first[o.arm.name]++
		}
		if at := all[i-i%3]; o.round != at.round || o.budget != at.budget {
			t.Errorf("%+v does not follow %+v", o, at)
		}
	}
	if len(all) != 27 || counts["hbn"] != 9 || first["hbn"] != 3 || first["uniform"] != 3 {
		t.Errorf("%d evaluations, %v; first of rounds %v", len(all), counts, first)
	}
}

// TestMoreOfAllChangesNoSeed holds the seeds of a shorter drill to those of a longer one.
func TestMoreOfAllChangesNoSeed(t *testing.T) {
	longer := schedule(liveArms, map[int]int{8: 5, 16: 5})
	for _, o := range schedule(armsOf(t, "hbn,hbn-killed"), map[int]int{8: 4, 16: 3}) {
		if !slices.ContainsFunc(longer, func(other turn) bool {
			return other.arm == o.arm && other.round == o.round && other.name() == o.name()
		}) {
			t.Errorf("%+v is not in the longer schedule", o)
		}
	}
}

// known is a truth without error, of 50 tasks with p = 1/2.
func known(tested int) *truth {
	p := profile.Profile{Benchmark: "quiz", Model: "m", TestedK: tested}
	for range 50 {
		p.PassCounts = append(p.PassCounts, tested/2)
		p.TaskIDs = append(p.TaskIDs, "")
	}
	return &truth{profile: p, predictions: map[predicted]prediction{
		{uniform, 8}: {Ratio: 1}, {async, 8}: {Ratio: 0.8, SE: 1e-4},
	}}
}

// TestTheProfilesErrorIsTakenOff draws profiles with an error as large as that of the
// estimates, 20,000 of them: the ratio must be that of the estimates alone, within 5
// standard errors, and the bias no larger than by chance.
func TestTheProfilesErrorIsTakenOff(t *testing.T) {
	p := known(8).profile
	unit := uniformVariance(p, 8)
	if math.Abs(unit-0.25/50/8) > 1e-15 {
		t.Fatalf("unit %v", unit)
	}
	random := rand.New(rand.NewPCG(1, 1))
	sd := math.Sqrt(unit)
	var all, shifted []*evaluation.Result
	for i := range 20_000 { // the profile's error is as good as one of the estimate
		all = append(all, &evaluation.Result{Estimate: 0.5 + sd*random.NormFloat64()*math.Sqrt(0.8) - sd*random.NormFloat64(), Interval: [2]float64{0, 1}, Rollouts: 400})
		shifted = append(shifted, &evaluation.Result{Estimate: 0.5 + sd + 1e-3*float64(2*(i%2)-1), Rollouts: 400})
	}
	if r := newRow("", 8, p, all, unit); math.Abs(r.ratio-0.8) > 5*r.ratioSE || r.ratioSE > 0.03 {
		t.Errorf("ratio %v ± %v, want 0.8", r.ratio, r.ratioSE)
	}
	if z := newRow("", 8, p, shifted, unit).biasScore(); math.Abs(z-1) > 0.01 {
		t.Errorf("a bias of one standard error of the profile is %v standard errors", z)
	}
}

// run8 is an evaluation of a round at 8 rollouts per task.
func run8(t *testing.T, name string, round int, estimate, seconds float64, sessions int) made {
	a := armsOf(t, name)[0]
	r := &evaluation.Result{
		Policy: a.policy, Budget: 8, Estimate: estimate, StandardError: 0.025, Interval: [2]float64{estimate - 0.05, estimate + 0.05},
		Seconds: seconds, Sessions: sessions, Provenance: "measured", Rollouts: 400,
	}
	r.Tokens.Completion = 100
	return made{turn{a, round, order{policy: a.policy, budget: 8}}, r}
}

// TestTimesAreThoseOfRounds leaves out runs that were resumed, and rounds without a
// partner.
func TestTimesAreThoseOfRounds(t *testing.T) {
	all := liveRows(known(8), []made{
		run8(t, "hbn", 0, 0.5, 2, 1), run8(t, "uniform", 0, 0.5, 1, 1), run8(t, "hbn", 1, 0.5, 30, 1), run8(t, "uniform", 1, 0.5, 15, 1),
		run8(t, "hbn", 2, 0.5, 99, 2), run8(t, "uniform", 2, 0.5, 1, 1), run8(t, "hbn", 3, 0.5, 77, 1),
	})
	if len(all) != 2 || all[0].what != "uniform" {
		t.Fatalf("%+v", all)
	}
	hbn := all[1]
	if ratio, se, n := hbn.times(); math.Abs(ratio-2) > 1e-12 || se > 1e-12 || n != 2 {
		t.Errorf("%v ± %v of %d rounds", ratio, se, n)
	}
	if hbn.resumed != 1 || math.Abs(hbn.undisturbed()-(2+30+77)/3.0) > 1e-12 {
		t.Errorf("%d resumed, %v seconds", hbn.resumed, hbn.undisturbed())
	}
	if mean, se := meanOf([]float64{1, 3}); mean != 2 || se != 1 {
		t.Errorf("mean %v ± %v", mean, se)
	}
}

// TestReport makes 60 runs of three arms whose spread is as it should be, and then
// others.
func TestReport(t *testing.T) {
	runs := func(bias, wider float64, sessions int) (all []made) {
		sd := math.Sqrt(0.25 / 50 / 8)
		for i := range 60 {
			away := sd * float64(2*(i%2)-1)
			hbn := 0.5 + bias + wider*away*math.Sqrt(0.8)
			all = append(all, run8(t, "hbn", i, hbn, 9, 1), run8(t, "uniform", i, 0.5+away, 10, 1), run8(t, "hbn-killed", i, hbn, 99, sessions))
		}
		return all
	}
	low := runs(0, 1, 2)
	for i, r := range low {
		if i%2 == 0 {
			r.Interval = [2]float64{0.9, 1}
		}
	}
	for want, test := range map[string][]made{
		"": runs(0, 1, 2), "no bias": runs(0.02, 1, 2), "variance is": runs(0, 1.5, 2), "were killed under way": runs(0, 1, 1), "coverage is": low,
	} {
		var out bytes.Buffer
		err := liveReport(&lab.Lab{Stdout: &out}, known(1<<20), test)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v\n%s", want, err, out.String())
		}
		for _, part := range []string{"| 8 | hbn | 9.0 | 0.900 ± 0.000 | 60 | 0 |", "| 8 | hbn-killed | – | – | 0 | 60 |", "0.80 ± 0.00 | 0.800 ± 0.0001 |", "| +0.00000 ± 0.00325 (+0.0 s.e.) |"} {
			if want == "" && !strings.Contains(out.String(), part) {
				t.Errorf("%q is not in %s", part, out.String())
			}
		}
	}
}

// TestPooledBias weights arms by their precision, and has the profile's error once.
func TestPooledBias(t *testing.T) {
	p := known(8).profile
	var precise, wide []*evaluation.Result
	for i := range 10_000 {
		away := float64(2*(i%2) - 1)
		precise = append(precise, &evaluation.Result{Estimate: 0.51 + 0.01*away})
		wide = append(wide, &evaluation.Result{Estimate: 0.6 + 0.1*away})
	}
	want, unit := (0.01*100+0.1)/101, uniformVariance(p, 8)
	bias, score := pooled([]liveRow{{row: newRow("", 8, p, precise, unit)}, {row: newRow("", 8, p, wide, unit)}})
	if sd := math.Sqrt(unit); math.Abs(bias-want) > 1e-6 || math.Abs(score-want/sd) > 1e-3 {
		t.Errorf("bias %v of %v standard errors, want %v of %v", bias, score, want, want/sd)
	}
}

func TestTruthOfFiles(t *testing.T) {
	dir := t.TempDir()
	ids := []string{"a", "b", "c", "d"}
	own := profile.Profile{Benchmark: "quiz", Model: "m", TestedK: 64, TaskIDs: ids, PassCounts: []int{1, 50, 64, 30}}
	donor := profile.Profile{Benchmark: "quiz", Model: "earlier", TestedK: 64, TaskIDs: ids, PassCounts: []int{2, 40, 60, 20}}
	o := live{
		shipped: filepath.Join(dir, "p.csv"), out: dir, benchmark: "quiz", model: "m", donor: "earlier",
		arms: armsOf(t, "uniform,hbn,hbn-killed,informed"), counts: map[int]int{8: 3}, draws: 20,
	}
	if err := lab.WriteProfiles(o.shipped, []profile.Profile{own, donor}); err != nil {
		t.Fatal(err)
	}
	truth, err := o.readTruth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hbn, informed := truth.predictions[predicted{async, 8}], truth.predictions[predicted{"hbn_informed", 8}]
	if hbn == informed || hbn.Ratio == 0 || informed.SE == 0 || len(truth.predictions) != 3 {
		t.Errorf("predictions %v", truth.predictions)
	}
	other := o
	other.donor = "n"
	if _, err := other.readTruth(t.Context()); err == nil || !strings.Contains(err.Error(), "has no profile of quiz and n") {
		t.Errorf("of another donor: %v", err)
	}
	made := filepath.Join(dir, "score", "profiles.parquet")
	if err := errors.Join(os.Mkdir(filepath.Dir(made), 0o777), os.WriteFile(made, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if path := o.truthFile(); path != made {
		t.Errorf("the truth is in %s, want %s", path, made)
	}
	o.profiles = "else.csv"
	if path := o.truthFile(); path != o.profiles {
		t.Errorf("the truth is in %s, want %s", path, o.profiles)
	}
}

func TestRunsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.csv")
	if err := writeRuns(path, []made{run8(t, "hbn", 0, 0.5, 9, 1), run8(t, "uniform", 3, 0.25, 10, 1)}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) != 3 || lines[0] != strings.Join(header, ",") || !strings.HasPrefix(lines[2], "8,uniform,3,uniform,0,measured,0,0,0.25,0.025,") {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestPredictionsOfThePage holds the page of the small model to the shipped profiles, within its digits and 5 standard errors.
func TestPredictionsOfThePage(t *testing.T) {
	o := live{
		shipped: "../../data/smallmodel/profiles.csv", profiles: "../../data/smallmodel/profiles.csv", benchmark: "primer", model: "small", donor: "small_early",
		arms: liveArms, counts: map[int]int{8: 40, 16: 40}, draws: 300,
	}
	truth, err := o.readTruth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../data/smallmodel/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, budget := range liveBudgets {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$`, budget)).FindSubmatch(page)
		if row == nil {
			t.Fatalf("the page has no row of %d rollouts per task", budget)
		}
		for i, a := range armsOf(t, "hbn,staged,informed,informed-staged") {
			printed, err := strconv.ParseFloat(string(row[i+1]), 64)
			if p := truth.predictions[predicted{a.replayed(), budget}]; err != nil || math.Abs(printed-p.Ratio) > 0.0005+5*p.SE {
				t.Errorf("%s at %d: %v, the page has %s", a.name, budget, p, row[i+1])
			}
		}
	}
}

// answeredLive is a result of two tasks at 2 rollouts each.
const answeredLive = `{"policy": "hbn_informed_staged", "budget": 2, "n_tasks": 2, "provenance": "measured", "design": {"pilots": 1, "weight": 0.5},
"estimate": 0.5, "rollouts": 4, "seconds": 3, "sessions": 1, "tasks": [
{"task_id": "a", "pilots": 1, "pilot_passes": 1, "continuations": 1, "continuation_passes": 1, "estimate": 1, "shrinkage": 0.5, "stages": [{"rollouts": 1, "rewards": 1, "weight": 0.5}, {"rollouts": 1, "rewards": 1, "weight": 0.5}]},
{"task_id": "b", "pilots": 1, "pilot_passes": 0, "continuations": 1, "continuation_passes": 0, "estimate": 0, "shrinkage": 0.5, "stages": [{"rollouts": 1, "rewards": 0, "weight": 0.5}, {"rollouts": 1, "rewards": 0, "weight": 0.5}]}]}`

// TestEvaluationsAreKilledOnce lets a shell script be the program, which is at work
// until it is killed if the evaluation is new, and otherwise completes it.
func TestEvaluationsAreKilledOnce(t *testing.T) {
	killed := turn{armsOf(t, "informed-staged-killed")[0], 0, order{policy: "hbn_informed_staged", budget: 2, seed: 5}}
	quiet := killed
	quiet.arm = armsOf(t, "informed-staged")[0]
	for _, test := range []struct {
		what   string
		turn   turn
		begun  bool
		starts int
	}{{"new", killed, false, 2}, {"begun", killed, true, 1}, {"of an arm without kills", quiet, true, 1}} {
		dir := t.TempDir()
		p := &program{binary: filepath.Join(dir, "program"), out: filepath.Join(dir, "out"), logs: dir, id: "quiz", model: "m"}
		folder, starts := p.folder(test.turn.order), filepath.Join(dir, "starts")
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if test.begun {
			if err := os.WriteFile(filepath.Join(folder, "evaluation.json"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		script := "#!/bin/sh\necho \"$@\" >> " + starts + "\ncd '" + folder + "'\nif [ -e evaluation.json ]; then cat <<E\n" + answeredLive + "\nE\nexit; fi\ntouch evaluation.json\necho x > requests.journal\nexec sleep 60\n"
		if err := os.WriteFile(p.binary, []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		o := &live{Lab: &lab.Lab{Stdout: io.Discard}, workers: []string{"http://a"}, shipped: "p.csv", donor: "m", pace: 0.01}
		all, err := o.make(t.Context(), p, []turn{test.turn})
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		if len(all) != 1 || all[0].Estimate != 0.5 || o.pace != 1.5 {
			t.Errorf("%s: %+v at a pace of %v", test.what, all, o.pace)
		}
		text, err := os.ReadFile(starts)
		if lines := strings.Count(string(text), "--worker http://a --prior p.csv#m\n"); err != nil || lines != test.starts {
			t.Errorf("%s: %d starts, want %d: %s", test.what, lines, test.starts, text)
		}
	}
}
