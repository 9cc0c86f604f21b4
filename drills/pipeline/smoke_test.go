package pipeline

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/drills/lab"
	"speceval/internal/fleet"
	"speceval/internal/profile"
)

// TestProfilesAreComparedWithTheFleet has a profile as the fleet would make it, and one
// of half as many passes.
func TestProfilesAreComparedWithTheFleet(t *testing.T) {
	for want, factor := range map[string]float64{"1 of 1 benchmarks are scored, 1 of them otherwise": 0.5, "": 1} {
		var out strings.Builder
		b, err := newBenchmarks(&lab.Lab{Dir: t.TempDir(), Stdout: &out}, 100)
		if err != nil {
			t.Fatal(err)
		}
		b.groups = b.groups[:1]
		obtained := profile.Profile{Benchmark: "aime24", Model: modelID, TestedK: 100}
		for _, p := range b.published {
			if p.Benchmark == obtained.Benchmark && p.Model == modelID {
				obtained.TaskIDs = p.TaskIDs
				for i := range p.TaskIDs {
					obtained.PassCounts = append(obtained.PassCounts, int(math.Round(100*p.P(i)*factor)))
				}
			}
		}
		err = b.compare([]profile.Profile{obtained})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q\n%s", err, want, out.String())
		}
	}
}

func TestWithoutTheProgramBenchmarksFail(t *testing.T) {
	var out, errs strings.Builder
	if code := Benchmarks.Main([]string{"-no-such-flag"}, noEnvironment, &out, &errs); code != 2 {
		t.Errorf("exit code %d", code)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if code := Benchmarks.Main([]string{"-tests", "0", "-speceval", "/no/such/program"}, noEnvironment, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "drill-benchmarks: failed\n") {
		t.Errorf("without the program: exit code %d\n%s", code, out.String())
	}
}

func noEnvironment(string) string { return "" }

func TestWithoutTheProgramSmokeFails(t *testing.T) {
	var out, errs strings.Builder
	args := []string{"-speceval", "/nowhere", "-config", "../../experiments-small.toml", "-dir", filepath.Join(t.TempDir(), "lab")}
	if code := Smoke.Main(args, noEnvironment, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "\nsmoke: failed\n") {
		t.Errorf("exit code %d, %s", code, out.String())
	}
}

func TestServersGetFreePortsAndNothingElseChanges(t *testing.T) {
	to := filepath.Join(t.TempDir(), "experiments.toml")
	urls, err := freePorts("../../experiments-small.toml", to)
	if err != nil {
		t.Fatal(err)
	}
	before, errBefore := os.ReadFile("../../experiments-small.toml")
	after, errAfter := os.ReadFile(to)
	if errBefore != nil || errAfter != nil {
		t.Fatal(errBefore, errAfter)
	}
	if taken := slices.Compact(slices.Sorted(slices.Values(urls))); len(urls) != 9 || len(taken) != 9 || slices.Contains(urls, "http://127.0.0.1:8200") {
		t.Errorf("addresses %v", urls)
	}
	blank := func(text []byte) string { return address.ReplaceAllString(string(text), "") }
	if blank(before) != blank(after) {
		t.Errorf("the configuration has become %s", after)
	}
}

func TestTheTruthIsWhatTheFleetAnswersBy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.parquet")
	obtained := []profile.Profile{{Benchmark: "b", Model: "m", TaskIDs: []string{"x", "y", "z"}, PassCounts: []int{1, 2, 3}, TestedK: 4}}
	if err := writeTruth(path, obtained); err != nil {
		t.Fatal(err)
	}
	truth, err := profile.Read(path)
	if err != nil || len(truth) != 1 {
		t.Fatalf("%d profiles, %v", len(truth), err)
	}
	for i, id := range truth[0].TaskIDs {
		want := fleet.DefaultPass("m", fleet.TaskKey{Benchmark: "b", ID: id})
		if got := truth[0].P(i); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s passes with %v, want %v", id, got, want)
		}
	}
}
