package launcher

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/clock"
)

// The logs are of real servers that did not start, shortened in their middle.
func TestCause(t *testing.T) {
	tests := []struct {
		log   string
		begin string
		lines int
	}{
		{"architecture.log", "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, Model architectures ['NoSuchForCausalLM'] are not supported", 3},
		{"weights.log", "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered", 1},
		{"flag.log", "api_server.py: error: unrecognized arguments: --no-such-flag", 1},
	}
	for _, test := range tests {
		text, err := os.ReadFile(filepath.Join("testdata", test.log))
		if err != nil {
			t.Fatal(err)
		}
		got := cause(string(text))
		if !strings.HasPrefix(strings.Join(got, "\n"), test.begin) || len(got) != test.lines {
			t.Errorf("%s ended for %d lines:\n%s\nwant %d that begin with\n%s", test.log, len(got), strings.Join(got, "\n"), test.lines, test.begin)
		}
		for _, line := range got {
			if len(line) > longestLine {
				t.Errorf("%s: a line of %d bytes", test.log, len(line))
			}
		}
	}
}

func TestNoCause(t *testing.T) {
	for _, log := range []string{
		"", "INFO 11-22 04:32:50 [a.py:1] ready\n", "vllm-cpu: no vLLM in there\n",
		"(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
		"the word ValueError: in a sentence\n  KeyError: indented, a line of a program\n",
	} {
		if got := cause(log); got != nil {
			t.Errorf("%q ended for %q", log, got)
		}
	}
}

func TestMemory(t *testing.T) {
	available, err := AvailableMemory("MemTotal: 24 kB\nMemAvailable:    8388608 kB\n")
	if err != nil || available != 8<<30 {
		t.Fatalf("%d bytes, %v", available, err)
	}
	for _, text := range []string{"", "MemAvailable: many kB\n", "MemAvailable: -1 kB\n"} {
		if _, err := AvailableMemory(text); err == nil {
			t.Errorf("%q tells of memory", text)
		}
	}
	r := Recipe{Replicas: 3, MemoryGiB: 2.5}
	has := func(gib float64) Options {
		return Options{Memory: func() (int64, error) { return int64(gib * (1 << 30)), nil }}
	}
	if err := r.checkMemory(has(7.5)); err != nil {
		t.Error(err)
	}
	err = r.checkMemory(has(7.4))
	for _, want := range []string{"3 replicas of 2.5 GiB need 7.5 GiB", "7.4 GiB are available", "systems.replicas to 2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	unknown := Options{Memory: func() (int64, error) { return 0, errors.New("no such file") }}
	if err := r.checkMemory(unknown); err == nil || !strings.Contains(err.Error(), "memory_gib to 0") {
		t.Errorf("unknown memory: %v", err)
	}
	r.MemoryGiB = 0
	if err := r.checkMemory(unknown); err != nil {
		t.Errorf("memory that is not to be checked: %v", err)
	}
}

// Everything that is wrong is told at once, and no process is started.
func TestPreflightComesFirst(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := recipeAt(l.Addr().(*net.TCPAddr).Port, 1, "ready")
	r.MemoryGiB = 1
	_, err = Start(context.Background(), r, tiny, Options{
		Logs: logs, Clock: clock.Wall{}, Environment: os.Environ(), Memory: func() (int64, error) { return 0, nil },
	})
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{"is in use: stop what listens there", "need 1.0 GiB"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	if _, err := os.Stat(logs); err == nil {
		t.Error("a process was started")
	}
}
