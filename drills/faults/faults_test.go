package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	undisturbed "speceval/drills/lab"
)

func TestFlags(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-no-such-flag"}, false, &out, &errs); code != 2 {
		t.Errorf("an unknown flag: exit code %d", code)
	}
	args := []string{"-speceval", "/nowhere", "-small", "-dir", filepath.Join(t.TempDir(), "lab")}
	if code := run(args, false, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "\ndrill-faults: failed\n") {
		t.Errorf("without a program: exit code %d, %s", code, out.String())
	}
}

func TestEveryDamageChangesTheContent(t *testing.T) {
	moments := undisturbed.NewMoments(1, "test")
	content := bytes.Repeat([]byte("PAR1 and more\n"), 20)
	for _, d := range damages {
		for range 50 {
			if got := d.do(bytes.Clone(content), moments); bytes.Equal(got, content) {
				t.Errorf("%s leaves it as it was", d.name)
			}
		}
	}
	manifest := []byte("{\n  \"format\": 1,\n  \"key\": \"k\",\n  \"parts\": {\"unit\": \"u\", \"seed\": \"\"}\n}\n")
	for _, s := range spoiled {
		for range 50 {
			if got := s.do(bytes.Clone(manifest), []byte("other"), moments); bytes.Equal(got, manifest) {
				t.Errorf("a manifest that is %s is as it was", s.name)
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
	if err := injureJournal(path, foreign, undisturbed.NewMoments(1, "test")); err != nil {
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
	none := func(context.Context, *trial) error { return skipped("no root") }
	differs := func(_ context.Context, t *trial) error { t.differing = 3; return nil }
	for _, test := range []struct {
		strict bool
		make   func(context.Context, *trial) error
		want   string
	}{
		{false, none, ""},
		{true, none, "x: no root"},
		{false, differs, "x: 3 bytes differ"},
	} {
		var out bytes.Buffer
		l := &lab{options: options{strict: test.strict}, stdout: &out}
		err := l.each(t.Context(), []fault{{"x", test.make}})
		got := ""
		if err != nil {
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
