package family_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/scorer"
	"speceval/internal/scorer/family"
	"speceval/internal/seed"
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
		if f.New == nil || f.Answer == nil || (f.Check == nil) == (f.Unchecked == "") || (f.Reply == nil) == (f.Need == family.Judge) || f.Options && f.Tests {
			t.Errorf("%s: %+v", f.Name, f)
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
		if want := fmt.Sprintf("is %q, must be one of math, choice, judge, code", name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSimulatedAnswersAreScored gives each family that needs nothing else its own
// simulated answers, right and wrong, to all tasks of the small benchmark that
// have what its tasks must have. Open questions are left out: the right answer to
// one is a number in words, which a wrong one may be in digits.
func TestSimulatedAnswersAreScored(t *testing.T) {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := benchmark.Reader{Prompts: prompts}.Parse(data.SmallBenchmark(), data.SmallBenchmarkName)
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"one", "another", "a third"}
	for _, f := range family.All() {
		if f.Need != family.Nothing {
			continue
		}
		tried := 0
		for _, task := range tasks {
			if task.Scorer == "judge" || f.Options != (task.Options > 0) || f.Tests != (task.Tests != nil) || f.Gold != nil && f.Gold(task) != "" {
				continue
			}
			tried++
			one := f.New(task, family.Resources{})
			for i := range 20 {
				s, right := seed.Root(uint64(i)).Child(task.ID).Stream(), i%2 == 0
				text := f.Answer(&s, task, right, others)
				if v, err := one.Score(t.Context(), scorer.Response{Text: text}); err != nil || v.Correct != right {
					t.Errorf("%s: %s: %q is scored %+v, %v; want %t", f.Name, task.ID, text, v, err, right)
				}
			}
		}
		if tried < 8 {
			t.Errorf("%s was tried on %d tasks", f.Name, tried)
		}
	}
}
