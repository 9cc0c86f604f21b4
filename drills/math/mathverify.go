package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// script is a Python program that runs Math-Verify over pairs, one by one.
//
//go:embed mathverify.py
var script string

// pinned is the version of Math-Verify that the drill was written for.
const pinned = "0.9.0"

// theirs is what Math-Verify says of a pair.
type theirs struct {
	Equal bool
	Read  string
}

// judge is a Python process with Math-Verify.
type judge struct {
	python   string
	patience time.Duration // for one pair: its own limits do not reach into long computations with big numbers
	versions string        // of what it runs, once it is started
	stop     func()
	stdin    io.WriteCloser
	lines    chan []byte
}

// start starts the process, and learns its versions.
func (j *judge) start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	command := exec.CommandContext(ctx, j.python, "-c", script)
	command.WaitDelay = time.Second // for its children, if there are any
	var stderr strings.Builder
	command.Stderr = &stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		cancel()
		return err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		cancel()
		return err
	}
	if err := command.Start(); err != nil {
		cancel()
		return fmt.Errorf("name a Python that has math-verify in SPECEVAL_PYTHON: %w", err)
	}
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			lines <- append([]byte(nil), scanner.Bytes()...)
		}
	}()
	j.stdin, j.lines = stdin, lines
	j.stop = func() {
		cancel()
		stdout.Close()
		for range lines { // until nobody reads
		}
		command.Wait() // killed: there is nothing else to learn
	}
	first, err := j.line(ctx)
	var found map[string]string
	if err == nil {
		err = json.Unmarshal(first, &found)
	}
	if err != nil {
		j.stop()
		return fmt.Errorf("name a Python that has math-verify %s in SPECEVAL_PYTHON: %w\n%s", pinned, err, strings.TrimSpace(stderr.String()))
	}
	if got := found["math-verify"]; got != pinned {
		j.stop()
		return fmt.Errorf("%s has math-verify %s, want %s", j.python, got, pinned)
	}
	j.versions = string(first)
	return nil
}

func (j *judge) line(ctx context.Context) ([]byte, error) {
	limit := time.NewTimer(j.patience)
	defer limit.Stop()
	select {
	case line, more := <-j.lines:
		if !more {
			return nil, io.ErrUnexpectedEOF
		}
		return line, nil
	case <-limit.C:
		return nil, fmt.Errorf("no answer in %v", j.patience)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// says asks for a verdict. A process that does not answer, or ends, is started
// again; what it was asked then counts as not equal.
func (j *judge) says(ctx context.Context, p pair) (theirs, error) {
	question, err := json.Marshal(map[string]string{"gold": mathematics(p.gold), "prediction": p.shown()})
	if err != nil {
		return theirs{}, err
	}
	var verdict theirs
	_, err = j.stdin.Write(append(question, '\n'))
	var line []byte
	if err == nil {
		line, err = j.line(ctx)
	}
	if ctx.Err() != nil {
		return theirs{}, context.Cause(ctx)
	}
	if err != nil {
		verdict.Read = err.Error()
		j.stop()
		return verdict, j.start(ctx)
	}
	return verdict, json.Unmarshal(line, &verdict)
}

// shown is the prediction as Math-Verify wants it.
func (p pair) shown() string {
	if p.prose {
		return p.prediction
	}
	return mathematics(p.prediction)
}

// mathematics puts LaTeX that stands by itself between dollars, where
// Math-Verify looks for it.
func mathematics(text string) string {
	for _, delimiter := range []string{"$", `\boxed`, `\[`, `\(`} {
		if strings.Contains(strings.ReplaceAll(text, `\$`, ""), delimiter) {
			return text
		}
	}
	return "$" + text + "$"
}
