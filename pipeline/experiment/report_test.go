package experiment

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/servers/launcher"
	"speceval/internal/servers/pool"
	"speceval/pipeline/config"
)

// TestWhoGetsWhichKey: a server gets the key that is named for it; what names none gets the
// common one where all workers are on one host, and none where they are not.
func TestWhoGetsWhichKey(t *testing.T) {
	environment := []string{"PATH=/bin", KeyVariable + "=old", KeyVariable + "=common", "KEY_A=a", "KEY_B=b", "EMPTY=", "LINES=a\nb"}
	worker := func(keyEnv string, urls ...string) config.Worker {
		return config.Worker{Name: "w", URLs: urls, KeyEnv: keyEnv}
	}
	for what, tt := range map[string]struct {
		workers []config.Worker
		keys    []string
		faults  string
	}{
		"one server":              {[]config.Worker{worker("", "http://a:1")}, []string{"common"}, ""},
		"servers of one host":     {[]config.Worker{worker("", "http://a:1", "https://A:2/v1"), worker("", "http://a:3")}, []string{"common", "common"}, ""},
		"this host by its names":  {[]config.Worker{worker("", "http://localhost:1", "http://[::1]:2"), {Name: "l", Launch: "vllm serve"}}, []string{"common", "common"}, ""},
		"servers of two hosts":    {[]config.Worker{worker("", "http://a:1"), worker("", "http://b:1")}, []string{"", ""}, ""},
		"two hosts in one worker": {[]config.Worker{worker("", "http://a:1", "http://b:1")}, []string{""}, ""},
		"one key of two":          {[]config.Worker{worker("KEY_A", "http://a:1"), worker("", "http://b:1")}, []string{"a", ""}, ""},
		"a key each":              {[]config.Worker{worker("KEY_A", "http://a:1"), worker("KEY_B", "http://b:1")}, []string{"a", "b"}, ""},
		"the common one by name":  {[]config.Worker{worker(KeyVariable, "http://a:1"), worker("", "http://b:1")}, []string{"common", ""}, ""},
		"one that is not set":     {[]config.Worker{worker("MISSING", "http://a:1")}, []string{""}, "names the environment variable MISSING, which is not set"},
		"one that is empty":       {[]config.Worker{worker("EMPTY", "http://a:1")}, []string{""}, "EMPTY, which is not set"},
		"one of two lines":        {[]config.Worker{worker("LINES", "http://a:1")}, []string{"a\nb"}, "LINES: the key has blanks"},
	} {
		cfg := config.Default()
		cfg.Workers = tt.workers
		s := servingSettings(cfg, Outside{Environment: environment})
		for i, w := range s.Workers {
			fault := fmt.Sprint(w.KeyFault)
			if string(w.Key) != tt.keys[i] || (w.KeyFault == nil) != (tt.faults == "") || !strings.Contains(fault, tt.faults) || w.KeyHint == "" {
				t.Errorf("%s: worker %d gets %q, %v", what, i, string(w.Key), w.KeyFault)
			}
		}
		if !slices.Contains(s.Environment, "PATH=/bin") || slices.ContainsFunc(s.Environment, func(v string) bool {
			return strings.HasPrefix(v, KeyVariable) || slices.ContainsFunc(tt.workers, func(w config.Worker) bool { return w.KeyEnv != "" && strings.HasPrefix(v, w.KeyEnv+"=") })
		}) {
			t.Errorf("%s: launched servers see %q", what, s.Environment)
		}
		if tt.faults != "" {
			_, err := pool.New(s).Acquire(t.Context(), pool.Model{ID: "m", Launch: launcher.Model{}})
			says(t, err, tt.faults)
		}
	}
}

// TestTheJudgeGetsItsOwnKey, and none where none is named for it.
func TestTheJudgeGetsItsOwnKey(t *testing.T) {
	environment := []string{KeyVariable + "=common", "KEY_J=j"}
	for name, want := range map[string]string{"": "", "KEY_J": "j", KeyVariable: "common"} {
		cfg := config.Default()
		cfg.Judge.URLs, cfg.Judge.KeyEnv = []string{"http://a:1"}, name
		if w := judgeSettings(cfg, Outside{Environment: environment}).Workers[0]; string(w.Key) != want || w.KeyFault != nil || !strings.Contains(w.KeyHint, "the judge") {
			t.Errorf("with key_env %q the judge gets %q, %v", name, string(w.Key), w.KeyFault)
		}
	}
}

// TestKeysAreNotShown: no format tells a key.
func TestKeysAreNotShown(t *testing.T) {
	cfg := config.Default()
	cfg.Workers = []config.Worker{{Name: "w", URLs: []string{"http://a:1"}}}
	s := servingSettings(cfg, Outside{Environment: []string{KeyVariable + "=hush"}})
	s.Report = nil
	document, err := json.Marshal(s.Workers[0].Key)
	if text := fmt.Sprintf("%v %+v %#v %s %q %x %s", s, s, s, s.Workers[0].Key, s.Workers[0].Key, s.Workers[0].Key, document); err != nil || strings.Contains(text, "hush") || strings.Contains(text, "68757368") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestLiveResultsAreThoseOfTheStages loads the shipped experiments under the virtual clock and on
// servers, with real rewards too.
func TestLiveResultsAreThoseOfTheStages(t *testing.T) {
	for _, tt := range []struct {
		file            string
		servers, scored bool
	}{{"experiments.toml", false, false}, {"experiments-timing.toml", true, false}, {"experiments-small.toml", true, true}, {"experiments-live.toml", true, true}} {
		e := must(Load("../../"+tt.file, nil, Outside{}))
		live := e.Reports.Live
		same(t, tt.file, []bool{live.Timed, live.Predicted, live.Scored}, []bool{tt.servers, tt.servers, tt.scored})
	}
}

func TestTheTeXEngineIsLookedForWhereAPDFIsWanted(t *testing.T) {
	none := func(string) (string, error) { return "", exec.ErrNotFound }
	cfg, out := config.Default(), t.TempDir()
	engine, notes := texEngine(cfg, out, none, nil)
	if engine != nil || len(notes) != 1 || !strings.Contains(notes[0], "report.tex is written without report.pdf") || !strings.Contains(notes[0], "apt-get install") ||
		!strings.Contains(notes[0], "cd "+out) || strings.Contains(notes[0], "earlier") {
		t.Errorf("without a TeX: engine %v, notes %q", engine, notes)
	}
	said := filepath.Join(t.TempDir(), "pdflatex")
	write(said, "#!/bin/sh\necho 'pdfTeX of a test'\necho more\n")
	there := func(string) (string, error) { return said, nil }
	if engine, notes := texEngine(cfg, out, there, os.Environ()); engine == nil || engine.Version != "pdfTeX of a test" || len(notes) != 0 {
		t.Errorf("with a TeX: engine %v, notes %q", engine, notes)
	}
	cfg.Report.PDF = config.PDFNever
	if engine, notes := texEngine(cfg, out, there, os.Environ()); engine != nil || len(notes) != 0 {
		t.Errorf("where no PDF is wanted: engine %v, notes %q", engine, notes)
	}
	write(filepath.Join(out, pdfFile), "")
	for n, pdf := range []string{config.PDFNever, config.PDFAuto} {
		cfg.Report.PDF = pdf
		if _, notes := texEngine(cfg, out, none, nil); len(notes) != 1+n || !strings.Contains(notes[n], "the report.pdf in "+out+" is of an earlier run") {
			t.Errorf("%s, beside an old one: notes %q", pdf, notes)
		}
	}
}
