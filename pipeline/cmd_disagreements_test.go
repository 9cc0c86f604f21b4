package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/rollout"
)

// scoresIn writes verdicts on rollouts of one task each, "+" for right.
func scoresIn(t *testing.T, path, scorer, verdicts string) {
	t.Helper()
	var b bytes.Buffer
	err := rollout.WriteScores(&b, func(yield func(*rollout.Score, error) bool) {
		for i := range verdicts {
			task := string(rune('a' + i))
			if !yield(&rollout.Score{Benchmark: "exam", Model: "m", TaskIndex: int32(i), TaskID: task, Correct: verdicts[i] == '+', Scorer: scorer}, nil) {
				return
			}
		}
	}, map[string]string{"speceval.schema": rollout.ScoreSchema, rollout.RolloutsKey: scorer[:4]})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDisagreements(t *testing.T) {
	out := t.TempDir()
	at := func(name string) string { return filepath.Join(out, filepath.FromSlash(name)) }
	now, before := at("score/benchmark=exam/model=m/scores.parquet"), at("superseded/score/benchmark=exam/model=m/scores.aa.parquet")
	scoresIn(t, now, "math/2", "+-+")
	scoresIn(t, before, "math/1", "-+-")
	scoresIn(t, at("choice.parquet"), "choice/1", "+++")
	for line, parts := range map[string][]string{
		"":                               {"exam m, task a, rollout 0: wrong → right", "exam m, task c"},
		"exam/m -n 1":                    {"exam m, task a", "Listed are 1 of 3: -n 0 lists all."},
		"exam/m --json":                  {`{"benchmark":"exam","model":"m","task_index":0`, `{"summary":{`},
		before + " " + now + " -n0":      {"task c, rollout 0: wrong → right"},
		at("choice.parquet") + " " + now: {"speceval: warning: ", "are of different rollouts", "task b, rollout 0: right → wrong"},
	} {
		code, stdout, stderr := onShell(append([]string{"disagreements", "--out", out}, strings.Fields(line)...)...)
		if want(t, line, stdout+stderr, parts...); code != exitDone {
			t.Errorf("%s: exit code %d\n%s", line, code, stderr)
		}
	}
	for line, part := range map[string]string{
		"-n -1":                 "-n -1",
		"exam/x":                "no scores of exam/x",
		now:                     "want two files of scores",
		now + " exam/m":         "want two files of scores",
		now + " absent.parquet": "absent.parquet",
	} {
		code, stdout, stderr := onShell(append([]string{"disagreements", "--out", out}, strings.Fields(line)...)...)
		if want(t, line, stderr, part); code != exitUsage || stdout != "" {
			t.Errorf("%s: exit code %d\n%s", line, code, stdout)
		}
	}
}
