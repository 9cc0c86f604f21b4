package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/comparison"
	"speceval/internal/golden"
	"speceval/internal/profile"
)

// profilesCSV writes a file of profiles, each "benchmark model tested_k passes…".
func profilesCSV(t *testing.T, lines ...string) string {
	t.Helper()
	text := "benchmark,model,task_index,task_id,pass_count,tested_k\n"
	for _, line := range lines {
		f := strings.Fields(line)
		for i, passes := range f[3:] {
			text += fmt.Sprintf("%s,%s,%d,t%d,%s,%s\n", f[0], f[1], i, i, passes, f[2])
		}
	}
	path := filepath.Join(t.TempDir(), "profiles.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCompareTellsWhatDiffers(t *testing.T) {
	mine := profilesCSV(t,
		"quiz small 64 3 30 64 0", "quiz large 64 0 30 64 60",
		"exam small 64 40 50 31 44 20 60 38 40 41 39", "exam large 4 1 2", "mine small 8 1 2")
	other := profilesCSV(t,
		"quiz small 1024 51 470 1019 9", "quiz large 1024 600 470 1019 1000",
		"exam small 1024 460 610 300 520 150 790 460 450 460 490", "exam large 1024 300 500 700")
	for _, all := range []bool{false, true} {
		args := []string{"compare", mine, other}
		name := "compare.txt"
		if all {
			args, name = append(args, "--all"), "compare-all.txt"
		}
		code, stdout, stderr := onShell(args...)
		if code != exitOutside {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		want(t, "stderr", stderr, "outside tolerance: 2 of 4 profiles differ")
		stdout = strings.NewReplacer(mine, "MINE", other, "OTHER").Replace(stdout)
		golden.Check(t, name, []byte(stdout))
	}
}

// The more is compared, the more it takes to differ: 9 of 10 against 1 of 10 has
// p = 0.0011, which is held against 0.01/2 over the number of tasks, here 2, and
// of profiles.
func TestCompareSharesItsFalseAlarms(t *testing.T) {
	mine, other := []string{"quiz a 10 9 5"}, []string{"quiz a 10 1 5"}
	for _, wantCode := range []int{exitOutside, exitOutside, exitDone} {
		if code, stdout, _ := onShell("compare", profilesCSV(t, mine...), profilesCSV(t, other...)); code != wantCode {
			t.Errorf("%d profiles: exit code %d, want %d\n%s", len(mine), code, wantCode, stdout)
		}
		same := fmt.Sprintf("quiz b%d 10 5 5", len(mine))
		mine, other = append(mine, same), append(other, same)
	}
}

func TestCompareWithThePublishedProfiles(t *testing.T) {
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	put := func(profiles []profile.Profile) {
		t.Helper()
		var b bytes.Buffer
		if err := profile.Write(&b, profiles, nil); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(out, filepath.FromSlash(profilesFile))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(published[:2])
	code, stdout, stderr := onShell("compare", "--out", out)
	if code != exitDone || stderr != "" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	want(t, "the comparison", stdout, "data/profiles.parquet (2)", "Only in data/profiles.parquet: 106 profiles: ", "2 profiles agree. ")

	wrong := slices.Clone(published[:2])
	wrong[1].PassCounts = slices.Clone(wrong[1].PassCounts)
	wrong[1].PassCounts[3] ^= 0x200
	put(wrong)
	code, stdout, stderr = onShell("compare", "--json", "--out", out)
	var c comparison.Document
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != exitOutside {
		t.Fatalf("exit code %d, %v\n%s", code, err, stderr)
	}
	if c.Agree || len(c.Profiles) != 2 || !c.Profiles[0].Agree || c.Profiles[1].Agree || c.Profiles[1].Differing != 1 ||
		len(c.Profiles[0].Tasks) != 1 || len(c.Profiles[1].Tasks) != 5 || c.Profiles[1].Tasks[0].TaskID != wrong[1].TaskIDs[3] || len(c.Only[1]) != 106 {
		t.Errorf("got %s", stdout)
	}
	_, stdout, _ = onShell("compare", "--json", "--all", "--out", out)
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || len(c.Profiles[0].Tasks) != published[0].N() {
		t.Errorf("%d tasks with --all, %v", len(c.Profiles[0].Tasks), err)
	}
	if strings.Contains(stdout, "null") {
		t.Error("the JSON has a null")
	}
}

func TestCompareRefusesBadInput(t *testing.T) {
	good := profilesCSV(t, "quiz m 8 1 2")
	broken := filepath.Join(t.TempDir(), "broken.csv")
	if err := os.WriteFile(broken, []byte("benchmark,model\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{good}, "no benchmark and model is in both files:\n" + good + " has 1 profile: quiz__model=m\ndata/profiles.parquet has 108 profiles: aime24__model="},
		{[]string{good, broken}, broken + ": column"},
		{[]string{broken}, broken + ": column"},
		{[]string{good + ".absent"}, "no such file"},
		{[]string{"--out", t.TempDir()}, "score/profiles.parquet is not there: run `speceval run score` first, or name a file"},
		{[]string{"--config", "absent.toml"}, "absent.toml"},
		{[]string{good, good, good}, "want at most two files after the command"},
	} {
		code, stdout, stderr := onShell(append([]string{"compare"}, test.args...)...)
		if code != exitUsage || stdout != "" {
			t.Errorf("%v: exit code %d\n%s", test.args, code, stdout)
		}
		want(t, "stderr", stderr, test.want)
	}
}
