package hostile_test

import (
	"os"
	"strings"
	"testing"

	"speceval/internal/scoring/sandbox/hostile"
)

// TestBoundsAreOnThePage compares the table of docs/security.md with the bounds, and
// each bound with the attacks on it.
func TestBoundsAreOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/security.md")
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
