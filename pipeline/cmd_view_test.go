package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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
	must(fmt.Fscanln(read, &url))
	get := func(path string) string {
		answer := must(http.Get(url + path))
		defer answer.Body.Close()
		return string(must(io.ReadAll(answer.Body)))
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
	taken := must(net.Listen("tcp", "127.0.0.1:0"))
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	write("file", "")
	outcomes(t, func(words ...string) (int, string, string) { return ran(nil, words...) }, []outcome{
		{words("view nowhere"), exitUsage, "nowhere is not there: name the output folder"},
		{words("view file"), exitUsage, "file is no folder"},
		{words("view . --port " + port), exitUsage, "port " + port + " is in use: name another with --port"},
	})
}
