package evaluations

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/neyman"
)

// spread is a profile of 40 tasks, of which most pass nearly always or never, and a
// donor whose logits are shifted by noise.
func spread(model string, noise float64) profile.Profile {
	p := profile.Profile{Benchmark: "quiz", Model: model, TestedK: 1024}
	for i := range 40 {
		logit := 5*math.Sin(float64(7*i)) - 1 + noise*math.Cos(float64(11*i))
		p.TaskIDs = append(p.TaskIDs, fmt.Sprint(i))
		p.PassCounts = append(p.PassCounts, int(math.Round(1024/(1+math.Exp(-logit)))))
	}
	return p
}

// quick are designs of low precision.
func quick(t *testing.T, donors ...profile.Profile) designs {
	return designs{
		profile: spread("m", 0), donors: donors, draws: 1000, seed: 42, reference: reference(t),
		precision: design.StagesSettings{Panels: 32, Replicates: 2},
	}
}

// TestPredictionIsTheReplays holds HBN's prediction to the replay's own engine under the
// same design, within 5 standard errors of both.
func TestPredictionIsTheReplays(t *testing.T) {
	r := quick(t)
	for _, budget := range []int{8, 16} {
		setup, err := r.setup(t.Context(), async, budget)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.predict(t.Context(), async, budget)
		if err != nil {
			t.Fatal(err)
		}
		want, se := swept(t, r.profile, budget, setup.Design)
		if z := (got.Ratio - want) / math.Hypot(got.SE, se); math.Abs(z) > 5 || got.SE > 0.01 || got.SE == 0 {
			t.Errorf("b = %d, m = %d: %v ± %v, by the replay's engine %v ± %v", budget, setup.Design.Pilots, got.Ratio, got.SE, want, se)
		}
	}
}

// swept replays HBN in two stages by the engine of the replay stage.
func swept(t *testing.T, p profile.Profile, budget int, of evaluation.Design) (mean, se float64) {
	t.Helper()
	prior := reference(t)
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	const draws = 2000
	sum, squares := 0.0, 0.0
	bench := policy.Bench{Prior: prior}
	err := pilot.EachSweep(t.Context(), ps, draws, of.Pilots, pilot.OneStream(seed.Root(3).Stream()), func(sw *pilot.Sweep, _ int) error {
		for sw.M() < of.Pilots {
			sw.Advance()
		}
		c := policy.HBN.TwoStage.Continuation(&bench, policy.Setting{Tasks: p.N(), Budget: budget, M: of.Pilots})
		for draw := range sw.Draws() {
			ratio := neyman.Risk(budget, of.Pilots, of.Weight, c.Value(sw, draw, budget)/sw.Total())
			sum, squares = sum+ratio, squares+ratio*ratio
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mean = sum / draws
	return mean, math.Sqrt((squares/draws - mean*mean) / draws)
}

// TestDonorsAndStagesHelp wants what they are for: a donor that is near lowers the
// variance, and so do more stages.
func TestDonorsAndStagesHelp(t *testing.T) {
	r := quick(t, spread("earlier", 0.5))
	ratio := map[string]prediction{}
	for _, name := range []string{"uniform", "hbn", "hbn_staged", "hbn_informed", "hbn_informed_staged"} {
		p, err := r.predict(t.Context(), name, 16)
		if err != nil {
			t.Fatal(err)
		}
		ratio[name] = p
	}
	if u := ratio["uniform"]; u != (prediction{Ratio: 1, Spent: 16}) {
		t.Errorf("Uniform: %+v", u)
	}
	for _, less := range [][2]string{{"hbn", "uniform"}, {"hbn_staged", "hbn"}, {"hbn_informed", "hbn"}, {"hbn_informed_staged", "hbn_staged"}} {
		a, b := ratio[less[0]], ratio[less[1]]
		if a.Ratio+3*math.Hypot(a.SE, b.SE) > b.Ratio {
			t.Errorf("%s has %v ± %v, %s %v ± %v", less[0], a.Ratio, a.SE, less[1], b.Ratio, b.SE)
		}
	}
}

func TestPredictionsThatCannotBe(t *testing.T) {
	other := spread("n", 1)
	other.Benchmark = "another"
	for name, r := range map[string]designs{"en": quick(t), "hbn_loo": quick(t), "hbn_informed": quick(t), "hbn_informed_staged": quick(t, other)} {
		if p, err := r.predict(t.Context(), name, 8); err == nil {
			t.Errorf("%s is predicted: %+v", name, p)
		}
	}
	if p, err := quick(t).predict(t.Context(), "hbn", 1); err == nil {
		t.Errorf("a budget of 1 is predicted: %+v", p)
	}
}

// TestProgram lets a shell script be the program.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	for script, want := range map[string]string{
		"echo 'a warning' >&2\ncat <<E\n" + printed + "\nE\n": "",
		"echo no good\nexit 1\n":                              "hbn-async-b4-seed7: exit code 1:\nno good",
		"echo '{}'\n":                                         "what it printed is no result",
		"cat <<E\n" + strings.Replace(printed, `"rollouts": 8`, `"rollouts": 7`, 1) + "\nE\n": "7 in all, want 8",
	} {
		binary := filepath.Join(dir, "program")
		arguments := filepath.Join(dir, "arguments")
		if err := os.WriteFile(binary, []byte("#!/bin/sh\necho \"$@\" > "+arguments+"\n"+script), 0o777); err != nil {
			t.Fatal(err)
		}
		p := &program{binary: binary, config: "e.toml", out: "out", logs: dir, benchmark: "quiz.jsonl", id: "quiz", model: "m"}
		o := order{policy: async, budget: 4, seed: 7, workers: []string{"http://a", "http://b"}}
		r, err := p.run(t.Context(), o)
		if want == "" && (err != nil || r.Estimate != 0.625) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", script, err, want)
		}
		text, err := os.ReadFile(arguments)
		if want := "evaluate --benchmark quiz.jsonl --model m --budget 4 --policy hbn-async --seed 7 --config e.toml --out out -q --json --worker http://a --worker http://b\n"; err != nil || string(text) != want {
			t.Errorf("called with %s (%v), want %s", text, err, want)
		}
		if want := "out/evaluate/benchmark=quiz/model=m/hbn-async-b4-seed7"; p.folder(o) != want {
			t.Errorf("folder %s, want %s", p.folder(o), want)
		}
	}
}

