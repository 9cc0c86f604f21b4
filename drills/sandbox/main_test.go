package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestMadePrograms(t *testing.T) {
	seen := map[string]bool{}
	for i := range len(kinds) * len(parts) {
		program := made(i)
		if strings.Contains(program, "%") {
			t.Errorf("program %d is %q", i, program)
		}
		seen[program] = true
	}
	if len(seen) != len(kinds)*len(parts) {
		t.Errorf("%d of %d programs are different", len(seen), len(kinds)*len(parts))
	}
}

func TestWrongFlags(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"-no-such-flag"}, &out, &out); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

// TestFailureIsTold has an interpreter that is none, on any machine: nothing
// runs, and the last line says so.
func TestFailureIsTold(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"-python", "/no/such/python"}, &out, &out); code != 1 || !strings.Contains(out.String(), "\ndrill-sandbox: failed\n") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
