package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"speceval/internal/golden"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report"
	"speceval/stages/report/tables"
	"speceval/stages/report/tables/measured"
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
		for _, path := range report.TablePaths(of.Base) {
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
	v, err := report.VerifyFolder(set, dir)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := v.Text(&text); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("live", "verify.txt"), text.Bytes())
	if v.Passed() || v.Published || v.Cells.Agreeing() != v.Cells.Judged()-1 {
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
