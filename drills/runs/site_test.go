package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/drills/lab"
)

// oneProfile is a replay of one profile through Slurm, in seconds.
var oneProfile = lab.Settings{
	"model":      []lab.Settings{{"id": "qwen3_5_4b"}},
	"benchmark":  []lab.Settings{{"id": "aime24"}},
	"experiment": lab.Settings{"budgets": []int{8}},
	"replay": lab.Settings{
		"draws": 64, "replicates": 2, "quadrature_order": 4, "resamples": 2, "resample_draws": 2, "ibn_alphas": []float64{0.1},
		"ts_neyman":  lab.Settings{"alphas": []float64{0.1}, "warm_starts": []int{2}, "race_draws": 2, "final_draws": 2},
		"case_study": lab.Settings{"budget": 8, "repetitions": 100},
	},
	"executor": lab.Settings{"kind": "slurm", "poll_seconds": 0.5, "settle_seconds": 1, "retries": 0, "element_minutes": 0.01},
}

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

// newCluster is a site on a cluster that the test stops, with the experiment. Without Slurm
// the test is skipped, except under SPECEVAL_CI=1.
func newCluster(t *testing.T, dir string, more ...string) *onCluster {
	t.Helper()
	if err := lab.ClusterInstalled("../.."); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	l := &lab.Lab{Dir: dir, Program: filepath.Join(dir, "speceval"), Stdout: io.Discard}
	config := l.Path("experiments.toml")
	if err := errors.Join(os.WriteFile(l.Program, program, 0o777), lab.WriteConfig(config, oneProfile)); err != nil {
		t.Fatal(err)
	}
	s, err := startSite(t.Context(), l, slurmOptions{root: "../.."}, append([]string{"--memory", "9000"}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &onCluster{s, config}
}

// onCluster is a site with the configuration of a test.
type onCluster struct {
	*site
	config string
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
func (l *onCluster) replay(more ...string) []string {
	return append([]string{"run", "replay", "--config", l.config, "--out", l.Path("out")}, more...)
}

// wants runs a command that must end with this exit code and say all of this.
func (l *onCluster) wants(t *testing.T, code int, words []string, want ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := l.Do(ctx, code, words...)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, c.Text(), want...)
	return c.Text()
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
func (l *onCluster) begin(t *testing.T, more ...string) *lab.Process {
	t.Helper()
	c, err := l.Start(l.replay(more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Until(ctx, func() (bool, error) {
		all, err := batches(l.Path("out"))
		return len(all) > 0 && all[0].Job != "", err
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

// ends waits for the end of a run, which must have this exit code, and returns
// what it said.
func ends(t *testing.T, c *lab.Process, code int, want ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := c.Wait(ctx); err != nil {
		t.Fatalf("%v:\n%s", err, c.Text())
	}
	if c.Code() != code {
		t.Errorf("exit code %d, want %d:\n%s", c.Code(), code, c.Text())
	}
	expect(t, c.Text(), want...)
	return c.Text()
}

// must runs one of Slurm's commands.
func (l *onCluster) must(t *testing.T, program string, words ...string) string {
	t.Helper()
	text, err := l.slurm(t.Context(), program, words...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// occupy has another job take the node, until it is cancelled.
func (l *onCluster) occupy(t *testing.T) (job string) {
	t.Helper()
	return strings.TrimSpace(l.must(t, "sbatch", "--parsable", "--exclusive", "--partition=urgent", "--output=/dev/null", "--wrap=sleep 600"))
}
