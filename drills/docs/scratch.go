package docs

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"speceval/drills/lab"
)

// scratch is a copy of the repository, made small, with outputs of every kind. Every
// page gets a copy of its own.
type scratch struct {
	*lab.Lab
	root  string            // of the repository
	show  bool              // what commands print
	whole string            // the copy
	tools string            // folder with duckdb as a program
	ports map[string]string // addresses of servers in files and pages, and those that stand in for them

	slurm   *lab.Cluster // nil where Slurm is not installed
	noSlurm error        // what is missing then
	short   string       // folder of clusters
}

// prepare copies the repository and builds the program there.
func (s *scratch) prepare(ctx context.Context) error {
	if err := copyRepository(ctx, s.root, s.whole); err != nil {
		return err
	}
	for _, step := range []func() error{s.free, s.duckdb, s.lay} {
		if err := step(); err != nil {
			return err
		}
	}
	return s.must(ctx, s.whole, "make build")
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

// free finds free ports for the servers of files and pages, so that several
// drills can run at a time.
func (s *scratch) free() error {
	texts := standIn
	for _, pattern := range []string{"experiments*.toml", "README.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(s.root, pattern))
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
		if s.ports[old] != "" {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		held = append(held, listener)
		s.ports[old] = "http://" + listener.Addr().String()
	}
	return nil
}

// addressed is a text with the addresses of the servers that stand in, and the
// folder of the cluster that does.
func (s *scratch) addressed(text string) string {
	return address.ReplaceAllStringFunc(strings.ReplaceAll(text, slurmFolder, s.pageCluster()), func(old string) string {
		if to := s.ports[old]; to != "" {
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
func (s *scratch) duckdb() error {
	python, err := exec.LookPath(s.Python)
	if err != nil {
		return err
	}
	if s.Python, err = filepath.Abs(python); err != nil {
		return err
	}
	if output, err := exec.Command(s.Python, "-c", "import duckdb, pyarrow.parquet").CombinedOutput(); err != nil {
		return fmt.Errorf("%s lacks packages that pages use; name a Python with duckdb and pyarrow in SPECEVAL_PYTHON: %w\n%s", s.Python, err, output)
	}
	if err := os.MkdirAll(s.tools, 0o777); err != nil {
		return err
	}
	query := filepath.Join(s.tools, "query.py")
	if err := os.WriteFile(query, []byte(shim), 0o666); err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' '%s' \"$@\"\n", s.Python, query)
	return os.WriteFile(filepath.Join(s.tools, "duckdb"), []byte(script), 0o777)
}

// environment is that of commands in a folder.
func (s *scratch) environment(dir string) []string {
	path := "PATH=" + filepath.Join(dir, "bin") + ":" + s.tools + ":" + os.Getenv("PATH")
	all := append(os.Environ(), path, "NO_COLOR=1", "SPECEVAL_PYTHON="+s.Python)
	if s.slurm != nil {
		all = append(all, s.slurm.Env()...)
	}
	return all
}

// longest is for how long a command may run.
const longest = time.Minute

// must runs a command in a folder, which must succeed.
func (s *scratch) must(ctx context.Context, dir, text string) error {
	code, output, err := s.shell(ctx, dir, text)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d:\n%s", code, output)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// shell runs a command in a folder.
func (s *scratch) shell(ctx context.Context, dir, text string) (code int, output string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("not done after %v", longest))
	defer cancel()
	var said bytes.Buffer
	c := exec.CommandContext(ctx, "bash", "-c", "set -o pipefail\n"+s.addressed(text))
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, s.environment(dir), &said, &said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	err = c.Run()
	if s.show {
		fmt.Fprint(s.Stdout, said.String())
	}
	if ctx.Err() != nil {
		return 0, said.String(), fmt.Errorf("%w\n%s", context.Cause(ctx), said.String())
	}
	if c.ProcessState == nil {
		return 0, "", err
	}
	return c.ProcessState.ExitCode(), said.String(), nil
}

// serving is what the simulated fleet prints when all of its servers are there.
const serving = "serving; interrupt to stop"

// serve starts a simulated fleet.
func (s *scratch) serve(ctx context.Context, dir, text string) (*lab.Process, error) {
	log, err := os.CreateTemp(dir, "fleet-*.log")
	if err != nil {
		return nil, err
	}
	log.Close()
	p, err := lab.StartProgram(log.Name(), s.environment(dir), "bash", "-c", "cd '"+dir+"' && exec "+s.addressed(text))
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

// Servers that run while the outputs are made. Those of stand-in.toml run
// with every page as well.
const (
	fleetCommand   = "speceval fleet --config experiments-small.toml --speed 40"
	standInCommand = "speceval fleet --config stand-in.toml --tasks mine.jsonl --speed 0"
)

// made are the commands that make outputs of every kind: of the published
// profiles, of rollouts with all five stages and a second generation, of
// evaluations, and of looking at them.
var made = []string{
	"speceval run -q",
	"cp -r out out-before",
	"speceval run generate score -q --config experiments-small.toml --out out-second --set experiment.seed=7",
	"speceval run -q --config experiments-small.toml",
	"speceval evaluate -q --config experiments-small.toml --benchmark smallbench --model qwen2_5_3b --budget 8",
	"speceval evaluate -q --benchmark mine.jsonl --model model-a --budget 16 --worker http://127.0.0.1:8001",
	"speceval evaluate -q --benchmark mine.jsonl --model model-a --budget 8 --policy hbn-async --seed 5 --worker http://127.0.0.1:8001", // computes a design
	"speceval evaluate -q --benchmark mine.jsonl --model model-b --budget 16 --worker http://127.0.0.1:8002",
	"speceval status", // some seconds after the run, which leaves the index
}

// inSlurm makes outputs that only runs on Slurm leave.
const inSlurm = "speceval run replay -q --config experiments-slurm.toml --out out-jobs"

// makeOutputs makes the outputs in the copy of the repository.
func (s *scratch) makeOutputs(ctx context.Context) error {
	var servers []*lab.Process
	defer func() {
		for _, server := range slices.Backward(servers) {
			server.Kill()
		}
	}()
	for _, text := range []string{fleetCommand, standInCommand} {
		server, err := s.serve(ctx, s.whole, text)
		if err != nil {
			return err
		}
		servers = append(servers, server)
	}
	commands := made
	if s.slurm != nil {
		commands = append(slices.Clone(made), inSlurm)
	}
	for _, text := range commands {
		err := s.must(ctx, s.whole, text)
		for again := 0; err != nil && again < tries && ctx.Err() == nil; again++ {
			err = s.must(ctx, s.whole, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tries are of a command once more. Timed runs on a busy machine may be void, and
// running again makes those alone.
const tries = 5
