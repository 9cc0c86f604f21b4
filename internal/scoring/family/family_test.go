package family_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/fleet"
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

// TestSimulatedAnswersAreScored gives each family that needs nothing else its own
// simulated answers, right and wrong, to all tasks of the small benchmark that
// have what its tasks must have. Open questions are left out: the right answer to
// one is a number in words, which a wrong one may be in digits.
func TestSimulatedAnswersAreScored(t *testing.T) {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		t.Fatal(err)
	}
	small, err := benchmark.Reader{Prompts: prompts}.Parse(data.BuiltIn("smallbench"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range family.All() {
		var tasks []scoring.Task
		passes := [2]map[fleet.TaskKey]float64{{}, {}}
		for _, task := range small {
			if f.Need != family.Nothing || task.Scorer == "judge" || f.Options != (task.Options > 0) || f.Tests != (task.Tests != nil) || f.Gold != nil && f.Gold(task) != "" {
				continue
			}
			task.Scorer = f.Name
			if f.Unsimulated != nil && f.Unsimulated(task) != "" {
				continue
			}
			tasks = append(tasks, task)
			key := fleet.TaskKey{Benchmark: task.Benchmark, ID: task.ID}
			passes[0][key], passes[1][key] = 0, 1
		}
		if f.Need == family.Nothing && len(tasks) < 8 {
			t.Errorf("%s is tried on %d tasks of %s that have what it needs: want 8 there", f.Name, len(tasks), data.SmallBenchmarkName)
		}
		for right, passes := range passes {
			author := fleet.MustAuthor(fleet.AuthorSettings{Model: "m", Tasks: tasks, Passes: passes})
			for _, task := range tasks {
				for seed := range int64(10) {
					answer := author.Answer(fleet.Question{User: task.UserPrompt, Seed: seed, Limits: fleet.Limits{Most: 4000, Budget: -1}})
					v, err := f.New(task, family.Resources{}).Score(t.Context(), scoring.Response{Text: answer.Text, Cut: answer.Finish == fleet.Length})
					if err != nil || v.Correct() != (right == 1) {
						t.Errorf("%s: %s: %+v, %v, of %q", f.Name, task.ID, v, err, answer.Text)
					}
				}
			}
		}
	}
}

// Simulated answers of families that a user's tasks have are right where they are to
// be, and wrong where not, whatever the tolerance or the expression.
func TestSimulatedTextsAndNumbers(t *testing.T) {
	for _, task := range []scoring.Task{
		{Scorer: "number", Answer: "3.14", Tolerance: "5"},
		{Scorer: "number", Answer: "50%", Tolerance: "10%"},
		{Scorer: "number", Answer: "\\frac{2}{3}"},
		{Scorer: "number", Answer: "-6.02e23", Tolerance: "1%"},
		{Scorer: "regex", Answer: `Paris`},
		{Scorer: "regex", Answer: `.*rose.*`},
		{Scorer: "exact", Answer: "a}b"},
		{Scorer: "exact", Answer: "two\nlines"},
		{Scorer: "exact", Answer: "7"},
	} {
		f, err := family.Named(task.Scorer)
		if err != nil {
			t.Fatal(err)
		}
		if f.Unsimulated != nil && f.Unsimulated(task) != "" {
			t.Errorf("%+v: %s", task, f.Unsimulated(task))
		}
		s := seed.Root(1).Child(task.Answer).Stream()
		for i := range 200 {
			answer := f.Answer(&s, task, i%2 == 0, []string{task.Answer, "another"})
			v, err := f.New(task, family.Resources{}).Score(t.Context(), scoring.Response{Text: "Well.\n" + answer})
			if err != nil || v.Correct() != (i%2 == 0) {
				t.Errorf("%s %q: %+v, %v, of %q", task.Scorer, task.Answer, v, err, answer)
			}
		}
	}
	for _, task := range []scoring.Task{{Scorer: "regex", Answer: `a\Bb\bc`}, {Scorer: "command"}, {Scorer: "command-graded"}} {
		if f, _ := family.Named(task.Scorer); f.Unsimulated(task) == "" || f.Answer(new(seed.Stream), task, true, nil) == "" {
			t.Errorf("%+v can be answered", task)
		}
	}
}
