package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/profile"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report/files"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
	"speceval/stages/report/tables/measured"
	"speceval/stages/report/verify"
)

// TestALiveReport makes the whole report of a made-up live experiment.
func TestALiveReport(t *testing.T) {
	s := liveStudy()
	dir := t.TempDir()
	dagtest.Run(t, s.stages(t), dir)
	set := s.settings(t)
	for _, of := range measured.All {
		if of.Has != nil && !of.Has(&set) {
			t.Errorf("no table %s", of.Base)
		}
		for _, path := range files.Paths(of.Base) {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(path) == ".tex" { // without its origin
				_, text, _ = bytes.Cut(text, []byte("\n"))
			}
			golden.Check(t, filepath.Join("live", filepath.Base(path)), text)
		}
	}
	v, err := verify.Folder(set, dir)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := v.Text(&text); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("live", "verify.txt"), text.Bytes())
	if v.Passed() || v.Published || v.Agreeing() != v.Judged()-1 {
		t.Errorf("%s", v.Summary())
	}
	tex, err := os.ReadFile(filepath.Join(dir, "report.tex"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`\section{Prediction against measurement}`, "what was predicted", "hbn-async, measured", "measured numbers that are held against a prediction", `\section{Every measurement beside its prediction}`} {
		if !bytes.Contains(tex, []byte(want)) {
			t.Errorf("report.tex does not have %q", want)
		}
	}
	if bytes.Contains(tex, []byte("without verdicts")) {
		t.Error("report.tex says that it has no verdicts")
	}
}

// TestOtherExperimentsHaveNoLiveTables: what is not measured has no table, and no
// verdict of one that was stored before.
func TestOtherExperimentsHaveNoLiveTables(t *testing.T) {
	s := paperStudy(t)
	set := s.settings(t)
	for _, of := range measured.All {
		for _, has := range tables.Of(&set) {
			if has == of {
				t.Errorf("%s, though nothing is measured", of.Base)
			}
		}
	}
	if compared := tables.Compared(&set); compared != nil {
		t.Errorf("%v are compared", compared)
	}
}

func TestSecondGenerations(t *testing.T) {
	s := liveStudy()
	p := s.live.Second.Profiles[0]
	names := map[string]bool{p.Name(): true}
	path := filepath.Join(t.TempDir(), "profiles.parquet")
	none, err := stored.ReadSecond(path, names)
	if err != nil || len(none.Profiles) != 0 {
		t.Fatalf("a file that is not there: %+v, %v", none, err)
	}
	s.live.Second = none
	sheet := s.sheet(t, measured.Profile)
	if notes := sheet.Print().Notes; sheet.Rows != 0 || len(notes) != 1 || !strings.Contains(notes[0], path+" does not exist") {
		t.Errorf("the table of none: %d rows, %q", sheet.Rows, notes)
	}
	store := func(p profile.Profile) {
		var b bytes.Buffer
		if err := profile.Write(&b, []profile.Profile{p}, nil); err != nil {
			t.Fatal(err)
		}
		put(t, path, b.Bytes())
	}
	store(p)
	there, err := stored.ReadSecond(path, names)
	if err != nil || len(there.Profiles) != 1 || there.Source == none.Source {
		t.Errorf("a file that is there: %+v, %v", there, err)
	}
	p.Model = "large"
	store(p)
	if _, err := stored.ReadSecond(path, names); err == nil || !strings.Contains(err.Error(), "primer__model=large") || !strings.Contains(err.Error(), path) {
		t.Errorf("another model: error %v", err)
	}
	put(t, path, []byte("no profiles"))
	if _, err := stored.ReadSecond(path, names); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no profiles: error %v", err)
	}
}
