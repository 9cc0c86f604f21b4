package score_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/family"
	"speceval/internal/store/profile"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
	"speceval/stages/score"
)

func TestVerdictsAreKeptAndCounted(t *testing.T) {
	l := newLab(t)
	l.rollouts[3].Text = `again \boxed{C}`
	l.succeed()
	if got := l.correct(); got != "10111010" {
		t.Errorf("verdicts %s", got)
	}
	rows := l.scores()
	want := rollout.Score{Benchmark: "quiz", Model: "m", TaskID: "sum", Correct: true, Answer: "42", Scorer: "speceval_math_v13"}
	if rows[0] != want {
		t.Errorf("row 0 is %+v", rows[0])
	}
	for task, scorer := range []string{"speceval_math_v13", "speceval_choice_v9", "speceval_judge_v3:wise", "speceval_choice_v9"} {
		if got := rows[2*task+1]; got.Scorer != scorer || got.TaskIndex != int32(task) || got.Rollout != 1 {
			t.Errorf("task %d: %+v, want scorer %s", task, got, scorer)
		}
	}
	for _, file := range []string{profileFile, score.ProfilesFile} {
		got, err := profile.Read(filepath.Join(l.dir, file))
		want := profile.Profile{
			Benchmark: "quiz", Model: "m", Scorer: "speceval_choice_v9+speceval_judge_v3:wise+speceval_math_v13",
			TaskIDs: []string{"sum", "which", "river", "again"}, PassCounts: []int{1, 2, 1, 1}, TestedK: 2,
		}
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
	}
	if m := l.manifest(); !strings.Contains(m, `"provenance": "measured"`) || strings.Contains(m, "degenerate") {
		t.Errorf("manifest %s", m)
	}
}

