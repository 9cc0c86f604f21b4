package choice_test

import (
	"os"
	"strings"
	"testing"

	"speceval/internal/scorer/choice"
)

// TestCases holds the rules to labelled cases: gold, prediction, and whether
// that is right, with tabs between. The labels are ours, by the rules of the
// package's comment.
func TestCases(t *testing.T) {
	file, err := os.ReadFile("testdata/cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
	if len(lines) < 150 {
		t.Errorf("%d cases", len(lines))
	}
	seen := map[string]bool{}
	for i, line := range lines {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 || fields[2] != "true" && fields[2] != "false" || seen[line] {
			t.Errorf("line %d: %q", i+1, line)
			continue
		}
		seen[line] = true
		if got := choice.Check(fields[0], fields[1]); got.Correct() != (fields[2] == "true") {
			t.Errorf("line %d: %q for %s: read %q (%s), want %s", i+1, fields[1], fields[0], got.Answer, got.Note, fields[2])
		}
	}
}
