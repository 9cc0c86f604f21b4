package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"speceval/internal/golden"
	"speceval/pipeline/experiment"
)

// serve sends lines to a server of its own and returns the replies.
func serve(t *testing.T, lines ...string) []string {
	t.Helper()
	said := func(s *shell) { s.stdin = strings.NewReader(strings.Join(lines, "\n") + "\n") }
	code, stdout, stderr := ran(said, "serve", "--stdio", "--config", "../experiments.toml")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	replies := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if len(replies) != len(lines) {
		t.Fatalf("%d replies to %d messages: %s", len(replies), len(lines), stdout)
	}
	return replies
}

// TestTheProtocolIsAsDocumented sends every message of docs/protocol.md; with -update its
// replies become the page's.
func TestTheProtocolIsAsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(page), "\n")
	var at []int // lines of the conversation
	var sent []string
	end := func() {
		if len(sent) == 0 {
			return
		}
		for k, reply := range serve(t, sent...) {
			got[at[k]+1] = "< " + reply
		}
		at, sent = nil, nil
	}
	conversation := false
	for i, line := range got {
		switch {
		case strings.HasPrefix(line, "```"):
			conversation = line == "```text"
		case conversation && strings.HasPrefix(line, "$ "):
			end()
		case conversation && strings.HasPrefix(line, "> "):
			at, sent = append(at, i), append(sent, strings.TrimPrefix(line, "> "))
		}
	}
	end()
	golden.Check(t, "../../docs/protocol.md", []byte(strings.Join(got, "\n")))
}

// TestWhatServeDoesIsAnEvaluation lists, shows and compares what another program has run, and
// compares a log with it.
func TestWhatServeDoesIsAnEvaluation(t *testing.T) {
	folder := t.TempDir()
	of := func(seed int, rewards string, rollouts int) []string {
		lines := []string{fmt.Sprintf(`{"type":"start","protocol":1,"benchmark":"org/quiz","model":"m","tasks":["a","b","4"],"budget":2,"policy":"uniform","seed":%d}`, seed), `{"type":"next","most":9}`}
		for k := range rollouts {
			lines = append(lines, fmt.Sprintf(`{"type":"completed","task":%q,"rollout":%d,"reward":%c}`, []string{"a", "b", "4"}[k%3], 1+k/3, rewards[k]))
		}
		return lines
	}
	serve := func(lines []string) {
		said := func(s *shell) { s.stdin = strings.NewReader(strings.Join(lines, "\n") + "\n") }
		if code, stdout, stderr := ran(said, "serve", "--stdio", "--keep", "--config", "../experiments.toml", "--out", folder); code != exitDone || strings.Contains(stdout, `"error"`) {
			t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
		}
	}
	evaluate := func(code int, words ...string) string {
		t.Helper()
		is, stdout, stderr := ran(nil, append([]string{"evaluate", "--config", "../experiments.toml", "--out", folder}, words...)...)
		if is != code {
			t.Errorf("%v: exit code %d: %s", words, is, stderr)
		}
		return stdout + stderr
	}
	one, two := "org/quiz/m/uniform-b2-seed1", "org/quiz/m/uniform-b2-seed2"
	serve(of(1, "111100", 5))
	want(t, "list", evaluate(exitDone, "list"), one, "not complete")
	want(t, "show", evaluate(exitFailed, "show", one), "5 rollouts are scored so far")
	serve(append(of(1, "111100", 0)[:1], `{"type":"completed","task":"4","rollout":2,"reward":0}`))
	serve(of(2, "100000", 6))
	want(t, "list", evaluate(exitDone, "list"), one, "0.6667", two, "0.1667")
	want(t, "show", evaluate(exitDone, "show", one), "0.6667 ±", "6 of 3 tasks")
	page, err := os.ReadFile(filepath.Join(folder, "evaluate", "benchmark=org%2Fquiz", "model=m", "uniform-b2-seed1", "report.html"))
	if err != nil {
		t.Error(err)
	}
	want(t, "the page", string(page), "<h1>0.6667 ±", "The answers are with the program that has run the rollouts")
	want(t, "compare", evaluate(exitDone, "compare", one, two), "+0.5000 ±")
	want(t, "compare", evaluate(exitUsage, "compare", one, one), "share rollouts")
	want(t, "extend", evaluate(exitFailed, "extend", one, "--budget", "4"), "another program has run the rollouts")
	quiz := "../internal/evaluation/logs/testdata/inspect/"
	want(t, "compare with a log", evaluate(exitDone, "compare", one, quiz+"zstd.eval"), "+0.0833 ±", "zstd.eval: 1 left out: it is not scored")
	want(t, "gate", evaluate(exitOutside, "gate", quiz+"zstd.eval", one, "--no-worse-than", "0.02"), "undecided")
	want(t, "an allocation without its state", evaluate(exitUsage, "compare", one, quiz+"allocated.eval"), "an allocation that it does not tell")
}

