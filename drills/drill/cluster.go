package drill

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Cluster is a Slurm cluster that runs, with all of its files in one folder.
type Cluster struct {
	l      *Lab
	folder string
}

// ClusterInstalled returns an error that names the Debian packages that this machine
// lacks for a cluster.
func ClusterInstalled() error { return runScript(context.Background(), "check") }

// StartCluster starts a Slurm cluster of this machine's own, by drills/drill/cluster.sh,
// and returns when its nodes take jobs. It ends with the test. The folder gets the
// cluster's files, should not be there or be empty, and have a path of at most 70 bytes;
// cluster.sh lists the options.
func (l *Lab) StartCluster(folder string, options ...string) *Cluster {
	l.Helper()
	c := &Cluster{l, folder}
	l.OK(c.do(l.Ctx, "start", options...))
	l.Cleanup(func() {
		if err := c.do(context.Background(), "stop"); err != nil {
			l.Error(err)
		}
	})
	return c
}

// Env returns the variables that Slurm's commands need in addition to the environment.
func (c *Cluster) Env() []string {
	return []string{"SLURM_CONF=" + filepath.Join(c.folder, "slurm.conf")}
}

// KillNode ends a node (n1, n2, …) with its jobs, at once. The controller finds
// out after a quarter of a minute, and requeues the jobs that may be.
func (c *Cluster) KillNode(node string) { c.must("kill-node", node) }

// StartNode starts a node that was killed, and returns when it takes jobs.
func (c *Cluster) StartNode(node string) { c.must("start-node", node) }

// KillController ends the controller: jobs go on, and Slurm's commands fail. A
// job that was submitted in its last seconds may be unknown when it comes back.
func (c *Cluster) KillController() { c.must("kill-controller") }

// StartController starts the controller again.
func (c *Cluster) StartController() { c.must("start-controller") }

func (c *Cluster) must(command string, args ...string) {
	c.l.Helper()
	c.l.OK(c.do(c.l.Ctx, command, args...))
}

func (c *Cluster) do(ctx context.Context, command string, args ...string) error {
	return runScript(ctx, append([]string{command, c.folder}, args...)...)
}

// ending is how long a script that should end has to end what it has started.
const ending = 30 * time.Second

func runScript(ctx context.Context, args ...string) error {
	script := FromRoot("drills/drill/cluster.sh")
	command := exec.CommandContext(ctx, script, args...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = ending
	var stderr strings.Builder
	command.Stderr = &stderr
	err := command.Run()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s of the cluster: %w", args[0], ctx.Err())
	}
	if why := strings.TrimPrefix(strings.TrimSpace(stderr.String()), "cluster.sh: "); err != nil && why != "" {
		return errors.New(why)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", script, args[0], err)
	}
	return nil
}
