package maths_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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

// answers are the verdicts of Math-Verify on pairs, and the versions of what made them. A
// process that ends, or says nothing for a minute, is started again behind its pair, which
// counts as not equal: limits of its own do not reach into long computations with big numbers.
func answers(ctx context.Context, all []pair) (said []answer, versions string, err error) {
	for len(said) < len(all) {
		var more []answer
		if more, versions, err = process(ctx, all[len(said):]); ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		} else if err != nil {
			return nil, "", fmt.Errorf("name a Python that has math-verify %s in SPECEVAL_PYTHON: %w", pinned, err)
		}
		if said = append(said, more...); len(said) < len(all) {
			said = append(said, answer{Read: "no answer"})
		}
	}
	return said, versions, nil
}

// process are the verdicts of one process, up to its end.
func process(ctx context.Context, pairs []pair) (said []answer, versions string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var questions bytes.Buffer
	for _, p := range pairs {
		prediction := p.prediction
		if !p.prose {
			prediction = mathematics(prediction)
		}
		line, _ := json.Marshal(map[string]string{"gold": mathematics(p.gold), "prediction": prediction}) // cannot fail
		questions.Write(append(line, '\n'))
	}
	var stderr strings.Builder
	command := exec.CommandContext(ctx, mathVerify(), "-c", script)
	command.Stdin, command.Stderr, command.WaitDelay = &questions, &stderr, time.Second
	stdout, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, "", err
	}
	silence := time.AfterFunc(time.Minute, func() { cancel(); stdout.Close() })
	defer silence.Stop()
	for lines := bufio.NewScanner(stdout); lines.Scan(); silence.Reset(time.Minute) {
		if versions == "" {
			versions = lines.Text()
			continue
		}
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return nil, "", err
		}
		said = append(said, a)
	}
	cancel()
	_ = command.Wait() // it has ended, or was killed
	var found map[string]string
	if err := json.Unmarshal([]byte(versions), &found); err != nil || found["math-verify"] != pinned {
		return nil, "", fmt.Errorf("%s has %q: %v\n%s", mathVerify(), versions, err, stderr.String())
	}
	return said, versions, nil
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
	want := []bool{true, false, true, false}
	got, _, err := answers(t.Context(), []pair{
		{gold: `\frac{1}{2}`, prediction: `0.5`},
		{gold: `$\frac{1}{2}$`, prediction: `The answer is $\boxed{2}$.`, prose: true},
		{gold: `\{1, 2\}`, prediction: `\{2, 1\}`},
		{gold: `1`, prediction: "\\boxed{\\frac{1}{"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, equal := range want {
		if got[i].Equal != equal {
			t.Errorf("pair %d: %+v", i, got[i])
		}
	}
}