// manyIDs is a list of ids as JSON has it inside an array.
func manyIDs(n int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%q", fmt.Sprint("t", i))
	}
	return strings.Join(ids, ",")
}

// TestABadStartGetsAnError sends starts that cannot be, and then one that can.
func TestABadStartGetsAnError(t *testing.T) {
	start := func(more string) string { return `{"type":"start","protocol":1,"tasks":["a","b"],` + more + `}` }
	lines := []string{
		start(`"target_se":1e-300`), start(`"budget":8,"target_se":0.1`), start(`"budget":8,"budget":9`),
		start(`"budget":8,"donors":[{"rollouts":[1000000000000000000,1],"passes":[1,1]}]`),
		start(`"budget":8,"donors":[` + strings.Repeat(`{"rollouts":[2,1],"passes":[1,1]},`, 5000) + `{"rollouts":[2,1],"passes":[1,1]}]`),
		strings.Replace(start(`"budget":8`), `"b"`, manyIDs(70_000), 1),
		start(`"budget":8`),
	}
	for i, reply := range serve(t, lines...) {
		if bad := i < len(lines)-1; strings.HasPrefix(reply, `{"type":"error"`) != bad {
			t.Errorf("%.120s: the reply is %.200s", lines[i], reply)
		}
	}
}

// fleetConfig is a small experiment with two models on the built-in benchmark.
const fleetConfig = `
[corpus]
tasks = "no-such-folder"
[[model]]
id = "qwen3_5_4b"
title = "Qwen3.5-4B"
thinking = true
thinking_budget = 512
reasoning_parser = "qwen3"
max_sequences = 8
[[model]]
id = "plain"
title = "Plain"
served = "org/plain"
max_sequences = 16
[[benchmark]]
id = "smallbench"
[sampling]
max_tokens = 2048
context_tokens = 4096
`

// announcer is a buffer that tells when a text has been written to it.
type announcer struct {
	buffer
	text string
	said chan struct{}
}

func (a *announcer) Write(p []byte) (int, error) {
	n, err := a.buffer.Write(p)
	if strings.Contains(string(p), a.text) {
		close(a.said)
	}
	return n, err
}

// fleetOf starts `speceval fleet` with more words and workers, and returns the
// lines that it prints, one a replica, and what ends it: its exit code and
// stderr.
func fleetOf(t *testing.T, workers, key string, words ...string) (lines []string, end func() (int, string)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "e.toml")
	write(file, fleetConfig+workers)
	var stdout buffer
	stderr := announcer{text: "serving; interrupt to stop", said: make(chan struct{})}
	interrupts := make(chan os.Signal, 2)
	s := &shell{stdout: &stdout, stderr: &stderr, now: time.Now, environment: []string{experiment.KeyVariable + "=" + key}, interrupts: interrupts, release: func() {}}
	code := make(chan int, 1)
	go func() { code <- run(append([]string{"fleet", "--config", file}, words...), s, experiment.Load) }()
	select {
	case c := <-code:
		return nil, func() (int, string) { return c, stderr.take() }
	case <-stderr.said:
	}
	lines = strings.Split(strings.TrimSpace(stdout.take()), "\n")
	return lines, func() (int, string) {
		interrupts <- os.Interrupt
		return <-code, stderr.take()
	}
}

// chatTo sends one chat to a served replica.
func chatTo(t *testing.T, line, model, key string) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Which river flows through Vienna, Budapest and Belgrade?"}],"seed":1}`, model)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Fields(line)[0]+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var a struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	if len(a.Choices) == 0 {
		return response.StatusCode, ""
	}
	return response.StatusCode, a.Choices[0].Message.Content
}

func TestFleetServes(t *testing.T) {
	dir := t.TempDir()
	profiles, log := filepath.Join(dir, "p.csv"), filepath.Join(dir, "log.jsonl")
	rows := "benchmark,model,task_index,task_id,pass_count,tested_k\nsmallbench,plain,0,judge-river,10,10\nsmallbench,plain,1,math-product,0,10\n"
	write(profiles, rows)
	lines, end := fleetOf(t, "", "secret", "--replicas", "3", "--port", "0", "--speed", "0", "--profiles", profiles, "--log", log, "--seed", "7")
	if len(lines) != 3 || !strings.Contains(lines[0], "qwen3_5_4b  vLLM 0.23.0+simulated, 4096 tokens, 8 sequences, as Qwen3.5-4B on an H20, without waiting") ||
		!strings.Contains(lines[1], "  org/plain  ") || !strings.Contains(lines[2], "  qwen3_5_4b  ") {
		_, said := end()
		t.Fatalf("serves %q\n%s", lines, said)
	}
	if code, text := chatTo(t, lines[1], "org/plain", "secret"); code != 200 || !strings.Contains(text, "\nAnswer: The Danube\n") {
		t.Errorf("%d %q", code, text)
	}
	if code, _ := chatTo(t, lines[0], "org/plain", "secret"); code != 404 {
		t.Errorf("another model is answered with %d", code)
	}
	if code, said := end(); code != exitDone || !strings.Contains(said, "p.csv has no profile of model qwen3_5_4b") {
		t.Errorf("an interrupt ends it with %d: %s", code, said)
	}
	logged, err := os.ReadFile(log)
	if err != nil || strings.Count(string(logged), "\n") != 2 || !strings.Contains(string(logged), `"outcome":"stop"`) {
		t.Errorf("the log is %q (%v)", logged, err)
	}
}

