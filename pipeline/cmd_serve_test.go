package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/pipeline/experiment"
)

// serve sends lines to a server of its own and returns the replies.
func serve(t *testing.T, flags string, lines ...string) []string {
	t.Helper()
	send := func(s *shell) { s.stdin = strings.NewReader(strings.Join(lines, "\n") + "\n") }
	code, stdout, stderr := ran(send, words("serve --stdio --config ../experiments.toml "+flags)...)
	replies := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if code != exitDone || len(replies) != len(lines) {
		t.Fatalf("exit code %d, %d replies to %d messages: %s%s", code, len(replies), len(lines), stdout, stderr)
	}
	return replies
}

// TestTheProtocolIsAsDocumented sends every message of docs/protocol.md; with -update its
// replies become the page's.
func TestTheProtocolIsAsDocumented(t *testing.T) {
	got := strings.Split(read(filepath.Join("..", "docs", "protocol.md")), "\n")
	var at []int // lines of the conversation
	var sent []string
	end := func() {
		if len(sent) > 0 {
			for k, reply := range serve(t, "", sent...) {
				got[at[k]+1] = "< " + reply
			}
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
		if replies := strings.Join(serve(t, "--keep --out "+folder, lines...), ""); strings.Contains(replies, `"error"`) {
			t.Error(replies)
		}
	}
	evaluate := func(code int, words ...string) string {
		t.Helper()
		return said(t, code, append([]string{"--out", folder, "evaluate"}, words...)...)
	}
	one, two := "org/quiz/m/uniform-b2-seed1", "org/quiz/m/uniform-b2-seed2"
	serve(of(1, "111100", 5))
	want(t, "list", evaluate(exitDone, "list"), one, "not complete")
	want(t, "show", evaluate(exitFailed, "show", one), "5 rollouts are scored so far")
	serve(append(of(1, "111100", 0)[:1], `{"type":"completed","task":"4","rollout":2,"reward":0}`))
	serve(of(2, "100000", 6))
	want(t, "list", evaluate(exitDone, "list"), one, "0.6667", two, "0.1667")
	want(t, "show", evaluate(exitDone, "show", one), "0.6667 ±", "6 of 3 tasks")
	want(t, "the page", read(filepath.Join(folder, "evaluate", "benchmark=org%2Fquiz", "model=m", "uniform-b2-seed1", "report.html")), "<h1>0.6667 ±", "The answers are with the program that has run the rollouts")
	want(t, "compare", evaluate(exitDone, "compare", one, two), "+0.5000 ±")
	want(t, "compare", evaluate(exitUsage, "compare", one, one), "share rollouts")
	want(t, "extend", evaluate(exitFailed, "extend", one, "--budget", "4"), "another program has run the rollouts")
	quiz := "../internal/evaluation/logs/testdata/inspect/"
	want(t, "compare with a log", evaluate(exitDone, "compare", one, quiz+"zstd.eval"), "+0.0833 ±", "zstd.eval: 1 left out: it is not scored")
	want(t, "gate", evaluate(exitOutside, "gate", quiz+"zstd.eval", one, "--no-worse-than", "0.02"), "undecided")
	want(t, "an allocation without its state", evaluate(exitUsage, "compare", one, quiz+"allocated.eval"), "an allocation that it does not tell")
}

// TestABadStartGetsAnError sends starts that cannot be, and then one that can.
func TestABadStartGetsAnError(t *testing.T) {
	ids := make([]string, 70_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("%q", fmt.Sprint("t", i))
	}
	start := func(more string) string { return `{"type":"start","protocol":1,"tasks":["a","b"],` + more + `}` }
	lines := []string{
		start(`"target_se":1e-300`), start(`"budget":8,"target_se":0.1`), start(`"budget":8,"budget":9`),
		start(`"budget":8,"donors":[{"rollouts":[1000000000000000000,1],"passes":[1,1]}]`),
		start(`"budget":8,"donors":[` + strings.Repeat(`{"rollouts":[2,1],"passes":[1,1]},`, 5000) + `{"rollouts":[2,1],"passes":[1,1]}]`),
		strings.Replace(start(`"budget":8`), `"b"`, strings.Join(ids, ","), 1),
		start(`"budget":8`),
	}
	for i, reply := range serve(t, "", lines...) {
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

// fleetOf starts `speceval fleet` with more words, and returns the lines that it prints of its n
// replicas, and what ends it: its exit code and stderr.
func fleetOf(t *testing.T, n int, key string, more ...string) (lines []string, end func() (code int, stderr string)) {
	t.Helper()
	config := filesIn(t, map[string]string{"e.toml": fleetConfig})
	read, write := io.Pipe()
	interrupts, code, stderr := make(chan os.Signal, 1), make(chan int, 1), ""
	go func() {
		defer write.Close()
		ended, _, said := ran(func(s *shell) {
			s.stdout, s.environment, s.interrupts = write, []string{experiment.KeyVariable + "=" + key}, interrupts
		}, append(words("fleet --config "+config+"/e.toml"), more...)...)
		stderr = said
		code <- ended
	}()
	for printed := bufio.NewScanner(read); len(lines) < n && printed.Scan(); {
		lines = append(lines, printed.Text())
	}
	return lines, func() (int, string) {
		interrupts <- os.Interrupt
		return <-code, stderr
	}
}

// chatTo sends one chat to a served replica.
func chatTo(t *testing.T, line, model, key string) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Which river flows through Vienna, Budapest and Belgrade?"}],"seed":1}`, model)
	request := must(http.NewRequest(http.MethodPost, words(line)[0]+"/v1/chat/completions", strings.NewReader(body)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+key)
	response := must(http.DefaultClient.Do(request))
	defer response.Body.Close()
	var a struct {
		Choices []struct{ Message struct{ Content string } }
	}
	ok(t, json.NewDecoder(response.Body).Decode(&a))
	if len(a.Choices) == 0 {
		return response.StatusCode, ""
	}
	return response.StatusCode, a.Choices[0].Message.Content
}

func TestFleetServes(t *testing.T) {
	dir := t.TempDir()
	profiles, log := filepath.Join(dir, "p.csv"), filepath.Join(dir, "log.jsonl")
	write(profiles, "benchmark,model,task_index,task_id,pass_count,tested_k\nsmallbench,plain,0,judge-river,10,10\nsmallbench,plain,1,math-product,0,10\n")
	lines, end := fleetOf(t, 3, "secret", "--replicas", "3", "--port", "0", "--speed", "0", "--profiles", profiles, "--log", log, "--seed", "7")
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
	if logged := read(log); strings.Count(logged, "\n") != 2 || !strings.Contains(logged, `"outcome":"stop"`) {
		t.Errorf("the log is %q", logged)
	}
}

func TestFleetIsSlowWhereItIsWrong(t *testing.T) {
	profiles := filepath.Join(t.TempDir(), "p.csv")
	write(profiles, "benchmark,model,task_index,task_id,pass_count,tested_k\nsmallbench,plain,0,judge-river,0,10\nsmallbench,plain,1,math-product,0,10\n")
	var lengths []int
	for _, factor := range []string{"1", "3"} {
		line, end := onePlain(t, "--profiles", profiles, "--slow-wrong", factor)
		_, text := chatTo(t, line, "org/plain", "")
		lengths = append(lengths, len(text))
		end()
	}
	if lengths[1] < 2*lengths[0] {
		t.Errorf("answers of %v characters", lengths)
	}
}

// onePlain is a replica of the model that does not think.
func onePlain(t *testing.T, more ...string) (line string, end func() (int, string)) {
	t.Helper()
	lines, end := fleetOf(t, 1, "", append(words("--replicas 1 --port 0 --model plain --speed 0"), more...)...)
	if len(lines) != 1 {
		_, said := end()
		t.Fatal(said)
	}
	return lines[0], end
}

// TestFleetNeedNotRepeatItself asks again with the same seed, of servers that
// ignore it and of one that is not vLLM.
func TestFleetNeedNotRepeatItself(t *testing.T) {
	for _, flag := range []string{"", "--unrepeatable", "--plain"} {
		line, end := onePlain(t, words(flag)...)
		code, first := chatTo(t, line, "org/plain", "")
		_, again := chatTo(t, line, "org/plain", "")
		if code != 200 || (first == again) != (flag != "--unrepeatable") || strings.Contains(line, "is not vLLM") != (flag == "--plain") {
			t.Errorf("%q: %s: %q and %q", flag, line, first, again)
		}
		end()
	}
}

// TestFleetTakesTheWorkersHere serves what the configuration names, and says
// when a port is taken.
func TestFleetTakesTheWorkersHere(t *testing.T) {
	taken := must(net.Listen("tcp", "127.0.0.1:0"))
	defer taken.Close()
	config := filesIn(t, map[string]string{"e.toml": fleetConfig + fmt.Sprintf("[[worker]]\nname = \"w\"\nurls = [\"http://far:8000\", \"http://%s\"]\n", taken.Addr())})
	want(t, "fleet", said(t, exitFailed, words("fleet --config "+config+"/e.toml")...), "address already in use; something else may be serving there")
}

func TestFleetRefuses(t *testing.T) {
	config := filesIn(t, map[string]string{"e.toml": fleetConfig})
	for line, fault := range map[string]string{
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
		want(t, line, said(t, exitUsage, words("fleet --config "+config+"/e.toml "+line)...), fault)
	}
}
