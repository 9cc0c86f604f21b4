package evaluations

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgram lets a shell script be the program.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	for script, want := range map[string]string{
		"echo 'a warning' >&2\ncat <<E\n" + printed + "\nE\n": "",
		"echo no good\nexit 1\n":                              "hbn-async-b4-seed7: exit code 1:\nno good",
		"echo '{}'\n":                                         "what it printed is no result",
		"cat <<E\n" + strings.Replace(printed, `"rollouts": 8`, `"rollouts": 7`, 1) + "\nE\n": "7 in all, want 8",
	} {
		binary := filepath.Join(dir, "program")
		arguments := filepath.Join(dir, "arguments")
		if err := os.WriteFile(binary, []byte("#!/bin/sh\necho \"$@\" > "+arguments+"\n"+script), 0o777); err != nil {
			t.Fatal(err)
		}
		p := &program{binary: binary, config: "e.toml", out: "out", logs: dir, benchmark: "quiz.jsonl", id: "quiz", model: "m"}
		o := order{policy: async, budget: 4, seed: 7, workers: []string{"http://a", "http://b"}}
		r, err := p.run(t.Context(), o)
		if want == "" && (err != nil || r.Estimate != 0.625) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", script, err, want)
		}
		text, err := os.ReadFile(arguments)
		if want := "evaluate --benchmark quiz.jsonl --model m --budget 4 --policy hbn-async --seed 7 --config e.toml --out out -q --json --worker http://a --worker http://b\n"; err != nil || string(text) != want {
			t.Errorf("called with %s (%v), want %s", text, err, want)
		}
		if want := "out/evaluate/benchmark=quiz/model=m/hbn-async-b4-seed7"; p.folder(o) != want {
			t.Errorf("folder %s, want %s", p.folder(o), want)
		}
	}
}

// TestStrike lets a shell script be the program: one that is killed at work, one that
// is too fast, and one that fails.
func TestStrike(t *testing.T) {
	for _, test := range []struct {
		script string
		after  float64
		hit    bool
		fault  string
	}{
		{"mkdir -p $FOLDER; echo x > $FOLDER/requests.journal; sleep 60 >&-", 0.01, true, ""},
		{"mkdir -p $FOLDER; echo x > $FOLDER/requests.journal", 60, false, ""},
		{"true", 60, false, ""},
		{"echo no good; exit 1", 60, false, "no good"},
		{"mkdir -p $FOLDER; echo x > $FOLDER/requests.journal; sleep 0.1; echo bad; exit 1", 60, false, "bad"},
	} {
		dir := t.TempDir()
		p := &program{binary: filepath.Join(dir, "program"), out: filepath.Join(dir, "out"), logs: dir, id: "quiz", model: "m"}
		o := order{policy: async, budget: 4, seed: 7}
		if err := os.WriteFile(p.binary, []byte("#!/bin/sh\nFOLDER='"+p.folder(o)+"'\n"+test.script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		hit, err := p.strike(t.Context(), o, test.after)
		if hit != test.hit || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%q: %v, %v", test.script, hit, err)
		}
	}
}

// TestPausesAreGoneOnFrom: as often in a row as they may be, and of exit code 1 alone.
func TestPausesAreGoneOnFrom(t *testing.T) {
	result := `{"rollouts": 0}`
	for _, test := range []struct {
		script string
		pauses int
		runs   int
	}{
		{"exit 1", 0, 1},
		{"exit 1", 2, 3},
		{"exit 2", 2, 1},
		{"[ $(wc -l < $RUNS) = 2 ] || exit 1; echo '" + result + "'", 4, 2},
	} {
		dir := t.TempDir()
		runs := filepath.Join(dir, "runs")
		p := &program{binary: filepath.Join(dir, "program"), out: filepath.Join(dir, "out"), logs: dir, id: "quiz", model: "m", pauses: test.pauses}
		o := order{policy: async, budget: 4, seed: 7}
		if err := os.WriteFile(p.binary, []byte("#!/bin/sh\nRUNS='"+runs+"'\necho x >> $RUNS\n"+test.script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := p.run(t.Context(), o); err == nil {
			t.Errorf("%q made a result", test.script) // it has no rollouts
		}
		text, err := os.ReadFile(runs)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "x"); got != test.runs {
			t.Errorf("%q with %d pauses ran %d times, want %d", test.script, test.pauses, got, test.runs)
		}
		if hit, err := p.strike(t.Context(), o, 60); test.script == "exit 1" && (hit || (err == nil) != (test.pauses > 0)) {
			t.Errorf("%q with %d pauses, struck: %v, %v", test.script, test.pauses, hit, err)
		}
	}
}
