package score_test

import (
	"path/filepath"
	"testing"

	"speceval/internal/rollout"
	"speceval/internal/rowfile"
	"speceval/internal/scorer/family"
	"speceval/pipeline/dag"
)

// TestTheSameRulesAgain are run though fresh: nothing is superseded.
func TestTheSameRulesAgain(t *testing.T) {
	l := newLab(t)
	l.succeed()
	before := l.asked
	l.force = true
	l.succeed()
	if found, _ := filepath.Glob(filepath.Join(l.dir, "superseded", "*", "*", "*", "*")); len(found) != 0 || l.asked != 2*before {
		t.Errorf("%v superseded; asked %d times, then %d", found, before, l.asked)
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
	if len(old) != 1 || l.scores()[4].Scorer != "speceval_judge_v1:wiser" {
		t.Fatalf("%v superseded, and the scores are by %s", old, l.scores()[4].Scorer)
	}
	rows, _, err := rowfile.ReadFile[rollout.Score](old[0])
	if err != nil || rows[4].Scorer != "speceval_judge_v1:wise" {
		t.Errorf("kept %v, %v", rows, err)
	}
	l.rollouts[0].Text = `\boxed{40}`
	l.succeed()
	if again := superseded(); len(again) != 1 {
		t.Errorf("scores of other rollouts are kept: %v", again)
	}
}
