package maths_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/scorer/maths"
)

// labelled is a line of a file of cases, as `speceval check-scorer math` reads
// them: a right answer, another one, and whether the two are the same.
type labelled struct {
	gold, prediction string
	equal            bool
}

// cases reads a file of testdata. Equal pairs are in cases.tsv, pairs that are
// nearly equal in nearmisses.tsv. A pair on whose label mathematics and the
// usual conventions do not agree has no place in them.
func cases(t *testing.T, name string) []labelled {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []labelled
	seen := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 || fields[2] != "true" && fields[2] != "false" {
			t.Fatalf("%s: %q is not gold, prediction, and true or false, with tabs between", name, lines.Text())
		}
		if pair := fields[0] + "\t" + fields[1]; seen[pair] {
			t.Errorf("%s: %q is there twice", name, pair)
		} else {
			seen[pair] = true
		}
		all = append(all, labelled{fields[0], fields[1], fields[2] == "true"})
	}
	return all
}

func TestLabelledCases(t *testing.T) {
	for _, file := range []struct {
		name  string
		least int // cases, so that none is lost unnoticed
	}{{"cases.tsv", 1000}, {"nearmisses.tsv", 850}} {
		all := cases(t, file.name)
		if len(all) < file.least {
			t.Errorf("%s: %d cases, want %d or more", file.name, len(all), file.least)
		}
		wrong := 0
		for _, c := range all {
			if v := maths.Check(c.gold, c.prediction); v.Correct() != c.equal {
				wrong++
				t.Errorf("%s against %s: %v, want %v (read %q; %s)", c.prediction, c.gold, v.Correct(), c.equal, v.Answer, v.Note)
			}
		}
		t.Logf("%s: %d of %d agree", file.name, len(all)-wrong, len(all))
	}
}

// TestEveryAnswerEqualsItself holds for whatever has an answer, mathematics or
// not; the surroundings of an answer do not matter.
func TestEveryAnswerEqualsItself(t *testing.T) {
	for _, name := range []string{"cases.tsv", "nearmisses.tsv"} {
		golds := map[string]bool{}
		for _, c := range cases(t, name) {
			golds[c.gold] = true
		}
		for gold := range golds {
			for _, prediction := range []string{gold, "$" + gold + "$", `\boxed{` + gold + "}", "The answer is $" + gold + "$."} {
				if !maths.Check(gold, prediction).Correct() {
					t.Errorf("%s does not equal %s", prediction, gold)
				}
			}
		}
	}
}
