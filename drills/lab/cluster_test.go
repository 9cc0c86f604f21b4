package lab_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/drills/lab"
)

const root = "../.."

// startCluster starts a cluster that the test stops. Without Slurm the test is
// skipped, except under SPECEVAL_CI=1.
func startCluster(t *testing.T, options ...string) (*lab.Cluster, string) {
	t.Helper()
	if err := lab.ClusterInstalled(root); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	folder := filepath.Join(t.TempDir(), "c")
	c, err := lab.StartCluster(t.Context(), root, folder, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c, folder
}

// slurm runs one of Slurm's commands, and returns what it prints.
func slurm(t *testing.T, c *lab.Cluster, program string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(), c.Env()...)
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestAnArrayRunsOnTheNodes(t *testing.T) {
	c, folder := startCluster(t, "--nodes", "2", "--cpus", "2", "--memory", "1000")
	output := filepath.Join(folder, "element-%a")
	if out, err := slurm(t, c, "sbatch", "--wait", "--array=0-2", "--cpus-per-task=2", "--output="+output,
		"--wrap", "echo $SLURM_ARRAY_TASK_ID on $(hostname)"); err != nil {
		t.Fatal(err, out)
	}
	for i, element := range []string{"0", "1", "2"} {
		said, err := os.ReadFile(filepath.Join(folder, "element-"+element))
		node, of := strings.CutPrefix(strings.TrimSpace(string(said)), element+" on ")
		if err != nil || !of || !slices.Contains([]string{"n1", "n2"}, node) {
			t.Errorf("element %d: %q, %v", i, said, err)
		}
	}
}

func TestAKilledNodeTakesItsJobsWithIt(t *testing.T) {
	c, folder := startCluster(t, "--memory", "1000")
	// The job leaves a child in a session of its own, which has the pipe open.
	pipe := filepath.Join(folder, "pipe")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if out, err := slurm(t, c, "sbatch", "--output=/dev/null", "--wrap", "exec >"+pipe+"; setsid sleep 600 & echo up; wait"); err != nil {
		t.Fatal(err, out)
	}
	reader, err := os.Open(pipe) // waits for the job
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	up := make([]byte, 3)
	if _, err := reader.Read(up); err != nil || string(up) != "up\n" {
		t.Fatalf("%q, %v", up, err)
	}
	if err := c.KillNode(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	// A pipe ends when nobody has it open for writing, and would block otherwise.
	pipeNow, err := syscall.Open(pipe, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pipeNow)
	if n, err := syscall.Read(pipeNow, up); n != 0 || err != nil {
		t.Errorf("the job has outlived its node: %q, %v", up[:max(n, 0)], err)
	}
	if err := c.KillNode(t.Context(), "n1"); err == nil {
		t.Error("a node that is dead was killed")
	}
	if err := c.StartNode(t.Context(), "n1"); err != nil {
		t.Error(err)
	}
}

func TestSlurmsCommandsFailWithoutAController(t *testing.T) {
	c, folder := startCluster(t, "--memory", "1000")
	id, err := slurm(t, c, "sbatch", "--parsable", "--hold", "--job-name", "kept", "--wrap", "true")
	if err != nil {
		t.Fatal(err, id)
	}
	waitForState(t, filepath.Join(folder, "state", "job_state"), "kept")
	if err := c.KillController(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := slurm(t, c, "squeue"); err == nil {
		t.Errorf("squeue says %q", out)
	}
	if err := c.StartController(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := slurm(t, c, "squeue", "--noheader", "--format=%i"); err != nil || out != id {
		t.Errorf("the job %s, after the controller came back: %q, %v", id, out, err)
	}
}

// waitForState waits until the controller, which saves its jobs some time after it has
// confirmed them, has written a name into the file.
func waitForState(t *testing.T, path, name string) {
	t.Helper()
	for range 200 {
		state, err := os.ReadFile(path)
		if err == nil && bytes.Contains(state, []byte(name)) {
			return
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s has no job %s after 10 s", path, name)
}

func TestStartLeavesNothingBehind(t *testing.T) {
	c, folder := startCluster(t, "--memory", "1000")
	if _, err := lab.StartCluster(t.Context(), root, folder); err == nil || !strings.Contains(err.Error(), "has a cluster") {
		t.Errorf("a second cluster in a folder: %v", err)
	}
	if out, err := slurm(t, c, "sinfo"); err != nil {
		t.Error("the first one is gone:", err, out)
	}
	if _, err := lab.StartCluster(t.Context(), root, filepath.Join(t.TempDir(), "d"), "--memory-by", "nobody"); err == nil {
		t.Error("a cluster with a wrong option started")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lab.StartCluster(ctx, root, filepath.Join(t.TempDir(), "e")); err == nil {
		t.Error("a cluster started in a cancelled context")
	}
}
