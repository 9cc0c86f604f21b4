package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"speceval/pipeline/status"
)

// status is what status --json says, a stage by its name.
func (b *bench) status(flags string) (st status.Status, stages map[string]status.Stage) {
	b.t.Helper()
	stdout, _ := b.ok("status --json " + flags)
	ok(b.t, json.Unmarshal([]byte(stdout), &st))
	stages = make(map[string]status.Stage)
	for _, s := range st.Stages {
		stages[s.Name] = s
	}
	return st, stages
}

func TestStatusWhileARunIsUnderWay(t *testing.T) {
	b := newBench(t)
	under, goOn := make(chan bool), make(chan bool)
	b.hook = func(_ context.Context, unit string) error {
		switch unit {
		case "replay/a":
			return errBroken
		case "replay/c":
			under <- true
			<-goOn
		}
		return nil
	}
	done := make(chan bool)
	go func() {
		b.do("run --keep-going")
		close(done)
	}()
	<-under
	for !strings.Contains(b.logged(), `"msg":"unit started","host":"lab","stage":"replay","unit":"c"`) {
		runtime.Gosched() // the unit may be quicker than the line about it
	}
	looker := newBench(t)
	looker.out = b.out
	st, stages := looker.status("")
	if r := stages["replay"]; r.Queued != 0 || r.Running != 1 || r.Failed != 1 || r.Fresh != 1 || r.Missing != 2 || !strings.HasPrefix(st.Run, "pid 7 on lab, ") {
		t.Errorf("under way: %+v by %q", r, st.Run)
	}
	text, _ := looker.ok("status")
	want(t, "status", text, "a run is under way: pid 7 on lab, ", "failed, and not fresh since:\n  replay/a: broken\n    "+b.out+"/logs/run-")
	close(goOn)
	<-done
	st, stages = looker.status("")
	if r := stages["replay"]; r.Running != 0 || r.Failed != 1 || st.Run != "" || len(st.Failures) != 1 || st.Failures[0].Host != "lab" {
		t.Errorf("after the run: %+v %+v", r, st)
	}
}

func TestAUnitFailedUntilItIsFreshOrAnother(t *testing.T) {
	b := newBench(t)
	b.fails("replay/b", errors.New("broken\n  in many\n  lines"))
	b.do("run")
	if st, stages := b.status(""); stages["replay"].Failed != 1 || len(st.Failures) != 1 || st.Failures[0].Error != "broken" ||
		!strings.Contains(st.Failures[0].Log, "/logs/run-") {
		t.Errorf("after the failure: %+v", st)
	}
	_, stages := b.status("--set replay.draws=1024")
	same(t, "other units that have failed", stages["replay"].Failed, 0)
	b.hook = nil
	key := regexp.MustCompile(`"unit":"b","key":"(\w+)"`).FindStringSubmatch(b.logged())[1]
	b.ok("unit replay " + key) // writes no log of a run
	if st, stages := b.status(""); stages["replay"].Failed != 0 || len(st.Failures) != 0 {
		t.Errorf("after it has run: %+v", st)
	}
}

// evil is text that clears a screen, names a window, turns text around and begins a line
// that looks like one of ours.
const evil = "\x1b]0;owned\a\x1b[2J\x00\u202eback\u009b31m\u2028\nspeceval: all is well\r"

// obeyed is the first thing in a text that a terminal would obey; "" for nothing.
func obeyed(text string) string {
	at := strings.IndexFunc(strings.ToValidUTF8(text, "\x00"), func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r))
	})
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("%q", text[max(0, at-60):min(len(text), at+20)])
}

// say runs a command line, and fails if a terminal would obey what it says.
func say(t *testing.T, words ...string) (code int, stdout, stderr string) {
	t.Helper()
	code, stdout, stderr = ran(nil, words...)
	for name, text := range map[string]string{"stdout": stdout, "stderr": stderr} {
		if what := obeyed(text); what != "" {
			t.Errorf("%q: a terminal obeys what is on %s: %s", words, name, what)
		}
		if strings.Contains("\n"+text, "\nspeceval: all is well") {
			t.Errorf("%q: a line of others passes for one of ours on %s:\n%s", words, name, text)
		}
	}
	return code, stdout, stderr
}

// TestNoTerminalObeysWhatOthersSay: task files and servers say what they like, and it is
// shown escaped, and stored as it came.
func TestNoTerminalObeysWhatOthersSay(t *testing.T) {
	t.Chdir(t.TempDir())
	var tasks strings.Builder
	for i, id := range []string{"a", "b", evil} {
		line, _ := json.Marshal(map[string]string{"id": id, "prompt": strings.ReplaceAll(evil, "\n", " ") + fmt.Sprint(i), "answer": evil, "scorer": "exact"})
		fmt.Fprintf(&tasks, "%s\n", line)
	}
	write("mine.jsonl", tasks.String())
	write("experiments.toml", "")
	code, _, stderr := say(t, "benchmarks", "check", "mine.jsonl", "--unpublished")
	same(t, stderr, code, exitDone)
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		quoted := must(json.Marshal(evil))
		switch {
		case r.URL.Path == "/version":
			fmt.Fprintf(w, `{"version":%s}`, quoted)
		case r.URL.Path == "/v1/models":
			fmt.Fprintf(w, `{"data":[{"id":"m","owned_by":"me"},{"id":%s}]}`, quoted)
		case answer == "":
			fmt.Fprintf(w, `data: {"id":%[1]s,"system_fingerprint":%[1]s,"choices":[{"index":0,"delta":{"content":%[1]s},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":9}}`+"\n\ndata: [DONE]\n\n", quoted)
		default:
			w.WriteHeader(400)
			fmt.Fprintf(w, answer, quoted)
		}
	}))
	defer server.Close()
	evaluate := []string{"evaluate", "--benchmark", "mine.jsonl", "--model", "m", "--budget", "2", "--all", "--worker", server.URL, "--set", "serving.attempts=1"}
	code, _, stderr = say(t, evaluate...)
	same(t, stderr, code, exitDone)
	name := "mine/m/hbn_staged-b2-seed42"
	if _, stdout, _ := say(t, "evaluate", "show", name, "--all"); !strings.Contains(stdout, `\u001b]0;owned`) {
		t.Errorf("the task is not shown: %s", stdout)
	}
	_, document, _ := say(t, "evaluate", "show", name, "--json")
	var all map[string]any
	ok(t, json.Unmarshal([]byte(document), &all))
	quoted := string(must(json.Marshal(evil)))
	if raw := must(json.Marshal(all)); !strings.Contains(string(raw), quoted) {
		t.Errorf("the id is not as it came: %s", document)
	}
	say(t, "evaluate", "list")
	for _, answer = range []string{`{"error":{"message":%[1]s,"type":%[1]s,"param":%[1]s}}`, `{"detail":%s}`, "plain " + evil + "\xff%s"} {
		code, _, _ = say(t, append(evaluate, "--seed", fmt.Sprint(len(answer)))...)
		same(t, "exit code of a refusal", code, exitFailed)
	}
	say(t, append(evaluate, "--seed", "7", "--model", evil)...)
}
