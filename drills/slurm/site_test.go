package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cluster "speceval/drills/lab"
)

// experiment is a replay of one profile, in seconds.
const experiment = `[[model]]
id = "qwen3_5_4b"

[[benchmark]]
id = "aime24"

[experiment]
budgets = [8]

[replay]
draws = 64
replicates = 2
quadrature_order = 4
resamples = 2
resample_draws = 2
ibn_alphas = [0.1]

[replay.ts_neyman]
alphas = [0.1]
warm_starts = [2]
race_draws = 2
final_draws = 2

[replay.case_study]
budget = 8
repetitions = 100

[executor]
kind = "slurm"
poll_seconds = 0.5
settle_seconds = 1
retries = 0
element_minutes = 0.01
`

// built is the program, made once.
var built = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sl")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "speceval")
	if text, err := exec.Command("go", "build", "-o", path, "speceval/pipeline").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(path)
})

// site is a lab on a cluster that the test stops, with the experiment. Without
// Slurm the test is skipped, except under SPECEVAL_CI=1.
func site(t *testing.T, dir string, more ...string) *lab {
	t.Helper()
	if err := cluster.ClusterInstalled("../.."); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	o := options{binary: filepath.Join(dir, "speceval"), root: "../..", config: filepath.Join(dir, "experiments.toml")}
	for path, text := range map[string][]byte{o.binary: program, o.config: []byte(experiment)} {
		if err := os.WriteFile(path, text, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	l, err := newLab(t.Context(), o, dir, io.Discard, append([]string{"--memory", "9000"}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.end(nil); err != nil {
			t.Error(err)
		}
	})
	return l
}

// short is a new folder whose path is short enough for a cluster.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// replay is a run of the experiment, with more flags.
func (l *lab) replay(more ...string) []string {
	return append([]string{"run", "replay", "--config", l.config, "--out", l.path("out")}, more...)
}

// wants runs a command that must end with this exit code and say all of this.
func (l *lab) wants(t *testing.T, code int, words []string, want ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := l.do(ctx, code, words...)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, c.text(), want...)
	return c.text()
}

func expect(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, words := range want {
		if !strings.Contains(text, words) {
			t.Errorf("not a word of %q in:\n%s", words, text)
		}
	}
}

// begin starts a run and waits until Slurm has its jobs.
func (l *lab) begin(t *testing.T, more ...string) *command {
	t.Helper()
	c, err := l.start(l.replay(more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Until(ctx, func() (bool, error) {
		all, err := batches(l.path("out"))
		return len(all) > 0 && all[0].Job != "", err
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

// ends waits for the end of a run, which must have this exit code, and returns
// what it said.
func ends(t *testing.T, c *command, code int, want ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := c.Wait(ctx); err != nil {
		t.Fatalf("%v:\n%s", err, c.text())
	}
	if c.Code() != code {
		t.Errorf("exit code %d, want %d:\n%s", c.Code(), code, c.text())
	}
	expect(t, c.text(), want...)
	return c.text()
}

// must runs one of Slurm's commands.
func (l *lab) must(t *testing.T, program string, words ...string) string {
	t.Helper()
	text, err := l.slurm(t.Context(), program, words...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// occupy has another job take the node, until it is cancelled.
func (l *lab) occupy(t *testing.T) (job string) {
	t.Helper()
	return strings.TrimSpace(l.must(t, "sbatch", "--parsable", "--exclusive", "--partition=urgent", "--output=/dev/null", "--wrap=sleep 600"))
}
