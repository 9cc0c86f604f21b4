package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/comparison"
	"speceval/internal/profile"
)

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
	dir := filesIn(t, map[string]string{
		"good.csv":   "benchmark,model,task_index,task_id,pass_count,tested_k\nquiz,m,0,a,1,8\nquiz,m,1,b,2,8\n",
		"broken.csv": "benchmark,model\n",
	})
	good, broken := filepath.Join(dir, "good.csv"), filepath.Join(dir, "broken.csv")
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
