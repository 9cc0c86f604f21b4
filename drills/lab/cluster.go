package lab

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
type Cluster struct{ script, folder string }

// ClusterInstalled returns an error that names the Debian packages that this machine
// lacks for a cluster. The root is the folder of the repository.
func ClusterInstalled(root string) error {
	return runScript(context.Background(), script(root), "check")
}

// StartCluster starts a Slurm cluster of this machine's own, by drills/lab/cluster.sh,
// and returns when its nodes take jobs. The root is the
// folder of the repository; the folder gets the cluster's files, should not be
// there or be empty, and have a path of at most 70 bytes; the options are those
// that cluster.sh lists. What was started of a cluster that fails is ended.
func StartCluster(ctx context.Context, root, folder string, options ...string) (*Cluster, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	c := &Cluster{script: script(root), folder: folder}
	if err := c.do(ctx, "start", options...); err != nil {
		return nil, err
	}
	return c, nil
}

// Stop ends everything that runs of the cluster, jobs as well. The logs stay in
// the subfolder log.
func (c *Cluster) Stop() error { return c.do(context.Background(), "stop") }

// Env returns the variables that Slurm's commands need in addition to the environment.
func (c *Cluster) Env() []string {
	return []string{"SLURM_CONF=" + filepath.Join(c.folder, "slurm.conf")}
}

// KillNode ends a node (n1, n2, …) with its jobs, at once. The controller finds
// out after a quarter of a minute, and requeues the jobs that may be.
func (c *Cluster) KillNode(ctx context.Context, node string) error {
	return c.do(ctx, "kill-node", node)
}

// StartNode starts a node that was killed, and returns when it takes jobs.
func (c *Cluster) StartNode(ctx context.Context, node string) error {
	return c.do(ctx, "start-node", node)
}

// KillController ends the controller: jobs go on, and Slurm's commands fail. A
// job that was submitted in its last seconds may be unknown when it comes back.
func (c *Cluster) KillController(ctx context.Context) error { return c.do(ctx, "kill-controller") }

// StartController starts the controller again.
func (c *Cluster) StartController(ctx context.Context) error { return c.do(ctx, "start-controller") }

func (c *Cluster) do(ctx context.Context, command string, args ...string) error {
	return runScript(ctx, c.script, append([]string{command, c.folder}, args...)...)
}

func script(root string) string { return filepath.Join(root, "drills", "drill", "cluster.sh") }

// ending is how long a script that should end has to end what it has started.
const ending = 30 * time.Second

func runScript(ctx context.Context, script string, args ...string) error {
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
