package drill_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/drills/drill"
)

// newLab is a lab with a time limit. Without Slurm the test is skipped, except under
// SPECEVAL_CI=1.
func newLab(t *testing.T) *drill.Lab {
	t.Helper()
	l := drill.New(t, 5*time.Minute)
	if err := drill.ClusterInstalled(); err != nil {
		l.Missing("%v", err)
	}
	return l
}

// slurm runs one of Slurm's commands, and returns what it prints.
func slurm(l *drill.Lab, c *drill.Cluster, program string, args ...string) (string, error) {
	command := exec.CommandContext(l.Ctx, program, args...)
	command.Env = append(os.Environ(), c.Env()...)
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestAnArrayRunsOnTheNodes(t *testing.T) {
	l := newLab(t)
	c := l.StartCluster(l.Path("c"), "--nodes", "2", "--cpus", "2", "--memory", "1000")
	if out, err := slurm(l, c, "sbatch", "--wait", "--array=0-2", "--cpus-per-task=2", "--output="+l.Path("element-%a"),
		"--wrap", "echo $SLURM_ARRAY_TASK_ID on $(hostname)"); err != nil {
		t.Fatal(err, out)
	}
	for _, element := range []string{"0", "1", "2"} {
		text := string(l.Read(l.Path("element-" + element)))
		node, of := strings.CutPrefix(strings.TrimSpace(text), element+" on ")
		if !of || !slices.Contains([]string{"n1", "n2"}, node) {
			t.Errorf("element %s: %q", element, text)
		}
	}
}

func TestAKilledNodeTakesItsJobsWithIt(t *testing.T) {
	l := newLab(t)
	c := l.StartCluster(l.Path("c"), "--memory", "1000")
	// The job leaves a child in a session of its own, which has the pipe open.
	pipe := l.Path("pipe")
	l.OK(syscall.Mkfifo(pipe, 0o666))
	job := "exec >" + pipe + "; setsid sleep 600 & echo up; wait"
	if out, err := slurm(l, c, "sbatch", "--output=/dev/null", "--wrap", job); err != nil {
		t.Fatal(err, out)
	}
	reader, err := os.Open(pipe) // waits for the job
	l.OK(err)
	defer reader.Close()
	up := make([]byte, 3)
	if _, err := reader.Read(up); err != nil || string(up) != "up\n" {
		t.Fatalf("%q, %v", up, err)
	}
	c.KillNode("n1")
	// A pipe ends when no process has it open for writing, and would block otherwise.
	pipeNow, err := syscall.Open(pipe, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	l.OK(err)
	defer syscall.Close(pipeNow)
	if n, err := syscall.Read(pipeNow, up); n != 0 || err != nil {
		t.Errorf("the job has outlived its node: %q, %v", up[:max(n, 0)], err)
	}
	if out, err := script(l.Ctx, "kill-node", l.Path("c"), "n1"); err == nil {
		t.Errorf("a node that is dead was killed: %s", out)
	}
	c.StartNode("n1")
}

func TestSlurmsCommandsFailWithoutAController(t *testing.T) {
	l := newLab(t)
	c := l.StartCluster(l.Path("c"), "--memory", "1000")
	id, err := slurm(l, c, "sbatch", "--parsable", "--hold", "--job-name", "kept", "--wrap", "true")
	if err != nil {
		t.Fatal(err, id)
	}
	// The controller saves its jobs some time after it has confirmed them.
	l.Until("the state with the job", func() bool {
		state, err := os.ReadFile(l.Path("c", "state", "job_state"))
		if !errors.Is(err, fs.ErrNotExist) {
			l.OK(err)
		}
		return bytes.Contains(state, []byte("kept"))
	})
	c.KillController()
	if out, err := slurm(l, c, "squeue"); err == nil {
		t.Errorf("squeue says %q", out)
	}
	c.StartController()
	if out, err := slurm(l, c, "squeue", "--noheader", "--format=%i"); err != nil || out != id {
		t.Errorf("the job %s, after the controller came back: %q, %v", id, out, err)
	}
}

func TestStartLeavesNothingBehind(t *testing.T) {
	l := newLab(t)
	c := l.StartCluster(l.Path("c"), "--memory", "1000")
	if out, err := script(l.Ctx, "start", l.Path("c")); err == nil || !strings.Contains(out, "has a cluster") {
		t.Errorf("a second cluster in a folder: %s, %v", out, err)
	}
	if out, err := slurm(l, c, "sinfo"); err != nil {
		t.Error("the first one is gone:", err, out)
	}
	if _, err := script(l.Ctx, "start", l.Path("d"), "--memory-by", "nobody"); err == nil {
		t.Error("a cluster with a wrong option started")
	}
}

// script runs cluster.sh, which may fail, and returns what it says.
func script(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, drill.FromRoot("drills/drill/cluster.sh"), args...).CombinedOutput()
	return string(out), err
}
