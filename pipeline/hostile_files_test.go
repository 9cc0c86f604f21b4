package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// noFiles are what can stand where a file is meant, by what is said of it. Each is made
// at a path.
var noFiles = map[string]struct {
	make func(path string) error
	want string
}{
	"a pipe":              {func(path string) error { return syscall.Mkfifo(path, 0o666) }, "is a pipe"},
	"an endless device":   {func(path string) error { return os.Symlink("/dev/zero", path) }, "is a device"},
	"a terminal":          {func(path string) error { return os.Symlink("/dev/ptmx", path) }, "is a device"},
	"a link to itself":    {func(path string) error { return os.Symlink(filepath.Base(path), path) }, "too many levels"},
	"a folder":            {func(path string) error { return os.Mkdir(path, 0o777) }, "directory"},
	"a file without end":  {sparse, "is longer than"},
	"a process's pipe":    {func(path string) error { return os.Symlink(heldPipe, path) }, "is a pipe"},
	"a socket of another": {func(path string) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o666, 0) }, "is a socket"},
}

func sparse(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Truncate(1 << 44)
}

// heldPipe is what a shell gives in the place of a file: <(command).
var heldPipe = func() string {
	_, err := os.Stat("/dev/fd")
	read, _, pipeErr := os.Pipe()
	if err != nil || pipeErr != nil {
		return "/nothing"
	}
	heldOpen = read
	return "/dev/fd/" + itoa(read.Fd())
}()

var heldOpen *os.File // for as long as the tests run

func itoa(n uintptr) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// readers are the commands that read a file which a user names, each with the name
// that it has below a folder.
var readers = map[string]struct {
	name string
	args func(dir, path string) []string
	says map[string]string // of what else than noFiles have; "" where that may stand there
}{
	"configuration": {"own.toml", func(_, path string) []string { return []string{"plan", "--config", path} }, nil},
	"configuration of an evaluation": {"own.toml", func(_, path string) []string {
		return []string{"evaluate", "list", "--config", path}
	}, nil},
	"tasks": {"own.jsonl", func(_, path string) []string { return []string{"benchmarks", "check", path} }, folderToo},
	"tasks of a folder": {"own.jsonl", func(dir, _ string) []string {
		return []string{"benchmarks", "check", dir, "--unpublished"}
	}, nil},
	"tasks as CSV": {"own.csv", func(_, path string) []string { return []string{"benchmarks", "check", path} }, folderToo},
	"tasks of an evaluation": {"own.jsonl", func(_, path string) []string {
		return []string{"evaluate", "plan", "--benchmark", path, "--budget", "4"}
	}, nil},
	"tests of a task": {"tests.json", func(dir, path string) []string {
		write(filepath.Join(dir, "own.jsonl"), `{"id":"a","prompt":"p","user_prompt":"p","scorer":"code","tests_file":"tests.json"}`)
		return []string{"benchmarks", "check", filepath.Join(dir, "own.jsonl")}
	}, map[string]string{"an endless device": "escapes", "a terminal": "escapes", "a process's pipe": "escapes"}},
	"prompts": {"math.txt", func(dir, _ string) []string {
		return []string{"benchmarks", "check", "../data/smallbench/smallbench.jsonl", "--set", "corpus.prompts=" + dir}
	}, folderToo},
	"profiles": {"own.parquet", func(_, path string) []string { return []string{"compare", path, path} }, nil},
	"profiles of the experiment": {"own.csv", func(_, path string) []string {
		return []string{"plan", "--set", "corpus.profiles=" + path}
	}, nil},
	"a prior": {"own.csv", func(dir, path string) []string {
		return []string{"evaluate", "plan", "--benchmark", "../data/smallbench/smallbench.jsonl", "--budget", "4", "--prior", path, "--out", filepath.Join(dir, "out")}
	}, nil},
	"a prior in a log": {"own.json", func(dir, path string) []string {
		return []string{"evaluate", "plan", "--benchmark", "../data/smallbench/smallbench.jsonl", "--budget", "4", "--prior", path, "--out", filepath.Join(dir, "out")}
	}, map[string]string{"a folder": ""}},
	"logs": {"own.eval", func(dir, path string) []string {
		return []string{"import", path, "--to", filepath.Join(dir, "made.csv")}
	}, folderToo},
	"logs as rows": {"own.parquet", func(dir, path string) []string {
		return []string{"import", path, "--to", filepath.Join(dir, "made.csv")}
	}, folderToo},
	"cases": {"own.tsv", func(_, path string) []string { return []string{"check-scorer", "math", path} }, nil},
	"files of a benchmark": {"HuggingFaceH4/aime_2024/data/train-00000-of-00001.parquet", func(dir, _ string) []string {
		return []string{"benchmarks", "aime24", "--from", dir, "--to", filepath.Join(dir, "to")}
	}, nil},
	"a judge's prompt": {"judge.txt", func(_, path string) []string {
		return []string{"plan", "--config", "../experiments-small.toml", "--set", "judge.prompt=" + path}
	}, nil},
}

// folderToo is for commands that take a folder of files as well.
var folderToo = map[string]string{"a folder": ""}

func write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		panic(err)
	}
}

// Where a file is meant and something else is, every command says so at once.
func TestOnlyFilesAreRead(t *testing.T) {
	for reader, r := range readers {
		for what, none := range noFiles {
			t.Run(reader+"/"+what, func(t *testing.T) {
				want, other := r.says[what]
				if !other {
					want = none.want
				} else if want == "" {
					t.Skip("it takes folders")
				}
				dir := t.TempDir()
				path := filepath.Join(dir, r.name)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := none.make(path); err != nil {
					t.Skip(err)
				}
				args := r.args(dir, path)
				type outcome struct {
					code   int
					stderr string
				}
				done := make(chan outcome, 1)
				go func() {
					code, _, stderr := onShell(args...)
					done <- outcome{code, stderr}
				}()
				select {
				case o := <-done:
					if o.code != exitUsage && o.code != exitFailed || !strings.Contains(o.stderr, want) || !strings.Contains(o.stderr, r.name) {
						t.Errorf("%s: exit code %d, %q, want %q and %s", args, o.code, o.stderr, want, r.name)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("%s: it goes on", args)
				}
			})
		}
	}
}
