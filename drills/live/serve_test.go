package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// environmentOf is a folder that looks like what `make vllm-cpu` makes. Its
// Python prints its arguments.
func environmentOf(t *testing.T, parts ...string) string {
	t.Helper()
	dir := t.TempDir()
	contents := map[string]string{
		"env/bin/python": "#!/bin/sh\nprintf '%s\\n' \"$@\"\n",
		"env/lib/python3.11/site-packages/vllm/__init__.py": "",
		"cpuinfo": "flags : fpu avx2 sse\n",
	}
	for _, name := range parts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(contents[name]), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serve runs the launch command for an environment, and says what it printed.
func serve(t *testing.T, dir, cpuinfo string, args ...string) (string, error) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the build is for Linux on x86_64")
	}
	command := exec.Command("../../vllm-cpu/serve.sh", args...)
	command.Env = append(os.Environ(), "VLLM_CPU_DIR="+dir, "CPUINFO="+cpuinfo)
	text, err := command.CombinedOutput()
	return string(text), err
}

func TestServeRefuses(t *testing.T) {
	python, vllm := "env/bin/python", "env/lib/python3.11/site-packages/vllm/__init__.py"
	good := filepath.Join(environmentOf(t, "cpuinfo"), "cpuinfo")
	old := filepath.Join(t.TempDir(), "old")
	if err := os.WriteFile(old, []byte("flags : fpu sse avx\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		dir     string
		cpuinfo string
		want    []string
	}{
		{"no environment", t.TempDir(), good, []string{"make vllm-cpu", "about 3 GB", "5.8 GB", "minutes", "nothing was changed"}},
		{"half an environment", environmentOf(t, python), good, []string{"make vllm-cpu"}},
		{"an old processor", environmentOf(t, python, vllm), old, []string{"neither AVX2 nor AVX-512"}},
	}
	for _, test := range tests {
		for _, args := range [][]string{{"--check"}, {"--model", "m"}} {
			text, err := serve(t, test.dir, test.cpuinfo, args...)
			if err == nil {
				t.Errorf("%s: it serves", test.name)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s: no %q in:\n%s", test.name, want, text)
				}
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(tests[0].dir, "*")); len(left) > 0 {
		t.Errorf("the refusal made %q", left)
	}
}

func TestServe(t *testing.T) {
	dir := environmentOf(t, "env/bin/python", "env/lib/python3.11/site-packages/vllm/__init__.py", "cpuinfo")
	cpuinfo := filepath.Join(dir, "cpuinfo")
	if text, err := serve(t, dir, cpuinfo, "--check"); err != nil || text != "" {
		t.Errorf("the check says %q, %v", text, err)
	}
	text, err := serve(t, dir, cpuinfo, "--model", "a b", "--port", "1")
	if want := "-m\nvllm.entrypoints.openai.api_server\n--model\na b\n--port\n1\n"; err != nil || text != want {
		t.Errorf("it runs %q, %v, want %q", text, err, want)
	}
}
