package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	cluster "speceval/drills/lab"
	process "speceval/drills/lab"
)

// lab is where the drill happens: a cluster, and a folder for everything.
type lab struct {
	options
	dir         string
	stdout      io.Writer
	cluster     *cluster.Cluster
	environment []string // of those who speak to the cluster
	commands    int      // of the program started so far
}

// newLab starts a cluster of so many nodes.
func newLab(ctx context.Context, o options, dir string, stdout io.Writer, options ...string) (*lab, error) {
	if err := cluster.ClusterInstalled(o.root); err != nil {
		return nil, err
	}
	program, err := filepath.Abs(o.binary)
	if err != nil {
		return nil, err
	}
	if o.config, err = filepath.Abs(o.config); err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	o.binary = program
	if o.cpus > 0 {
		options = append(options, "--cpus", strconv.Itoa(o.cpus))
	}
	l := &lab{options: o, dir: dir, stdout: stdout}
	if err := os.Mkdir(l.path("said"), 0o777); err != nil {
		return nil, err
	}
	if l.cluster, err = cluster.StartCluster(ctx, o.root, l.path("c"), options...); err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	l.environment = append(os.Environ(), l.cluster.Env()...)
	return l, nil
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// slurm runs one of Slurm's commands and returns what it prints.
func (l *lab) slurm(ctx context.Context, program string, words ...string) (string, error) {
	c := exec.CommandContext(ctx, program, words...)
	var stderr bytes.Buffer
	c.Env, c.Stderr = l.environment, &stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %v: %w: %s", program, words, err, strings.TrimSpace(stderr.String()))
	}
	return string(text), nil
}

// command is a command of the program under way, and where its output goes.
type command struct {
	*process.Process
	log string
}

// text is what it has said so far.
func (c *command) text() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// start starts a command of the program.
func (l *lab) start(words ...string) (*command, error) {
	l.commands++
	log := l.path(fmt.Sprintf("said/%03d.txt", l.commands))
	p, err := process.StartProgram(log, l.environment, l.binary, words...)
	return &command{p, log}, err
}

// do runs a command of the program to its end, which must have this exit code.
func (l *lab) do(ctx context.Context, code int, words ...string) (*command, error) {
	c, err := l.start(words...)
	if err != nil {
		return nil, err
	}
	defer c.Kill()
	if err := c.Wait(ctx); err != nil {
		return c, err
	}
	if c.Code() != code {
		return c, fmt.Errorf("speceval %s: exit code %d, want %d:\n%s", strings.Join(words, " "), c.Code(), code, c.Last())
	}
	return c, nil
}

// sets are flags that set keys of the configuration.
func sets(keys ...string) []string {
	var words []string
	for _, key := range keys {
		words = append(words, "--set", key)
	}
	return words
}

// throughSlurm are the settings of a run on the cluster, which answers at once and
// has few cores.
func throughSlurm(keys ...string) []string {
	return sets(slices.Concat([]string{"executor.kind=slurm", "executor.poll_seconds=1", "executor.settle_seconds=2", "executor.generate.cpus=1"}, keys)...)
}

// printf prints a line of the drill.
func (l *lab) printf(format string, args ...any) { fmt.Fprintf(l.stdout, format+"\n", args...) }

// end stops the cluster.
func (l *lab) end(err error) error { return errors.Join(err, l.cluster.Stop()) }

// wait waits, unless ctx is done first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
