package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/fleet"
	"speceval/internal/profile"
)

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
