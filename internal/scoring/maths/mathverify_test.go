package maths_test

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// script is a Python program that runs Math-Verify over pairs, one by one.
//
//go:embed testdata/mathverify/mathverify.py
var script string

// pinned is the version of Math-Verify that the drill was written for.
const pinned = "0.9.0"

// answer is the verdict of Math-Verify on a pair.
type answer struct {
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

// start starts the process, and reads its versions.
func (j *judge) start(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var stderr strings.Builder
	defer func() {
		if err != nil {
			cancel()
			err = fmt.Errorf("name a Python that has math-verify %s in SPECEVAL_PYTHON: %w\n%s", pinned, err, strings.TrimSpace(stderr.String()))
		}
	}()
	command := exec.CommandContext(ctx, j.python, "-c", script)
	command.WaitDelay = time.Second // for its children, if there are any
	command.Stderr = &stderr
	if j.stdin, err = command.StdinPipe(); err != nil {
		return err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			lines <- slices.Clone(scanner.Bytes())
		}
	}()
	j.lines = lines
	j.stop = func() {
		cancel()
		stdout.Close()
		for range lines { // until the reader ends
		}
		command.Wait() // it was killed
	}
	first, err := j.line(ctx)
	var found map[string]string
	if err == nil {
		err = json.Unmarshal(first, &found)
	}
	if got := found["math-verify"]; err == nil && got != pinned {
		err = fmt.Errorf("%s has math-verify %s, want %s", j.python, got, pinned)
	}
	if err != nil {
		j.stop()
		return err
	}
	j.versions = string(first)
	return nil
}

// line is the next line of the process.
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
func (j *judge) says(ctx context.Context, p pair) (answer, error) {
	question, err := json.Marshal(map[string]string{"gold": mathematics(p.gold), "prediction": p.shown()})
	if err != nil {
		return answer{}, err
	}
	var verdict answer
	_, err = j.stdin.Write(append(question, '\n'))
	var line []byte
	if err == nil {
		line, err = j.line(ctx)
	}
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
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

// mathVerify is the Python that SPECEVAL_PYTHON names, or python3.
func mathVerify() string { return cmp.Or(os.Getenv("SPECEVAL_PYTHON"), "python3") }

// TestMathVerify needs a Python with math-verify, and is skipped without one, except
// under SPECEVAL_CI=1.
func TestMathVerify(t *testing.T) {
	if output, err := exec.Command(mathVerify(), "-c", "import math_verify").CombinedOutput(); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatalf("%s: %v\n%s", mathVerify(), err, output)
		}
		t.Skipf("%s has no math-verify; name a Python that has in SPECEVAL_PYTHON", mathVerify())
	}
	j := &judge{python: mathVerify(), patience: time.Minute}
	if err := j.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { j.stop() }()
	for _, test := range []struct {
		pair pair
		want bool
	}{
		{pair{gold: `\frac{1}{2}`, prediction: `0.5`}, true},
		{pair{gold: `$\frac{1}{2}$`, prediction: `The answer is $\boxed{2}$.`, prose: true}, false},
		{pair{gold: `\{1, 2\}`, prediction: `\{2, 1\}`}, true},
		{pair{gold: `1`, prediction: "\\boxed{\\frac{1}{"}, false},
	} {
		if got, err := j.says(t.Context(), test.pair); err != nil || got.Equal != test.want {
			t.Errorf("%+v: %+v, %v", test.pair, got, err)
		}
	}
}
