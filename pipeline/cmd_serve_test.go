package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speceval/internal/golden"
)

// serve sends lines to a server of its own and returns the replies.
func serve(t *testing.T, lines ...string) []string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	s := &shell{
		stdin: strings.NewReader(strings.Join(lines, "\n") + "\n"), stdout: &stdout, stderr: &stderr, now: time.Now, pid: os.Getpid(),
		interrupts: make(chan os.Signal), release: func() {},
	}
	if code := run([]string{"serve", "--stdio", "--config", "../experiments.toml"}, s, shipped); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	replies := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	if len(replies) != len(lines) {
		t.Fatalf("%d replies to %d messages: %s", len(replies), len(lines), stdout.String())
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
