package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/internal/golden"
)

// paper lists the paper's checkpoints with their limits of running sequences.
func paper() []Model {
	model := func(name string, sequences int, thinking bool) Model {
		m := Model{Path: "Qwen/" + name, Served: name, MaxSequences: sequences, ContextTokens: 32768}
		if thinking {
			m.ReasoningParser, m.ThinkingBudget = "qwen3", true
		}
		return m
	}
	return []Model{
		model("Qwen2.5-3B-Instruct", 256, false), model("Qwen2.5-7B-Instruct", 192, false), model("Qwen2.5-32B-Instruct", 128, false),
		model("Qwen3.5-4B", 128, true), model("Qwen3.5-9B", 128, true), model("Qwen3.5-27B", 64, true),
	}
}

func TestPaperCommands(t *testing.T) {
	r := Recipe{Command: "vllm serve {model}", Port: 8000, Replicas: 8}
	var text bytes.Buffer
	for _, m := range paper() {
		for _, i := range []int{0, 7} {
			words, err := r.Words(m, i)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "%s, replica %d, %s\n", m.Served, i, r.URL(i))
			for _, v := range r.Variables(m, i, "secret") {
				fmt.Fprintf(&text, "  %s\n", v)
			}
			fmt.Fprintf(&text, "  %s\n\n", strings.ReplaceAll(strings.Join(words, " "), " --", "\n    --"))
		}
	}
	golden.Check(t, "paper.txt", text.Bytes())
}

func TestReplicasTakeTheGPUsThatThereAre(t *testing.T) {
	m := Model{Path: "m", Served: "m", MaxSequences: 8, ContextTokens: 64}
	r := Recipe{Command: "serve", Port: 9000, Replicas: 2, GPUs: []string{"4", "GPU-ab", "7"}}
	for i, want := range []string{"CUDA_VISIBLE_DEVICES=4", "CUDA_VISIBLE_DEVICES=GPU-ab"} {
		if variables := r.Variables(m, i, ""); !slices.Contains(variables, want) {
			t.Errorf("replica %d has %q, want %s", i, variables, want)
		}
	}
	r.Replicas = 4
	if _, err := r.Words(m, 0); err == nil || !strings.Contains(err.Error(), "CUDA_VISIBLE_DEVICES leaves 3 GPUs for 4 replicas") {
		t.Errorf("four replicas on three GPUs: %v", err)
	}
}