// manifest is that of the corpus.
func (l *lab) manifest() string {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.dir, "manifests", "score", "quiz", "*"))
	if err != nil || len(found) != 1 {
		l.t.Fatalf("%d manifests, %v", len(found), err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

func TestOneSimulatedPartMakesTheScoresSimulated(t *testing.T) {
	for _, parts := range [][2]string{{"simulated", "measured"}, {"measured", "simulated"}} {
		l := newLab(t)
		l.parts = parts
		l.succeed()
		if m := l.manifest(); !strings.Contains(m, `"provenance": "simulated"`) {
			t.Errorf("%v: manifest %s", parts, m)
		}
	}
}

// TestScoresDoNotDependOnWorkers compares files byte by byte.
func TestScoresDoNotDependOnWorkers(t *testing.T) {
	var before []byte
	for _, workers := range []int{1, 2, 9} {
		l := newLab(t)
		l.settings.AtATime = workers
		l.succeed()
		data, err := os.ReadFile(filepath.Join(l.dir, scoresFile))
		if err != nil || before != nil && !bytes.Equal(data, before) {
			t.Errorf("%d workers write other scores, %v", workers, err)
		}
		before = data
	}
}

func TestOnlyWhatFollowsTheThinkingCounts(t *testing.T) {
	for name, test := range map[string]struct {
		text, finish string
		unparted     bool
		want         string
	}{
		"an answer in the thinking":    {`\boxed{42}</think>I cannot say.`, "stop", true, "0"},
		"an answer after the thinking": {`\boxed{41}</think> \boxed{42}`, "stop", true, "1"},
		"thinking without end":         {`surely \boxed{42}`, "length", true, "0"},
		"an answer that was parted":    {`\boxed{42}`, "stop", false, "1"},
		"a tag that was not taken out": {`\boxed{41} </think> \boxed{42}`, "stop", false, "1"},
		"cut inside the box":           {`so \boxed{42`, "length", false, "0"},
		"cut after the box":            {`so \boxed{42}, because`, "length", false, "1"},
		"no box, and cut":              {"The answer is 42", "length", false, "0"},
		"no box, and ended":            {"The answer is 42", "stop", false, "1"},
		"unclosed, and cut":            {`<think>surely \boxed{42}`, "length", false, "0"},
		"unclosed, and ended":          {`<think>surely \boxed{42}`, "stop", false, "0"},
		"unclosed behind an answer":    {`\boxed{42} <think>or \boxed{41}`, "length", false, "1"},
		"nothing":                      {"", "stop", false, "0"},
		"a NUL":                        {"\x00 \\boxed{42} \x00", "stop", false, "1"},
		"a megabyte on a line":         {strings.Repeat(`\boxed{`, 150_000), "length", false, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.settings.Models[0].Unparted = test.unparted
			if test.unparted {
				for i := range l.rollouts {
					l.rollouts[i].Text = "hm</think>" + l.rollouts[i].Text
				}
			}
			l.rollouts[0].Text, l.rollouts[0].FinishReason = test.text, test.finish
			l.succeed()
			if got := l.correct(); got != test.want+"0101010" {
				t.Errorf("verdicts %s, want %s first", got, test.want)
			}
		})
	}
}

// TestAnswersThatAreNotWholeAreNoted: in the manifest, from where the log and the screen
// have it.
func TestAnswersThatAreNotWholeAreNoted(t *testing.T) {
	l := newLab(t)
	l.rollouts[1].Text, l.rollouts[1].FinishReason = "<think>surely", "length"
	l.rollouts[3].Text, l.rollouts[3].FinishReason = "", "content_filter"
	l.succeed()
	m := l.manifest()
	for _, words := range []string{"2 of 8 rollouts (25%) have an empty answer", "1 of them have thinking alone", "1 of 8 rollouts (12.5%) were cut", "content filter", "1 of 8 rollouts (12.5%) have a text in which the scorer found no answer"} {
		if !strings.Contains(m, words) {
			t.Errorf("%q is not in %s", words, m)
		}
	}
	whole := newLab(t)
	for i := range whole.rollouts { // of all scorers
		whole.rollouts[i].Text = `\boxed{B}`
	}
	if whole.succeed(); strings.Contains(whole.manifest(), "of 8 rollouts") {
		t.Errorf("manifest %s", whole.manifest())
	}
}

// TestBadCorpora leave nothing behind.
func TestBadCorpora(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(l *lab)
		want  string
	}{
		"a missing rollout":  {func(l *lab) { l.rollouts = slices.Delete(l.rollouts, 3, 4) }, "rollout 0 of task 2 (river of quiz by m) is where rollout 1 of task 1 (which of quiz by m) should be; run `speceval run generate`"},
		"missing tasks":      {func(l *lab) { l.rollouts = l.rollouts[:2] }, "2 of 8 rollouts are there; run `speceval run generate`"},
		"an unknown task":    {func(l *lab) { l.rollouts[6].TaskID, l.rollouts[7].TaskID = "new", "new" }, "rollout 0 of task 3 (new of quiz by m) is where rollout 0 of task 3 (again of quiz by m) should be"},
		"a task too many":    {func(l *lab) { l.rollouts[7].TaskIndex = 4 }, "rollout 1 of task 4 (again of quiz by m) is where rollout 1 of task 3 (again"},
		"a rollout too many": {func(l *lab) { l.rollouts[7].Rollout = 2 }, "rollout 2 of task 3 (again of quiz by m) is where rollout 1 of task 3 (again"},
		"a rollout twice":    {func(l *lab) { l.rollouts[1] = l.rollouts[0] }, "rollout 0 of task 0 stands after rollout 0 of task 0"},
		"an unknown end":     {func(l *lab) { l.rollouts[2].FinishReason = "novel_end" }, `score rollout 0 of task 1 (which): finish_reason "novel_end"`},
		"no end":             {func(l *lab) { l.rollouts[2].FinishReason = "" }, `score rollout 0 of task 1 (which): finish_reason ""`},
		"another model":      {func(l *lab) { l.eachRollout(func(r *rollout.Rollout) { r.Model = "other" }) }, "rollout 0 of task 0 (sum of quiz by other) is where rollout 0 of task 0 (sum of quiz by m) should be"},
		"no sandbox":         {func(l *lab) { l.settings.Benchmarks[0].Tasks[3].Scorer = "code" }, "no sandbox here"},
		"a fault of a scorer": {func(l *lab) {
			l.loseTests()
			l.settings.Benchmarks[0].Tests = func(benchmark.Task) ([]benchmark.Test, error) { panic("odd") }
		}, "score rollout 0 of task 3 (again): panic: odd"},
		"tests that are gone": {func(l *lab) { l.loseTests() }, "score rollout 0 of task 3 (again): no tests.json"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			test.spoil(l)
			l.fail(test.want)
			if left, _ := filepath.Glob(filepath.Join(l.dir, "score", "*", "*", "*")); len(left) != 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

func (l *lab) eachRollout(change func(*rollout.Rollout)) {
	for i := range l.rollouts {
		change(&l.rollouts[i])
	}
}

func (l *lab) loseTests() {
	b := &l.settings.Benchmarks[0]
	b.Tasks[3].Scorer = "code"
	l.settings.Runner = func(context.Context) (*code.Runner, error) { return new(code.Runner), nil }
	l.rollouts[6].Text = "```python\nprint(1)\n```"
	b.Tests = func(benchmark.Task) ([]benchmark.Test, error) { return nil, errors.New("no tests.json") }
}

// TestNoScorerIsTakenForAnother has a task with an unknown scorer.
func TestNoScorerIsTakenForAnother(t *testing.T) {
	l := newLab(t)
	l.settings.Benchmarks[0].Tasks[1].Scorer = "choose"
	_, staged := score.Stage(l.settings)
	_, opened := l.settings.Open(t.Context(), "quiz", "m")
	for _, err := range []error{staged, opened} {
		if err == nil || !strings.Contains(err.Error(), `benchmark quiz: task which: scorer is "choose", must be one of math, `) {
			t.Errorf("error %v", err)
		}
	}
}

// A profile counts passes: a benchmark with other rewards is for evaluations, whose
// scorers open all the same.
func TestGradedRewardsMakeNoProfile(t *testing.T) {
	for _, scorer := range []string{"code-graded", "judge-graded"} {
		l := newLab(t)
		l.settings.GradingName = "strict"
		l.settings.Runner = func(context.Context) (*code.Runner, error) { return new(code.Runner), nil }
		l.settings.Benchmarks[0].Tasks[2].Scorer = scorer
		_, err := score.Stage(l.settings)
		if err == nil || !strings.Contains(err.Error(), "benchmark quiz: task river is scored by "+scorer) || !strings.Contains(err.Error(), "speceval evaluate") {
			t.Errorf("error %v", err)
		}
		open, err := l.settings.Open(t.Context(), "quiz", "m")
		if err != nil {
			t.Fatal(err)
		}
		scored, err := open.Score(t.Context(), &rollout.Response{TaskIndex: 2, FinishReason: "stop"})
		if err != nil {
			t.Fatal(err)
		}
		if version, graded := scored.Scorer, l.settings.Rules("quiz", "m")["scorer."+scorer]; version != graded || !strings.Contains(version, "_graded_") || strings.Contains(version, ":strict") != (scorer == "judge-graded") {
			t.Errorf("%s has the version %q, by the rules %q", scorer, version, graded)
		}
		open.Release()
	}
}

func TestADegenerateProfileIsNoted(t *testing.T) {
	l := newLab(t)
	l.eachRollout(func(r *rollout.Rollout) { r.Text = "no idea" })
	l.succeed()
	if m := l.manifest(); !strings.Contains(m, "quiz__model=m is degenerate") {
		t.Errorf("manifest %s", m)
	}
}

// TestVerdictsDependOnTheConfigurationOfTheirNeeds changes that of a need that
// scoring the benchmark has, and of one that it does not.
func TestVerdictsDependOnTheConfigurationOfTheirNeeds(t *testing.T) {
	l := newLab(t)
	l.settings.Config = map[family.Need]map[string]string{family.Judge: {"judge.temperature": "0"}, family.Sandbox: {"sandbox.memory_mib": "64"}}
	l.settings.Sources = map[family.Need][]dag.Source{family.Judge: {{Name: "prompt", SHA256: "p"}}, family.Sandbox: {{Name: "driver", SHA256: "d"}}}
	l.succeed()
	for name, test := range map[string]struct {
		change func()
		asked  bool
	}{
		"the judge's temperature": {func() { l.settings.Config[family.Judge]["judge.temperature"] = "1" }, true},
		"the judge's prompt":      {func() { l.settings.Sources[family.Judge][0].SHA256 = "other" }, true},
		"memory of programs":      {func() { l.settings.Config[family.Sandbox]["sandbox.memory_mib"] = "65" }, false},
		"the driver of programs":  {func() { l.settings.Sources[family.Sandbox][0].SHA256 = "other" }, false},
		"nothing":                 {func() {}, false},
	} {
		before := l.asked
		test.change()
		l.succeed()
		if asked := l.asked > before; asked != test.asked {
			t.Errorf("%s: scored again: %t, want %t", name, asked, test.asked)
		}
	}
}

// TestOtherRulesMakeScoresStale and keep the old ones, unless they are of other
// rollouts.
func TestOtherRulesMakeScoresStale(t *testing.T) {
	l := newLab(t)
	l.succeed()
	superseded := func() []string {
		found, err := filepath.Glob(filepath.Join(l.dir, "superseded", filepath.Dir(scoresFile), "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	l.settings.JudgeName = "wiser"
	l.succeed()
	old := superseded()
	if len(old) != 1 || l.scores()[4].Scorer != "speceval_judge_v3:wiser" {
		t.Fatalf("%v superseded, and the scores are by %s", old, l.scores()[4].Scorer)
	}
	rows, _, err := rowfile.ReadFile[rollout.Score](old[0])
	if err != nil || rows[4].Scorer != "speceval_judge_v3:wise" {
		t.Errorf("kept %v, %v", rows, err)
	}
	l.rollouts[0].Text = `\boxed{40}`
	l.succeed()
	if again := superseded(); len(again) != 1 {
		t.Errorf("scores of other rollouts are kept: %v", again)
	}
}
