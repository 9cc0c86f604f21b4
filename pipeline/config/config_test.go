package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const shipped = "../../experiments.toml"

func TestTheDefaultIsThePapers(t *testing.T) {
	if r := Default().Replay; len(r.IBNAlphas) != 23 || r.IBNAlphas[12] != 0.13 || r.Draws != 8192 || r.Replicates != 8 {
		t.Errorf("replay is not the paper's: %+v", r)
	}
}

func TestOverrides(t *testing.T) {
	sets := []string{"replay.draws=1024", "experiment.budgets = [16, 8]", "experiment.out=a b", `corpus.profiles="mine.csv"`,
		"replay.ts_neyman.search=exhaustive", "judge.model=3", "sampling.temperature=1", "replay.draws=2048"}
	c := must(Load(shipped, sets))
	if c.Replay.Draws != 2048 || !reflect.DeepEqual(c.Experiment.Budgets, []int{8, 16}) || c.Experiment.Out != "a b" ||
		c.Corpus.Profiles != "mine.csv" || c.Replay.TSNeyman.Search != "exhaustive" || c.Judge.Model != "3" || c.Sampling.Temperature != 1 {
		t.Errorf("got %+v", c)
	}
	empty := must(Parse(nil, "empty.toml", []string{"replay.draws=16"}))
	same(t, "override of an empty file", empty.Replay.Draws, 16)
}

func TestBadOverridesSayWhereTheyCameFrom(t *testing.T) {
	for set, want := range map[string]string{
		"replay.draws":             `--set "replay.draws": must have the form key=value`,
		"=3":                       `--set "=3": must have the form`,
		"replay.draws=1":           "--set replay.draws = 1: must be an integer from 2 to",
		"experiment.budgets=[8.0]": "budgets = [8.0]: must be a list of different integers",
		"replay.draws=many":        `--set replay.draws = "many": must be an integer`,
		"replay.drws=9":            "--set replay.drws: unknown key, did you mean replay.draws?",
		"raplay.draws=9":           "--set raplay: unknown key, did you mean replay?",
		"experiment.draws=9":       "--set experiment.draws: unknown key, did you mean replay.draws?",
		"model.id=x":               "--set model.id=x: cannot be set on the command line, edit",
		"replay=3":                 "--set replay = 3: must be a table",
		"corpus.source=vlm":        "--set corpus.source = \"vlm\": must be one of",
		"replay.draws=4\nseed=3":   `--set replay.draws = "4\nseed=3": must be an integer`,
	} {
		_, err := Load(shipped, []string{set})
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("--set %s: error %q, want one with %q", set, fmt.Sprint(err), want)
		}
	}
}

func TestSliceIsCanonical(t *testing.T) {
	one := must(Parse([]byte("[experiment]\nbudgets = [64, 8]\n[replay]\nibn_alphas = [0.50, 1]\n"), "a", nil))
	other := must(Parse([]byte("[experiment]\nbudgets=[8,64]\n[replay]\nibn_alphas=[1.0, 5e-1]\n"), "b", nil))
	keys := []string{"experiment.budgets", "replay.ibn_alphas", "replay.draws", "corpus.source"}
	want := map[string]string{"experiment.budgets": "[8,64]", "replay.ibn_alphas": "[0.5,1]", "replay.draws": "8192", "corpus.source": `"published"`}
	if got := one.Slice(keys...); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(got, other.Slice(keys...)) {
		t.Errorf("got %v and %v, want %v", got, other.Slice(keys...), want)
	}
	same(t, "an unknown key", one.Slice("replay.drws")["replay.drws"], "")
}

// Each testdata/*.bad.toml begins with the errors that it gives, a comment
// line for each.
func TestBadFiles(t *testing.T) {
	paths := must(filepath.Glob("testdata/*.bad.toml"))
	if len(paths) < 10 {
		t.Errorf("%d bad files", len(paths))
	}
	for _, path := range paths {
		text := must(os.ReadFile(path))
		var want []string
		for line := range strings.Lines(string(text)) {
			if fault, ok := strings.CutPrefix(line, "#! "); ok {
				want = append(want, filepath.Base(path)+":"+strings.TrimSpace(fault))
			}
		}
		_, err := Parse(text, filepath.Base(path), nil)
		same(t, path, strings.Split(fmt.Sprint(err), "\n"), want)
	}
}

func FuzzParse(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.toml")
	for _, path := range append(paths, shipped) {
		text := must(os.ReadFile(path))
		f.Add(text, "replay.draws=7")
	}
	f.Add([]byte("a = \"\"\"\"quoted\"\"\"\"\n[b.'c d']\ne = [\n{f = 1}, # ]\n]\n"), "b = [{id = 1}]")
	f.Fuzz(func(t *testing.T, text []byte, set string) {
		c, err := Parse(text, "fuzz.toml", []string{set})
		if err == nil && (len(c.Experiment.Budgets) == 0 || c.Replay.Draws < 2) {
			t.Errorf("unsound configuration %+v", c)
		}
	})
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same fails where a value is not the wanted one.
func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}
