package evaluate_test

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/store/rollout"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/experiment"
)

// TestAJudgeGrades holds every verdict to a grade that is worked out from the answer. The fleet
// answers right in half of the cases, and serves the judge as well.
func TestAJudgeGrades(t *testing.T) {
	const full = "the hare sleeps while\n the tortoise walks on"
	l := newLab(t)
	l.write("own.jsonl", `{"id":"hare","prompt":"Tell the fable of the hare.","scorer":"judge-graded","answer":`+strconv.Quote(full)+`}
{"id":"fox","prompt":"Tell the fable of the fox.","scorer":"judge-graded","answer":"2 points: the grapes hang high. 8 points: they must be sour."}
{"id":"sum","prompt":"What is 12345+54321?","scorer":"judge-graded","answer":"66666"}
`)
	answers := []string{"the hare sleeps while the tortoise walks on", "2 points: the grapes hang high. 8 points: they must be sour.", "66666"}
	cfg := l.configuration()
	file, err := experiment.ReadTasks(cfg, config.Benchmark{ID: "own", Tasks: "own.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	passes := make(map[fleet.TaskKey]float64)
	for _, task := range file.Tasks {
		passes[fleet.TaskKey{Benchmark: task.Benchmark, ID: task.ID}] = 0.5
	}
	serve := func(model string) string {
		author := fleet.MustAuthor(fleet.AuthorSettings{Model: model, Tasks: file.Tasks, Passes: passes, AnswerTokens: 60})
		replica := imitation.New(imitation.Settings{Model: model, MaxModelLen: 1 << 17, MaxSequences: 8, Author: author})
		t.Cleanup(replica.Close)
		if err := replica.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		return replica.URL()
	}
	l.url = serve("plain")
	l.sets = []string{"judge.urls=[" + strconv.Quote(serve(cfg.Judge.Model)) + "]"}
	r, folder := l.made(request(10, 42))
	grades, between := make(map[rollout.ID]float64), 0
	for a, err := range rollout.Rollouts([]string{filepath.Join(folder, "rollouts.parquet")}) {
		if err != nil {
			t.Fatal(err)
		}
		_, said, found := strings.Cut(a.Text, "\n\nIn short: ")
		said, _, whole := strings.Cut(said, "\nThat is all.")
		if found && whole && strings.HasPrefix(answers[a.TaskIndex], said) {
			grades[a.ID()] = float64(10*len(said)/len(answers[a.TaskIndex])) / 10
		}
	}
	for s, err := range rollout.Scores(filepath.Join(folder, "scores.parquet")) {
		if err != nil {
			t.Fatal(err)
		}
		if want := grades[s.ID()]; math.Abs(s.Reward()-want) > 1e-15 || !strings.HasPrefix(s.Scorer, "speceval_judge_graded_v3:") {
			t.Errorf("%v has a reward of %v by %s, want %v", s.ID(), s.Reward(), s.Scorer, want)
		}
		if s.Graded() {
			between++
		}
	}
	if between < r.Rollouts/10 {
		t.Errorf("%d of %d verdicts are between", between, r.Rollouts)
	}
	// Before anything is spent: sets of rollouts have no pass@k here.
	r2 := request(10, 43)
	r2.PassK = []int{2}
	_, _, err = l.try(r2)
	faulty(t, err, true, "task hare is scored by judge-graded")
}

// TestLossesAreTold holds the words of a result and of a comparison to their numbers.
func TestLossesAreTold(t *testing.T) {
	l := newLab(t)
	r := l.evaluate(request(6, 1))
	shown := func() string {
		var b bytes.Buffer
		if err := show.Text(&b, r, "folder", false); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text := shown(); strings.Contains(text, "  lost ") {
		t.Errorf("nothing is lost of %s", text)
	}
	r.Losses = evaluation.Losses{Continued: 2, AskedAgain: 1, TooHigh: 0.0125, TooLow: 0.0375, WorstCase: 0.05}
	const want = "1 rollout asked again, for which the mean may be too high by 0.0125 at most, or too low by 0.0375"
	if text := shown(); !strings.Contains(text, "lost         2 rollouts continued from what was seen; "+want) {
		t.Errorf("%q is not in %s", want, text)
	}
	c := show.Comparison{Pair: new(show.Pair)}
	c.Losses.Add(r.Losses, 1)
	c.Losses.Add(evaluation.Losses{AskedAgain: 3, TooHigh: 0.1, TooLow: 0.2, WorstCase: 0.3}, -0.5)
	var b bytes.Buffer
	if err := c.Text(&b, false); err != nil || !strings.Contains(b.String(), "4 rollouts asked again, for which the difference may be too high by 0.1125 at most, or too low by 0.0875") {
		t.Errorf("%s, %v", b.String(), err)
	}
}

// TestRulesForLossesAreChecked refuses one that there is not, before anything is asked.
func TestRulesForLossesAreChecked(t *testing.T) {
	l := newLab(t)
	r := request(6, 1)
	r.OnLoss = "maybe"
	var fault *evaluate.RequestError
	if _, _, err := l.try(r); !errors.As(err, &fault) || !strings.Contains(err.Error(), `--on-loss "maybe": want one of continue, again, refuse`) {
		t.Errorf("error %v", err)
	}
	r.OnLoss = "refuse"
	if result, _, err := l.try(r); err != nil || result.Losses != (evaluation.Losses{}) {
		t.Errorf("%+v, %v", result, err)
	}
}
