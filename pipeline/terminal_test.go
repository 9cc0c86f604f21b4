package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
)

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
	var o, e bytes.Buffer
	s := &shell{stdout: &o, stderr: &e, now: time.Now, pid: os.Getpid(), release: func() {}}
	code = run(words, s, shipped)
	for name, text := range map[string]string{"stdout": o.String(), "stderr": e.String()} {
		if what := obeyed(text); what != "" {
			t.Errorf("%q: a terminal obeys what is on %s: %s", words, name, what)
		}
		if strings.Contains("\n"+text, "\nspeceval: all is well") {
			t.Errorf("%q: a line of others passes for one of ours on %s:\n%s", words, name, text)
		}
	}
	return code, o.String(), e.String()
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
	if err := os.WriteFile("mine.jsonl", []byte(tasks.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("experiments.toml", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := say(t, "benchmarks", "check", "mine.jsonl", "--unpublished"); code != 0 {
		t.Fatal(stderr)
	}
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		quoted, _ := json.Marshal(evil)
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
	if code, _, stderr := say(t, evaluate...); code != 0 {
		t.Fatal(stderr)
	}
	name := "mine/m/hbn_staged-b2-seed42"
	if _, stdout, _ := say(t, "evaluate", "show", name, "--all"); !strings.Contains(stdout, `\u001b]0;owned`) {
		t.Errorf("the task is not shown: %s", stdout)
	}
	_, document, _ := say(t, "evaluate", "show", name, "--json")
	var all map[string]any
	if err := json.Unmarshal([]byte(document), &all); err != nil {
		t.Fatal(err)
	}
	if raw, _ := json.Marshal(all); !strings.Contains(string(raw), string(mustJSON(evil))) {
		t.Errorf("the id is not as it came: %s", document)
	}
	say(t, "evaluate", "list")
	for _, answer = range []string{`{"error":{"message":%[1]s,"type":%[1]s,"param":%[1]s}}`, `{"detail":%s}`, "plain " + evil + "\xff%s"} {
		if code, _, _ := say(t, append(evaluate, "--seed", fmt.Sprint(len(answer)))...); code == 0 {
			t.Error("a refusal is no error")
		}
	}
	say(t, append(evaluate, "--seed", "7", "--model", evil)...)
}

func mustJSON(text string) []byte {
	quoted, _ := json.Marshal(text)
	return quoted
}
