package evaluate_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/rollout"
	"speceval/internal/scorer"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/experiment"
)

// gradedLab is a lab whose server is the simulated fleet, which answers the tasks of
// own.jsonl right in half of the cases, and serves the judge as well.
func gradedLab(t *testing.T, tasks string) (*lab, []scorer.Task) {
	t.Helper()
	l := newLab(t)
	l.write("own.jsonl", tasks)
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
		author, err := fleet.NewAuthor(fleet.AuthorSettings{Model: model, Tasks: file.Tasks, Passes: passes, AnswerTokens: 60})
		if err != nil {
			t.Fatal(err)
		}
		replica := imitation.New(imitation.Settings{Model: model, MaxModelLen: 1 << 17, MaxSequences: 8, Author: author})
		t.Cleanup(replica.Close)
		if err := replica.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		return replica.URL()
	}
	l.url = serve("plain")
	l.sets = []string{"judge.urls=[" + strconv.Quote(serve(cfg.Judge.Model)) + "]"}
	return l, file.Tasks
}

// checkGrades holds every verdict to a grade that is worked out from the answer, and the
// estimate to those.
func checkGrades(t *testing.T, r *evaluation.Result, folder, by string, grade func(task int, text string) float64) {
	t.Helper()
	texts := make(map[rollout.ID]string)
	for a, err := range rollout.Rollouts([]string{filepath.Join(folder, "rollouts.parquet")}) {
		if err != nil {
			t.Fatal(err)
		}
		texts[a.ID()] = a.Text
	}
	rewards, between := make(map[rollout.ID]float64), 0
	for s, err := range rollout.Scores(filepath.Join(folder, "scores.parquet")) {
		if err != nil {
			t.Fatal(err)
		}
		if want := grade(int(s.TaskIndex), texts[s.ID()]); math.Abs(s.Reward()-want) > 1e-15 || !strings.HasPrefix(s.Scorer, by) {
			t.Errorf("%v has a reward of %v by %s, want %v by %s: %q", s.ID(), s.Reward(), s.Scorer, want, by, texts[s.ID()])
		}
		rewards[s.ID()] = s.Reward()
		if s.Graded() {
			between++
		}
	}
	estimate := 0.0
	for i, task := range r.Rows {
		n := int32(0)
		for _, stage := range task.Stages {
			for range stage.Rollouts {
				estimate += stage.Weight / float64(stage.Rollouts) * rewards[rollout.ID{Task: int32(i), Rollout: n}] / float64(len(r.Rows))
				n++
			}
		}
	}
	if math.Abs(estimate-r.Estimate) > 1e-12 || between < r.Rollouts/10 {
		t.Errorf("estimate %v, by the verdicts %v, of which %d are between", r.Estimate, estimate, between)
	}
}

func TestProgramsArePaidByTheTest(t *testing.T) {
	for _, tool := range []string{"bwrap", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("SPECEVAL_CI") == "1" {
				t.Fatal(err)
			}
			t.Skip("there is no", tool)
		}
	}
	var tasks strings.Builder
	for i := range 4 {
		fmt.Fprintf(&tasks, `{"id":"times%d","prompt":"Read a number and print %d times it.","scorer":"code-graded","tests":[`, i, i+2)
		for n := range 5 {
			fmt.Fprintf(&tasks, `%s{"kind":"stdin","input":"%d\n","output":"%d\n"}`, []string{",", ""}[max(0, 1-n)], n+1, (i+2)*(n+1))
		}
		tasks.WriteString("]}\n")
	}
	l, read := gradedLab(t, tasks.String())
	r, folder, err := l.try(request(6, 42))
	if err != nil {
		t.Fatal(err)
	}
	checkGrades(t, r, folder, "speceval_code_graded_v1", func(task int, text string) float64 {
		passed := 0.0
		for _, test := range read[task].Tests { // the fleet's programs look their results up
			if strings.Contains(text, strconv.Quote(test.Input)+".strip(): "+strconv.Quote(test.Output)+",") {
				passed++
			}
		}
		return passed / float64(len(read[task].Tests))
	})
	// By pass or fail the same answers earn less.
	l.write("own.jsonl", strings.ReplaceAll(tasks.String(), "code-graded", "code"))
	rescored, err := evaluate.Rescore(t.Context(), l.configuration(), folder, []string{"own.jsonl"}, l.host())
	if err != nil {
		t.Fatal(err)
	}
	if !(rescored.After.Estimate < r.Estimate) || evaluation.Graded(rescored.After.Rows) || !evaluation.Graded(r.Rows) {
		t.Errorf("estimate %v, by pass or fail %v", r.Estimate, rescored.After.Estimate)
	}
}

func TestAJudgeGrades(t *testing.T) {
	const full = "the hare sleeps while\n the tortoise walks on"
	l, _ := gradedLab(t, `{"id":"hare","prompt":"Tell the fable of the hare.","scorer":"judge-graded","answer":`+strconv.Quote(full)+`}
{"id":"fox","prompt":"Tell the fable of the fox.","scorer":"judge-graded","answer":"2 points: the grapes hang high. 8 points: they must be sour."}
{"id":"sum","prompt":"What is 12345+54321?","scorer":"judge-graded","answer":"66666"}
`)
	answers := []string{"the hare sleeps while the tortoise walks on", "2 points: the grapes hang high. 8 points: they must be sour.", "66666"}
	r, folder, err := l.try(request(10, 42))
	if err != nil {
		t.Fatal(err)
	}
	checkGrades(t, r, folder, "speceval_judge_graded_v1:", func(task int, text string) float64 {
		_, said, found := strings.Cut(text, "\n\nIn short: ")
		said, _, whole := strings.Cut(said, "\nThat is all.")
		if !found || !whole || !strings.HasPrefix(answers[task], said) {
			return 0
		}
		return float64(10*len(said)/len(answers[task])) / 10
	})
	// Before anything is spent: sets of rollouts have no pass@k here.
	r2 := request(10, 43)
	r2.PassK = []int{2}
	_, _, err = l.try(r2)
	faulty(t, err, true, "task hare is scored by judge-graded")
}
