package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"speceval/internal/sandbox/hostile"
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

// TestBoundsAreOnThePage holds the table of the page together with the bounds, and
// each bound with an attack on it.
func TestBoundsAreOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	programs, err := hostile.Programs()
	if err != nil {
		t.Fatal(err)
	}
	attacks := map[string]int{}
	for _, p := range programs {
		attacks[p.Bound]++
	}
	for _, b := range hostile.Bounds {
		if !strings.Contains(string(page), "\n| "+b.Name+" | ") {
			t.Errorf("docs/security.md has no row for %q", b.Name)
		}
		if attacks[b.Name] == 0 {
			t.Errorf("there is no attack on %q", b.Name)
		}
		delete(attacks, b.Name)
	}
	for name := range attacks {
		t.Errorf("there are attacks on %q, which is no bound", name)
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
