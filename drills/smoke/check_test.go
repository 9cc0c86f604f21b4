package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/fleet"
	"speceval/internal/profile"
)

func TestWithoutTheProgramItFails(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"-speceval", "/nowhere", "-config", "../../experiments-small.toml", "-dir", filepath.Join(t.TempDir(), "lab")}
	if code := run(args, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "\nsmoke: failed\n") {
		t.Errorf("exit code %d, %s", code, out.String())
	}
}

func TestServersGetFreePortsAndNothingElseChanges(t *testing.T) {
	dir := t.TempDir()
	l, err := newLab(options{config: "../../experiments-small.toml"}, dir, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("../../experiments-small.toml")
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(l.config)
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]bool{}
	for _, url := range l.urls {
		taken[url] = true
	}
	if len(l.urls) != 9 || len(taken) != 9 || taken["http://127.0.0.1:8200"] {
		t.Errorf("addresses %v", l.urls)
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
