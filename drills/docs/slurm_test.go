package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/pipeline/config"
)

func TestTheExperimentOnSlurmIsTheSmallOne(t *testing.T) {
	var texts [2]string
	for i, name := range []string{"experiments-slurm.toml", "experiments.toml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	made, err := changed(texts[1], small)
	if err != nil {
		t.Fatal(err)
	}
	text, err := inJobs(texts[0], made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Parse([]byte(text), "made", nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := got.Executor; e.Kind != config.ExecutorSlurm || e.PollSeconds != 0.5 || e.SettleSeconds != 2 || e.ElementMinutes != 1 {
		t.Errorf("its executor is %+v", e)
	}
	if got.Experiment.Out != "out-slurm" || got.Replay.Draws != 64 || len(got.Models) != 2 {
		t.Errorf("out %q, %d draws, %d models", got.Experiment.Out, got.Replay.Draws, len(got.Models))
	}
	if _, err := inJobs("[executor]\n", made); err == nil {
		t.Error("an experiment that is on no Slurm is taken")
	}
}

func TestUnitsOfPagesAreThere(t *testing.T) {
	dir := t.TempDir()
	const shown = "bin/speceval unit replay 2f39e31d75e99329"
	if _, err := withKey(dir, shown); err == nil {
		t.Error("a unit is found where there is none")
	}
	folder := filepath.Join(dir, "out", "manifests", "replay", "profile")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.json"), []byte(`{"key":"abc123"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		shown:                                "bin/speceval unit replay abc123",
		"bin/speceval unit --element x":      "bin/speceval unit --element x",
		"bin/speceval why replay":            "bin/speceval why replay",
		"bin/speceval unit score 0123456789": "",
	} {
		got, err := withKey(dir, text)
		if (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q becomes %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestWithoutSlurmItsFilesNeedNotBeThere leaves out what only jobs leave, and
// nothing else.
func TestWithoutSlurmItsFilesNeedNotBeThere(t *testing.T) {
	said := parseOutputs(`| file | what |
|---|---|
| ` + "`other.txt`, `slurm/*/job.sh`" + ` | x |

### ` + "`run.jsonl`, `slurm/*/element-*.jsonl`" + `

| column | what |
|---|---|
| ` + "`time`, `ran_on`" + ` | x |

### ` + "`slurm/*/batch.json`" + `

| column | what |
|---|---|
| ` + "`name`" + ` | x |
`)
	made := map[string][]string{"other.txt": nil, "run.jsonl": {"time"}}
	if n := len(compareOutputs(said, made, (&lab{}).unmadeHere(said))); n != 5 {
		t.Errorf("%d faults where Slurm is, want those of three files and two columns", n)
	}
	without := &lab{noSlurm: errors.New("sbatch is missing")}
	if faults := compareOutputs(said, made, without.unmadeHere(said)); len(faults) != 0 {
		t.Error(faults)
	}
	for name := range made {
		left := map[string][]string{name: made[name]}
		if len(compareOutputs(said, left, without.unmadeHere(said))) == 0 {
			t.Errorf("with nothing but %s there is no fault", name)
		}
	}
}

func TestThePageOnSlurmIsNeverLeftOutUnderCI(t *testing.T) {
	p := parsed(t, "```sh\nmake nothing\n```\n")
	known := &facts{root: filepath.Join("..", ".."), targets: []string{"build"}}
	var said strings.Builder
	l := &lab{noSlurm: errors.New("sbatch is missing"), stdout: &said}
	if faults := l.without(known, p); len(faults) != 1 || !strings.Contains(faults[0].Error(), "no such target") {
		t.Errorf("faults %v, want that of the command", faults)
	}
	if !strings.Contains(said.String(), "not run: sbatch is missing") {
		t.Errorf("it says %q", said.String())
	}
	l.required = true
	if faults := l.without(known, parsed(t, "")); len(faults) != 1 {
		t.Errorf("faults %v, want one", faults)
	}
}

func TestPatternsFitPaths(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"a/…", "a/b/c", true}, {"a/…", "a", false}, {"a/…", "ab/c", false},
		{"a/*/b-*/…", "a/x/b-1/c/d", true}, {"a/*/b-*/…", "a/x/b-1", false}, {"a/*/b-*/…", "a/x/c/d", false},
		{"a/*.json", "a/b.json", true}, {"a/*.json", "a/b/c.json", false},
	} {
		if fits(test.pattern, test.name) != test.want {
			t.Errorf("%s and %s: %v", test.pattern, test.name, !test.want)
		}
	}
}