func TestFleetIsSlowWhereItIsWrong(t *testing.T) {
	profiles := filepath.Join(t.TempDir(), "p.csv")
	rows := "benchmark,model,task_index,task_id,pass_count,tested_k\nsmallbench,plain,0,judge-river,0,10\nsmallbench,plain,1,math-product,0,10\n"
	write(profiles, rows)
	var lengths []int
	for _, factor := range []string{"1", "3"} {
		lines, end := fleetOf(t, "", "", "--replicas", "1", "--port", "0", "--model", "plain", "--speed", "0", "--profiles", profiles, "--slow-wrong", factor)
		if len(lines) != 1 {
			_, said := end()
			t.Fatal(said)
		}
		_, text := chatTo(t, lines[0], "org/plain", "")
		lengths = append(lengths, len(text))
		end()
	}
	if lengths[1] < 2*lengths[0] {
		t.Errorf("answers of %v characters", lengths)
	}
}

// TestFleetNeedNotRepeatItself asks again with the same seed, of servers that
// ignore it and of one that is not vLLM.
func TestFleetNeedNotRepeatItself(t *testing.T) {
	for _, flag := range []string{"", "--unrepeatable", "--plain"} {
		words := []string{"--replicas", "1", "--port", "0", "--model", "plain", "--speed", "0"}
		if flag != "" {
			words = append(words, flag)
		}
		lines, end := fleetOf(t, "", "", words...)
		if len(lines) != 1 {
			_, said := end()
			t.Fatal(said)
		}
		code, first := chatTo(t, lines[0], "org/plain", "")
		_, again := chatTo(t, lines[0], "org/plain", "")
		if code != 200 || (first == again) != (flag != "--unrepeatable") || strings.Contains(lines[0], "is not vLLM") != (flag == "--plain") {
			t.Errorf("%q: %s: %q and %q", flag, lines[0], first, again)
		}
		end()
	}
}

// TestFleetTakesTheWorkersHere serves what the configuration names, and says
// when a port is taken.
func TestFleetTakesTheWorkersHere(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	workers := fmt.Sprintf("[[worker]]\nname = \"w\"\nurls = [\"http://far:8000\", \"http://%s\"]\n", taken.Addr())
	_, end := fleetOf(t, workers, "")
	if code, said := end(); code != exitFailed || !strings.Contains(said, "address already in use; something else may be serving there") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

func TestFleetRefuses(t *testing.T) {
	for words, fault := range map[string]string{
		"":                                       "no [[worker]] with a URL on this machine",
		"--replicas -1":                          "want a number of replicas",
		"--replicas 9 --port 65530":              "want a number of replicas",
		"--replicas 1 --model other":             "the configuration has no such model",
		"--replicas 1 --speed -1":                "want a factor of time",
		"--replicas 1 --stream-interval 0":       "want a token at least",
		"--replicas 1 --slow-wrong 0":            "want a factor of length",
		"--replicas 1 --slow-wrong NaN":          "want a factor of length",
		"--replicas 1 --fail crush=1":            `fault "crush" is none of`,
		"--replicas 1 --profiles missing.csv":    "missing.csv",
		"--replicas 1 --tasks missing.jsonl":     "--tasks: ",
		"--replicas 1 more":                      `unknown command "more"`,
		"--replicas 1 --config missing.toml":     "there is no such file",
		"--replicas 1 --seed x":                  `invalid argument "x"`,
		"--replicas 1 --set corpus.nonsense=1":   "corpus.nonsense",
		"--replicas 1 --fail cut=0.9,crash=0.9 ": "add up to",
	} {
		_, end := fleetOf(t, "", "", strings.Fields(words)...)
		if code, said := end(); code != exitUsage || !regexp.MustCompile(regexp.QuoteMeta(fault)).MatchString(said) {
			t.Errorf("%s: exit code %d: %s", words, code, said)
		}
	}
}
