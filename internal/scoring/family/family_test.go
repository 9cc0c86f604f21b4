package family_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/policy/seed"
	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
)

// TestFamiliesAreWhole finds a family that leaves something unsaid.
func TestFamiliesAreWhole(t *testing.T) {
	names, versions := map[string]bool{}, map[string]bool{}
	for _, f := range family.All() {
		if names[f.Name] || versions[f.Version] || f.Name == "" || f.Version == "" {
			t.Errorf("%q of version %q is there twice, or has no name", f.Name, f.Version)
		}
		names[f.Name], versions[f.Version] = true, true
		if _, err := fs.Stat(data.Prompts(), f.Prompt+".txt"); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if f.New == nil || f.Answer == nil || (f.Need == family.Nothing) != (f.Need.Unchecked == "") || (f.Reply == nil) == (f.Need == family.Judge) || f.Options && f.Tests {
			t.Errorf("%s: %+v", f.Name, f)
		}
		if f.Graded != strings.HasSuffix(f.Name, "-graded") || f.Graded != strings.Contains(f.Version, "_graded_") {
			t.Errorf("%s of version %s: graded is %t", f.Name, f.Version, f.Graded)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, name := range family.Names() {
		if f, err := family.Named(name); err != nil || f.Name != name {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	for _, name := range []string{"", "maths", "Code", "essay"} {
		_, err := family.Named(name)
		if want := fmt.Sprintf("is %q, must be one of math, choice, judge, code, judge-graded, code-graded", name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSimulatedAnswersAreScored has answers of all families that need nothing else. They are right
// where they are to be, and wrong where not, whatever the tolerance or the expression.
func TestSimulatedAnswersAreScored(t *testing.T) {
	tried := map[string]bool{}
	for _, task := range []scoring.Task{
		{Scorer: "math", Answer: "42"},
		{Scorer: "math", Answer: `2\sqrt{29}`},
		{Scorer: "choice", Answer: "C", Options: 4, OptionTexts: []string{"red", "blue", "green", "5"}},
		{Scorer: "number", Answer: "3.14", Tolerance: "5"},
		{Scorer: "number", Answer: "50%", Tolerance: "10%"},
		{Scorer: "number", Answer: "\\frac{2}{3}"},
		{Scorer: "number", Answer: "-6.02e23", Tolerance: "1%"},
		{Scorer: "regex", Answer: `(?i)(http )?404`},
		{Scorer: "regex", Answer: `^Paris$|London`},
		{Scorer: "regex", Answer: `.*rose.*`},
		{Scorer: "exact", Answer: "a}b"},
		{Scorer: "exact", Answer: "two\nlines"},
		{Scorer: "exact", Answer: "7"},
	} {
		f, err := family.Named(task.Scorer)
		if err != nil {
			t.Fatal(err)
		}
		if f.Gold != nil && f.Gold(task) != "" {
			t.Errorf("%+v cannot be answered", task)
		}
		tried[task.Scorer] = true
		s := seed.Root(1).Child(task.Answer).Stream()
		for i := range 200 {
			answer := f.Answer(&s, task, i%2 == 0, []string{task.Answer, "another"})
			v, err := f.New(task, family.Resources{}).Score(t.Context(), scoring.Response{Text: family.Thought(&s) + "\n" + answer})
			if err != nil || v.Correct() != (i%2 == 0) {
				t.Errorf("%s %q: %+v, %v, of %q", task.Scorer, task.Answer, v, err, answer)
			}
		}
	}
	for _, f := range family.All() {
		if tried[f.Name] != (f.Need == family.Nothing) {
			t.Errorf("%s is tried: %t", f.Name, tried[f.Name])
		}
	}
}