// TestStrike lets a shell script be the program: one that is killed at work, one that
// is too fast, and one that fails.
func TestStrike(t *testing.T) {
	for _, test := range []struct {
		script string
		after  float64
		hit    bool
		fault  string
	}{
		{"mkdir -p $FOLDER; echo x > $FOLDER/requests.journal; sleep 60 >&-", 0.01, true, ""},
		{"mkdir -p $FOLDER; echo x > $FOLDER/requests.journal", 60, false, ""},
		{"true", 60, false, ""},
		{"echo no good; exit 1", 60, false, "no good"},
		{"mkdir -p $FOLDER; echo x > $FOLDER/requests.journal; sleep 0.1; echo bad; exit 1", 60, false, "bad"},
	} {
		dir := t.TempDir()
		p := &program{binary: filepath.Join(dir, "program"), out: filepath.Join(dir, "out"), logs: dir, id: "quiz", model: "m"}
		o := order{policy: async, budget: 4, seed: 7}
		if err := os.WriteFile(p.binary, []byte("#!/bin/sh\nFOLDER='"+p.folder(o)+"'\n"+test.script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		hit, err := p.strike(t.Context(), o, test.after)
		if hit != test.hit || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%q: %v, %v", test.script, hit, err)
		}
	}
}

// TestPausesAreGoneOnFrom: as often in a row as they may be, and of exit code 1 alone.
func TestPausesAreGoneOnFrom(t *testing.T) {
	result := `{"rollouts": 0}`
	for _, test := range []struct {
		script string
		pauses int
		runs   int
	}{
		{"exit 1", 0, 1},
		{"exit 1", 2, 3},
		{"exit 2", 2, 1},
		{"[ $(wc -l < $RUNS) = 2 ] || exit 1; echo '" + result + "'", 4, 2},
	} {
		dir := t.TempDir()
		runs := filepath.Join(dir, "runs")
		p := &program{binary: filepath.Join(dir, "program"), out: filepath.Join(dir, "out"), logs: dir, id: "quiz", model: "m", pauses: test.pauses}
		o := order{policy: async, budget: 4, seed: 7}
		if err := os.WriteFile(p.binary, []byte("#!/bin/sh\nRUNS='"+runs+"'\necho x >> $RUNS\n"+test.script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := p.run(t.Context(), o); err == nil {
			t.Errorf("%q made a result", test.script) // it has no rollouts
		}
		text, err := os.ReadFile(runs)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "x"); got != test.runs {
			t.Errorf("%q with %d pauses ran %d times, want %d", test.script, test.pauses, got, test.runs)
		}
		if hit, err := p.strike(t.Context(), o, 60); test.script == "exit 1" && (hit || (err == nil) != (test.pauses > 0)) {
			t.Errorf("%q with %d pauses, struck: %v, %v", test.script, test.pauses, hit, err)
		}
	}
}