func TestRecipeWins(t *testing.T) {
	r := Recipe{
		Command:     `"/opt/my env/python" -m server --model '{model}' --tag {replica}:{port}`,
		Arguments:   []string{"--max-num-seqs", "32", "--extra", `{"a": "{model}"}`},
		Environment: []string{"CUDA_VISIBLE_DEVICES=GPU-{replica}", "VLLM_API_KEY=theirs", "PORT={port}"},
		Host:        "::1", Port: 9000, Replicas: 2,
	}
	m := Model{Path: "/models/a b", Served: "tiny", MaxSequences: 8, ContextTokens: 64, Flags: []string{"--load-format", "dummy"}}
	words, err := r.Words(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	begin := []string{"/opt/my env/python", "-m", "server", "--model", "/models/a b", "--tag", "1:9001", "--host", "::1", "--port", "9001"}
	if !slices.Equal(words[:len(begin)], begin) {
		t.Errorf("the command begins with %q, want %q", words[:len(begin)], begin)
	}
	end := []string{"--load-format", "dummy", "--seed", "1", "--disable-uvicorn-access-log", "--max-num-seqs", "32", "--extra", `{"a": "/models/a b"}`}
	if got := words[len(words)-len(end):]; !slices.Equal(got, end) {
		t.Errorf("the command ends with %q, want %q", got, end)
	}
	variables := r.Variables(m, 1, "ours")
	for _, want := range []string{"CUDA_VISIBLE_DEVICES=GPU-1", "VLLM_API_KEY=theirs", "PORT=9001", "HF_HUB_OFFLINE=1"} {
		if !slices.Contains(variables, want) {
			t.Errorf("%q lack %s", variables, want)
		}
	}
	for _, never := range []string{"CUDA_VISIBLE_DEVICES=1", "VLLM_API_KEY=ours", "VLLM_USE_V2_MODEL_RUNNER=0"} {
		if slices.Contains(variables, never) {
			t.Errorf("%q have %s", variables, never)
		}
	}
	if got := r.URL(1); got != "http://[::1]:9001" {
		t.Errorf("replica 1 is at %s", got)
	}
}

func TestWrongRecipes(t *testing.T) {
	good := Recipe{Command: "serve", Port: 8000, Replicas: 1}
	model := Model{Path: "m", Served: "m", MaxSequences: 1, ContextTokens: 1}
	tests := []struct {
		change func(*Recipe, *Model)
		want   string
	}{
		{func(r *Recipe, _ *Model) { r.Replicas = 0 }, "replicas to launch: 0"},
		{func(r *Recipe, _ *Model) { r.Port = 0 }, "ports from 0"},
		{func(r *Recipe, _ *Model) { r.Port, r.Replicas = 65530, 8 }, "ports from 65530 for 8 replicas"},
		{func(r *Recipe, _ *Model) { r.Command = " \t" }, "the launch command is empty"},
		{func(r *Recipe, _ *Model) { r.Command = `serve "a b` }, "is not closed"},
		{func(r *Recipe, _ *Model) { r.Environment = []string{"A"} }, `"A" is not KEY=VALUE`},
		{func(r *Recipe, _ *Model) { r.Environment = []string{"=b"} }, `"=b" is not KEY=VALUE`},
		{func(_ *Recipe, m *Model) { m.Path = "" }, "without a path"},
		{func(_ *Recipe, m *Model) { m.Served = "" }, "no served name"},
		{func(_ *Recipe, m *Model) { m.MaxSequences = 0 }, "at most 0 sequences"},
		{func(_ *Recipe, m *Model) { m.ContextTokens = -1 }, "context of -1 tokens"},
	}
	for _, test := range tests {
		r, m := good, model
		test.change(&r, &m)
		if _, err := r.Words(m, 0); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error with %q", err, test.want)
		}
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  a\tb\n c ", []string{"a", "b", "c"}},
		{`'a b' "c d"e f'g'`, []string{"a b", "c de", "fg"}},
		{`a '' ""`, []string{"a", "", ""}},
		{`'say "hi"' "it's"`, []string{`say "hi"`, "it's"}},
		{`C:\x é`, []string{`C:\x`, "é"}},
	}
	for _, test := range tests {
		got, err := split(test.line)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("split(%q) = %q, %v, want %q", test.line, got, err, test.want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`a 'b c' "d"`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := split(line)
		if err != nil {
			return
		}
		// What a log shows must be taken apart into the same words, but for the
		// backslashes that a shell needs.
		if strings.Contains(line, "'") {
			return
		}
		again, err := split(lineOf(words))
		if err != nil || !slices.Equal(again, words) {
			t.Errorf("%q became %q, then %q (%v)", line, words, again, err)
		}
	})
}

func lineOf(words []string) string { return line(nil, words) }

// A keeper that loses us ends a group that does not want to.
func TestKeeperEndsADeafGroup(t *testing.T) {
	deaf := exec.Command("/bin/sh", "-c", `trap "" TERM; echo deaf; while :; do sleep 0.1; done`)
	deaf.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := deaf.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := deaf.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	k, err := keep(deaf.Process.Pid, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	k.alive.Close()
	var ended *exec.ExitError
	if err := deaf.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended by %v", err)
	}
	if err := k.shell.Wait(); err != nil {
		t.Errorf("the keeper: %v", err)
	}
}

// The keeper of a server that has ended does not stay.
func TestDismissedKeeper(t *testing.T) {
	server := exec.Command("sleep", "60")
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	k, err := keep(server.Process.Pid, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	k.dismiss()
	if err := server.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("it has ended the server")
	}
	_ = server.Process.Kill()
	_ = server.Wait() // killed
}
