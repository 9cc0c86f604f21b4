package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	cluster "speceval/drills/lab"
	process "speceval/drills/lab"
)

// lab is a scratch copy of the repository, made small, with outputs of every kind.
// Every page gets a copy of its own.
type lab struct {
	options
	whole  string            // the copy
	tools  string            // folder with duckdb as a program
	ports  map[string]string // addresses of servers in files and pages, and those that stand in for them
	stdout io.Writer

	slurm   *cluster.Cluster // nil where Slurm is not installed
	noSlurm error            // what is missing then
	short   string           // folder of clusters
}

// newLab copies the repository, builds the program there, and makes the outputs.
func newLab(ctx context.Context, o options, dir string, stdout io.Writer) (*lab, error) {
	l := &lab{options: o, whole: filepath.Join(dir, "whole"), tools: filepath.Join(dir, "tools"), ports: map[string]string{}, stdout: stdout}
	if err := copyRepository(ctx, o.root, l.whole); err != nil {
		return nil, err
	}
	if err := l.free(o.root); err != nil {
		return nil, err
	}
	if err := l.duckdb(); err != nil {
		return nil, err
	}
	if err := l.lay(); err != nil {
		return nil, err
	}
	return l, l.run(ctx, l.whole, "make build")
}

// copyRepository copies the files that git tracks, or would.
func copyRepository(ctx context.Context, root, to string) error {
	c := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	c.Dir = root
	list, err := c.Output()
	if err != nil {
		return fmt.Errorf("git ls-files in %s: %w", root, err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err != nil {
			return err
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), content, info.Mode()); err != nil {
			return err
		}
	}
	return nil
}

// address is a server on this machine.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// free finds free ports for the servers of files and pages, so that the drill can
// run beside others.
func (l *lab) free(root string) error {
	texts := standIn
	for _, pattern := range []string{"experiments*.toml", "README.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			texts += string(text)
		}
	}
	var held []net.Listener // until all are known, so that they differ
	defer func() {
		for _, listener := range held {
			listener.Close()
		}
	}()
	for _, old := range address.FindAllString(texts, -1) {
		if l.ports[old] != "" {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		held = append(held, listener)
		l.ports[old] = "http://" + listener.Addr().String()
	}
	return nil
}

// addressed is a text with the addresses of the servers that stand in, and the
// folder of the cluster that does.
func (l *lab) addressed(text string) string {
	return address.ReplaceAllStringFunc(strings.ReplaceAll(text, slurmFolder, l.pageCluster()), func(old string) string {
		if to := l.ports[old]; to != "" {
			return to
		}
		return old
	})
}

// shim is DuckDB's shell, as far as pages use it.
const shim = `import sys, duckdb
assert sys.argv[1] == "-c" and len(sys.argv) == 3, "only duckdb -c QUERY is known here"
result = duckdb.sql(sys.argv[2])
if result is not None:
    result.show(max_width=160)
`

// duckdb makes a program of that name of the Python package.
func (l *lab) duckdb() error {
	python, err := exec.LookPath(l.python)
	if err != nil {
		return err
	}
	if l.python, err = filepath.Abs(python); err != nil {
		return err
	}
	if output, err := exec.Command(l.python, "-c", "import duckdb, pyarrow.parquet").CombinedOutput(); err != nil {
		return fmt.Errorf("%s lacks packages that pages use; name a Python with duckdb and pyarrow in SPECEVAL_PYTHON: %w\n%s", l.python, err, output)
	}
	if err := os.MkdirAll(l.tools, 0o777); err != nil {
		return err
	}
	query := filepath.Join(l.tools, "query.py")
	if err := os.WriteFile(query, []byte(shim), 0o666); err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' '%s' \"$@\"\n", l.python, query)
	return os.WriteFile(filepath.Join(l.tools, "duckdb"), []byte(script), 0o777)
}

// environment is that of commands in a folder.
func (l *lab) environment(dir string) []string {
	path := "PATH=" + filepath.Join(dir, "bin") + ":" + l.tools + ":" + os.Getenv("PATH")
	all := append(os.Environ(), path, "NO_COLOR=1", "SPECEVAL_PYTHON="+l.python)
	if l.slurm != nil {
		all = append(all, l.slurm.Env()...)
	}
	return all
}

// longest is for how long a command may run.
const longest = time.Minute

// run runs a command in a folder, which must succeed.
func (l *lab) run(ctx context.Context, dir, text string) error {
	code, output, err := l.try(ctx, dir, text)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d:\n%s", code, output)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// try runs a command in a folder.
func (l *lab) try(ctx context.Context, dir, text string) (code int, output string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("not done after %v", longest))
	defer cancel()
	var said bytes.Buffer
	c := exec.CommandContext(ctx, "bash", "-c", "set -o pipefail\n"+l.addressed(text))
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, l.environment(dir), &said, &said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	err = c.Run()
	if l.show {
		fmt.Fprint(l.stdout, said.String())
	}
	if ctx.Err() != nil {
		return 0, said.String(), fmt.Errorf("%w\n%s", context.Cause(ctx), said.String())
	}
	if c.ProcessState == nil {
		return 0, "", err
	}
	return c.ProcessState.ExitCode(), said.String(), nil
}

// serving is what the simulated fleet says when all of its servers are there.
const serving = "serving; interrupt to stop"

// serve starts a simulated fleet beside what follows.
func (l *lab) serve(ctx context.Context, dir, text string) (*process.Process, error) {
	log, err := os.CreateTemp(dir, "fleet-*.log")
	if err != nil {
		return nil, err
	}
	log.Close()
	p, err := process.StartProgram(log.Name(), l.environment(dir), "bash", "-c", "cd '"+dir+"' && exec "+l.addressed(text))
	if err != nil {
		return nil, err
	}
	err = p.Until(ctx, func() (bool, error) {
		said, err := os.ReadFile(log.Name())
		return strings.Contains(string(said), serving), err
	})
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return p, nil
}
