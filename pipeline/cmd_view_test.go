package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestWhatIsDoneIsViewed serves a folder with a complete evaluation until an interrupt.
func TestWhatIsDoneIsViewed(t *testing.T) {
	l := newEvaluationLab(t)
	r := l.evaluate("--budget", "6")
	read, write := io.Pipe()
	interrupts, code := make(chan os.Signal, 1), make(chan int)
	go func() {
		c, _, _ := ran(func(s *shell) { s.stdout, s.interrupts = write, interrupts }, "view", "--port", "0", "-q")
		code <- c
	}()
	var url string
	if _, err := fmt.Fscanln(read, &url); err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	name := "name=own/mine/hbn_staged-b6-seed42"
	want(t, "the list", get(""), "own/mine/hbn_staged-b6-seed42", "complete", fmt.Sprintf("%.4f ± %.4f", r.Estimate, r.StandardError))
	want(t, "the evaluation", get("evaluation?"+name), "<dt>Uniform</dt>", "/report?name=own")
	want(t, "the report", get("report?"+name), "on these tasks", "What is 3*17?")
	interrupts <- os.Interrupt
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

func TestViewsThatCannotBe(t *testing.T) {
	t.Chdir(t.TempDir())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	if err := os.WriteFile("file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ words, want string }{
		{"nowhere", "nowhere is not there: name the output folder"},
		{"file", "file is no folder"},
		{". --port " + port, "port " + port + " is in use: name another with --port"},
	} {
		code, _, stderr := ran(nil, append([]string{"view"}, strings.Fields(tt.words)...)...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("view %s: exit code %d, %s", tt.words, code, stderr)
		}
	}
}
