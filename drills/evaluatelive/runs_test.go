package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/drills/evaluated"
)

// answered is a result of two tasks at 2 rollouts each.
const answered = `{"policy": "hbn_informed_staged", "budget": 2, "n_tasks": 2, "provenance": "measured", "design": {"pilots": 1, "weight": 0.5},
"estimate": 0.5, "rollouts": 4, "seconds": 3, "sessions": 1, "tasks": [
{"task_id": "a", "pilots": 1, "pilot_passes": 1, "continuations": 1, "continuation_passes": 1, "estimate": 1, "shrinkage": 0.5, "stages": [{"rollouts": 1, "rewards": 1, "weight": 0.5}, {"rollouts": 1, "rewards": 1, "weight": 0.5}]},
{"task_id": "b", "pilots": 1, "pilot_passes": 0, "continuations": 1, "continuation_passes": 0, "estimate": 0, "shrinkage": 0.5, "stages": [{"rollouts": 1, "rewards": 0, "weight": 0.5}, {"rollouts": 1, "rewards": 0, "weight": 0.5}]}]}`

// TestEvaluationsAreKilledOnce lets a shell script be the program, which is at work
// until it is killed if the evaluation is new, and otherwise completes it.
func TestEvaluationsAreKilledOnce(t *testing.T) {
	killed := turn{armsOf(t, "informed-staged-killed")[0], 0, evaluated.Order{Policy: "hbn_informed_staged", Budget: 2, Seed: 5}}
	quiet := killed
	quiet.arm = armsOf(t, "informed-staged")[0]
	for _, test := range []struct {
		what   string
		turn   turn
		begun  bool
		starts int
	}{{"new", killed, false, 2}, {"begun", killed, true, 1}, {"of an arm without kills", quiet, true, 1}} {
		dir := t.TempDir()
		program := &evaluated.Program{Binary: filepath.Join(dir, "program"), Out: filepath.Join(dir, "out"), Logs: dir, ID: "quiz", Model: "m"}
		folder, starts := program.Folder(test.turn.Order), filepath.Join(dir, "starts")
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if test.begun {
			if err := os.WriteFile(filepath.Join(folder, "evaluation.json"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		script := "#!/bin/sh\necho \"$@\" >> " + starts + "\ncd '" + folder + "'\nif [ -e evaluation.json ]; then cat <<E\n" + answered + "\nE\nexit; fi\ntouch evaluation.json\necho x > requests.journal\nexec sleep 60\n"
		if err := os.WriteFile(program.Binary, []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		m := &maker{program: program, workers: []string{"http://a"}, prior: []string{"--prior", "p.csv#m"}, pace: 0.01, stdout: io.Discard}
		all, err := m.all(t.Context(), []turn{test.turn})
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		if len(all) != 1 || all[0].Estimate != 0.5 || m.pace != 1.5 {
			t.Errorf("%s: %+v at a pace of %v", test.what, all, m.pace)
		}
		text, err := os.ReadFile(starts)
		if lines := strings.Count(string(text), "--worker http://a --prior p.csv#m\n"); err != nil || lines != test.starts {
			t.Errorf("%s: %d starts, want %d: %s", test.what, lines, test.starts, text)
		}
	}
}
