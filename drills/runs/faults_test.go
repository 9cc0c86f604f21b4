package runs

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/drills/lab"
)

func TestFlags(t *testing.T) {
	getenv := func(string) string { return "" }
	for _, drill := range []lab.Drill{Faults, Slurm, Generate} {
		var out, errs strings.Builder
		if code := drill.Main([]string{"-no-such-flag"}, getenv, &out, &errs); code != 2 {
			t.Errorf("%s with an unknown flag: exit code %d", drill.Name, code)
		}
		args := []string{"-speceval", "/nowhere", "-dir", filepath.Join(short(t), "lab")}
		if code := drill.Main(args, getenv, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "\n"+drill.Name+": failed\n") {
			t.Errorf("%s without a program: exit code %d, %s", drill.Name, code, out.String())
		}
	}
	var errs strings.Builder
	if code := Slurm.Main([]string{"-part", "nothing"}, getenv, &errs, &errs); code != 2 || !strings.Contains(errs.String(), "table1, faults, gpus, search") {
		t.Errorf("an unknown part: exit code %d: %s", code, errs.String())
	}
}

func TestEveryDamageChangesTheContent(t *testing.T) {
	moments := lab.NewMoments(1, "test")
	manifest := []byte("{\n  \"format\": 1,\n  \"key\": \"k\",\n  \"parts\": {\"unit\": \"u\", \"seed\": \"\"}\n}\n")
	for _, d := range slices.Concat(ofOutputs, ofManifests) {
		for range 50 {
			if got := d.do(bytes.Clone(manifest), []byte("other"), moments); bytes.Equal(got, manifest) {
				t.Errorf("%s leaves it as it was", d.name)
			}
		}
	}
}

func TestEditsAreTakenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("one two"), 0o666); err != nil {
		t.Fatal(err)
	}
	want := func(content string) {
		t.Helper()
		if text, err := os.ReadFile(path); err != nil || string(text) != content {
			t.Errorf("%q, %v; want %q", text, err, content)
		}
	}
	restore, err := editAll([]edit{{path, "one", "1"}, {path, "two", "2"}})
	if err != nil {
		t.Fatal(err)
	}
	want("1 2")
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	want("one two")
	if _, err := editAll([]edit{{path, "three", "3"}}); err == nil {
		t.Error("an edit that changes nothing is none")
	}
}

func TestAJournalIsInjuredInTwoPlaces(t *testing.T) {
	dir := t.TempDir()
	path, foreign := filepath.Join(dir, "a", "x.journal"), filepath.Join(dir, "b", "x.journal")
	content := strings.Repeat("0123456789abcdef\n", 4)
	if err := os.Mkdir(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	if found, err := findJournal(dir, 5); found != "" || err != nil {
		t.Errorf("found %q, %v", found, err)
	}
	if found, err := findJournal(dir, 4); found != path || err != nil {
		t.Errorf("found %q, %v", found, err)
	}
	if err := injureJournal(path, foreign, lab.NewMoments(1, "test")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	lines := strings.SplitAfter(content, "\n")
	if err != nil || !strings.HasPrefix(string(text), lines[0]) || strings.HasPrefix(string(text), lines[0]+lines[1]) || strings.HasSuffix(string(text), "\n") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := os.ReadFile(foreign); err != nil || string(text) != strings.Join(lines[1:], "") {
		t.Errorf("under another key %q, %v", text, err)
	}
}

func TestSkippedIsFailureWhereNothingMayBe(t *testing.T) {
	none := func(*site, context.Context, *trial) error { return skipped("no root") }
	differs := func(_ *site, _ context.Context, t *trial) error { t.differing = 3; return nil }
	twice := func(_ *site, _ context.Context, t *trial) error { t.together = 1; return nil }
	for _, test := range []struct {
		strict bool
		make   func(*site, context.Context, *trial) error
		want   string
	}{
		{false, none, ""},
		{true, none, "x: no root"},
		{false, differs, "x: 3 bytes differ"},
		{false, twice, "x: 0 units submitted while their job lived, 1 in two elements at once"},
	} {
		var out bytes.Buffer
		s := &site{Lab: &lab.Lab{Strict: test.strict, Stdout: &out}}
		got := ""
		if err := s.each(t.Context(), []fault{{name: "x", make: test.make}}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("error %q, want %q", got, test.want)
		}
		if !strings.Contains(out.String(), "| x | 0 |") {
			t.Errorf("table %s", out.String())
		}
	}
}
