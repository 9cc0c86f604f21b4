package fleet_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"speceval/internal/benchmark"
)

// harness runs programs on their tests, on standard input or by calling their
// function, plain and as a method, and prints which pass all.
const harness = `
import contextlib, io, json, sys

def passes(code, test):
    scope = {"__name__": "program"}
    if test["Kind"] == "stdin":
        sys.stdin, out = io.StringIO(test["Input"]), io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, scope)
        return out.getvalue().strip() == test["Output"].strip()
    exec(code, scope)
    given = [json.loads(line) for line in test["Input"].split("\n")]
    name, want = test["Function"], json.loads(test["Output"])
    return scope[name](*given) == want and getattr(scope["Solution"](), name)(*given) == want

programs = json.load(sys.stdin)
print(json.dumps([all(passes(p["Code"], t) for t in p["Tests"]) for p in programs]))
`

func TestProgramsDoWhatWasDrawn(t *testing.T) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip("no python3 to run programs with")
	}
	type program struct {
		Code  string
		Tests []benchmark.Test
		right bool
	}
	var programs []program
	for _, task := range tasks {
		for seed := range int64(20) {
			if task.Scorer != "code" {
				continue
			}
			programs = append(programs, program{result(task, ask(author(1), task.UserPrompt, seed).Text), task.Tests, true})
			if wrong := result(task, ask(author(0), task.UserPrompt, seed).Text); wrong != "" {
				programs = append(programs, program{wrong, task.Tests, false})
			}
		}
	}
	input, err := json.Marshal(programs)
	if err != nil {
		t.Fatal(err)
	}
	var faults bytes.Buffer
	run := exec.Command(interpreter, "-c", harness)
	run.Stdin, run.Stderr = bytes.NewReader(input), &faults
	out, err := run.Output()
	var passed []bool
	if err != nil || json.Unmarshal(out, &passed) != nil || len(passed) != len(programs) {
		t.Fatalf("%v: %s%s", err, out, faults.String())
	}
	for i, p := range programs {
		if passed[i] != p.right {
			t.Errorf("passes: %t, was to: %t\n%s", passed[i], p.right, p.Code)
		}
	}
}
