package launcher

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// folder writes a model folder that is well, with the given files over it; one
// without content is left out.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"config.json": "{}", "tokenizer_config.json": `{"chat_template": "x"}`}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestModelFolders(t *testing.T) {
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	tests := []struct {
		name  string
		files map[string]string
		words []string
		want  []string // in the error; none: the folder is well
	}{
		{"whole", nil, nil, nil},
		{"no configuration", map[string]string{"config.json": ""}, nil, []string{"has no config.json"}},
		{"no tokenizer", map[string]string{"tokenizer_config.json": ""}, nil, []string{"has no chat template"}},
		{"no template", map[string]string{"tokenizer_config.json": `{"eos_token": "x"}`}, nil, []string{"has no chat template"}},
		{"empty template", map[string]string{"tokenizer_config.json": `{"chat_template": null}`}, nil, []string{"has no chat template"}},
		{"a template of its own", map[string]string{"tokenizer_config.json": "{}", "chat_template.jinja": "x"}, nil, nil},
		{"several templates", map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "default", "template": "x"}]}`}, nil, nil},
		{"a template by argument", map[string]string{"tokenizer_config.json": "{}"}, []string{"--chat-template=x"}, nil},
		{"no JSON", map[string]string{"tokenizer_config.json": "{"}, nil, []string{"tokenizer_config.json"}},
		{"sums", map[string]string{"w": "weights", sumsFile: sum("weights") + "  w\n" + strings.ToUpper(sum("{}")) + " *config.json\n\n"}, nil, nil},
		{"another file", map[string]string{"w": "weight", sumsFile: sum("weights") + "  w\n"}, nil, []string{"/w has the SHA-256 " + sum("weight"), "says " + sum("weights")}},
		{"a file too few", map[string]string{sumsFile: sum("weights") + "  w\n"}, nil, []string{"/w is not there"}},
		{"no sum", map[string]string{sumsFile: "abc  w\n"}, nil, []string{`"abc  w" is not a SHA-256`}},
		{"a file elsewhere", map[string]string{sumsFile: sum("x") + "  ../w\n"}, nil, []string{"../w\" is not a SHA-256 and the name of a file in the folder"}},
		{"all at once", map[string]string{"config.json": "", "tokenizer_config.json": "{}", sumsFile: sum("x") + "  w\n"}, nil,
			[]string{"no config.json", "no chat template", "/w is not there"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := checkFolder(folder(t, test.files), test.words)
			if len(test.want) == 0 && err != nil {
				t.Error(err)
			}
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
	if err := checkFolder("Qwen/Qwen2.5-3B-Instruct", nil); err != nil {
		t.Errorf("a name that is no folder: %v", err)
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
	dir, logs := folder(t, map[string]string{"config.json": ""}), filepath.Join(t.TempDir(), "logs")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			fmt.Fprint(w, `{"version": "0.22.0"}`)
		case "/v1/models":
			fmt.Fprint(w, `{"data": [{"id": "large", "max_model_len": 512}]}`)
		}
	}))
	defer server.Close()
	r := recipeAt(atoi(server.URL[strings.LastIndex(server.URL, ":")+1:]), 1, "ready")
	r.MemoryGiB = 1
	m := tiny
	m.Path = dir
	_, err := Start(context.Background(), r, m, Options{
		Logs: logs, Clock: clock.Wall{}, Environment: os.Environ(), Memory: func() (int64, error) { return 0, nil },
	})
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{
		"is in use", `a vLLM 0.22.0 answers there that serves "large" with a context of 512 tokens`, "no config.json", "need 1.0 GiB",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	if _, err := os.Stat(logs); err == nil {
		t.Error("a process was started")
	}
}
