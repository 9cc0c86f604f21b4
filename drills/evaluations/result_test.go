package evaluations

import (
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
	"speceval/internal/variance"
	"speceval/method/estimate"
)

// printed is a result as the program prints it, of two tasks at 4 rollouts each.
const printed = `{
  "benchmark": "quiz", "model": "m", "policy": "hbn-async", "budget": 4, "seed": 7, "n_tasks": 2, "provenance": "simulated",
  "design": {"pilots": 2, "weight": 0.25, "risk": 0.9, "source": "x"},
  "estimate": 0.625, "standard_error": 0.1, "interval": [0.4, 0.8], "rollouts": 8, "extra_rollouts": 1,
  "tokens": {"prompt": 80, "completion": 100, "wasted": 5}, "seconds": 1.5, "barrier_seconds": 0.25, "startup_seconds": 0.5, "sessions": 2,
  "tasks": [
    {"task_id": "a", "pilots": 2, "pilot_passes": 2, "continuations": 1, "continuation_passes": 1, "mean": 0.9, "variance": 0.05,
     "estimate": 1, "shrinkage": 0.59375,
     "stages": [{"Rollouts": 2, "Rewards": 2, "Squares": 2, "Weight": 0.25}, {"Rollouts": 1, "Rewards": 1, "Squares": 1, "Weight": 0.75}]},
    {"task_id": "b", "pilots": 2, "pilot_passes": 0, "continuations": 3, "continuation_passes": 1, "mean": 0.3, "variance": 0.2,
     "estimate": 0.25, "shrinkage": 0.21875,
     "stages": [{"Rollouts": 2, "Rewards": 0, "Squares": 0, "Weight": 0.25}, {"Rollouts": 3, "Rewards": 1, "Squares": 1, "Weight": 0.75}]}
  ]
}`

func parsed(t *testing.T, text string) *evaluation.Result {
	t.Helper()
	r, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultsAreRead(t *testing.T) {
	r := parsed(t, printed)
	if r.Policy != async || r.Tasks != 2 || r.Design.Pilots != 2 || r.Extra != 1 || r.Tokens.Wasted != 5 || r.Barrier != 0.25 ||
		r.Startup != 0.5 || r.Rows[1].ContinuationPasses != 1 || !reflect.DeepEqual(meanOfResult(r), estimate.Mean{Value: 0.625, StandardError: 0.1, Low: 0.4, High: 0.8}) {
		t.Errorf("%+v", r)
	}
	if _, err := parse([]byte(strings.Replace(printed, `"n_tasks": 2`, `"n_tasks": 3`, 1))); err == nil {
		t.Error("a task is missing: no error")
	}
	folder := filepath.Join(t.TempDir(), "made")
	if r, err := stored(folder); r != nil || err != nil {
		t.Errorf("an evaluation that is not there: %v, %v", r, err)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{printed: true, "{": false} {
		if err := os.WriteFile(filepath.Join(folder, "result.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := stored(folder); (err == nil) != good || (r != nil) != good {
			t.Errorf("%.20q: %v, %v", text, r, err)
		}
	}
}

func TestResultsThatCannotBe(t *testing.T) {
	// 0.25·(1 + 0)/2 + 0.75·(1 + 1/3)/2 = 0.625
	if err := checkResult(parsed(t, printed), 4); err != nil {
		t.Error(err)
	}
	for old, wrong := range map[string]string{
		`"continuations": 3`: `"continuations": 4`,
		`"rollouts": 8`:      `"rollouts": 9`,
		`"estimate": 0.625`:  `"estimate": 0.626`,
		`"b", "pilots": 2`:   `"b", "pilots": 3`,
		`"pilot_passes": 2`:  `"pilot_passes": 1`,
		`"continuations": 1`: `"continuations": 0`,
		`"weight": 0.25`:     `"weight": 0.35`,
		`"Rewards": 1, "Squares": 1, "Weight": 0.75}]},`: `"Rewards": 1, "Squares": 1, "Weight": 0.7}]},`,
		`{"Rollouts": 3,`:               `{"Rollouts": 2,`,
		`{"Rollouts": 2, "Rewards": 0,`: `{"Rollouts": 2, "Rewards": 1,`,
		`"stages"`:                      `"other"`,
		`"estimate": 0.25`:              `"estimate": 0.26`,
		`"shrinkage": 0.21875`:          `"shrinkage": 0.2`,
		`"policy": "hbn-async"`:         `"policy": "hbn-async", "n_tasks": 2, "budget": 5`,
	} {
		budget := 4
		r := parsed(t, strings.Replace(printed, old, wrong, 1))
		if strings.Contains(wrong, `"budget": 5`) {
			budget = 5
		}
		if err := checkResult(r, budget); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
	// all that follows from weights does, but they do not add up to one
	wrong := strings.NewReplacer(`"Rewards": 1, "Squares": 1, "Weight": 0.75}]},`, `"Rewards": 1, "Squares": 1, "Weight": 0.7}]},`, `"estimate": 1, "shrinkage": 0.59375`, `"estimate": 0.95, "shrinkage": 0.52125`, `"estimate": 0.625`, `"estimate": 0.6`)
	if err := checkResult(parsed(t, wrong.Replace(printed)), 4); err == nil || !strings.Contains(err.Error(), "the weights of its stages add up to 0.95") {
		t.Errorf("weights of 0.95: %v", err)
	}
}

func TestSameResults(t *testing.T) {
	a := parsed(t, printed)
	b := parsed(t, strings.Replace(strings.Replace(printed, `"seconds": 1.5`, `"seconds": 9`, 1), `"sessions": 2`, `"sessions": 1`, 1))
	if err := sameResults([]*evaluation.Result{a}, []*evaluation.Result{b}); err != nil {
		t.Errorf("another time: %v", err)
	}
	for _, change := range [][2]string{{`"standard_error": 0.1`, `"standard_error": 0.2`}, {`[0.4,`, `[0.3,`}, {`"continuation_passes": 1, "mean": 0.3`, `"continuation_passes": 2, "mean": 0.3`}} {
		if err := sameResults([]*evaluation.Result{a}, []*evaluation.Result{parsed(t, strings.Replace(printed, change[0], change[1], 1))}); err == nil {
			t.Errorf("%s: no difference", change[1])
		}
	}
}

// answered are the rollouts behind the printed result, with a surplus one of each
// task that would pass.
func answered() []rollout.Rollout {
	right, wrong := `so \boxed{9}, no: \boxed{5}.`, `\boxed{5} or rather \boxed{6}`
	texts := [][]string{{right, right, right, right}, {wrong, "nothing", wrong, right, wrong, right}}
	var all []rollout.Rollout
	for task, of := range texts {
		for i, text := range of {
			all = append(all, rollout.Rollout{Benchmark: "quiz", Model: "m", TaskIndex: int32(task), TaskID: string(rune('a' + task)), Rollout: int32(i), Text: text, FinishReason: "stop"})
		}
	}
	return all
}

// madeVerdicts are those on the rollouts behind the printed result.
func madeVerdicts() (all []rollout.Score) {
	for _, r := range answered() {
		right := strings.HasSuffix(r.Text, `\boxed{5}.`)
		all = append(all, rollout.Score{Benchmark: "quiz", Model: "m", TaskIndex: r.TaskIndex, TaskID: r.TaskID, Rollout: r.Rollout, Correct: right, Scorer: "math-1"})
	}
	return all
}

// write writes the files of an evaluation that are counted again.
func write(t *testing.T, folder string, all []rollout.Rollout, scores []rollout.Score) {
	t.Helper()
	create := func(name string, write func(io.Writer) error) {
		file, err := os.Create(filepath.Join(folder, name))
		if err == nil {
			err = errors.Join(write(file), file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	create("rollouts.parquet", func(w io.Writer) error {
		return rollout.WritePart(w, each(all), map[string]string{"speceval.schema": rollout.Schema})
	})
	create("scores.parquet", func(w io.Writer) error {
		return rollout.WriteScores(w, each(scores), map[string]string{"speceval.schema": rollout.ScoreSchema})
	})
}

// each yields pointers to some values.
func each[T any](all []T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := range all {
			if !yield(&all[i], nil) {
				return
			}
		}
	}
}

func TestRecount(t *testing.T) {
	answers := map[string]string{"a": "5", "b": "5"}
	r := parsed(t, printed)
	for name, test := range map[string]struct {
		change func([]rollout.Rollout) []rollout.Rollout
		scores func([]rollout.Score) []rollout.Score
		want   string // "": no error
	}{
		"as it is":        {want: ""},
		"one missing":     {change: func(all []rollout.Rollout) []rollout.Rollout { return slices.Delete(all, 2, 3) }, want: "task a has 1 of 1 passes in stage 1, by its rollouts 0 of 0"},
		"another text":    {change: func(all []rollout.Rollout) []rollout.Rollout { all[4].Text = all[0].Text; return all }, want: "task b has 0 of 2"},
		"surplus":         {change: func(all []rollout.Rollout) []rollout.Rollout { return slices.Delete(all, 3, 4) }, scores: func(all []rollout.Score) []rollout.Score { return slices.Delete(all, 3, 4) }},
		"another task":    {change: func(all []rollout.Rollout) []rollout.Rollout { all[0].TaskID = "c"; return all }, want: "task 0 is c"},
		"another verdict": {scores: func(all []rollout.Score) []rollout.Score { all[9].Correct = false; return all }, want: "the verdict on"},
		"no verdict":      {scores: func(all []rollout.Score) []rollout.Score { return all[:8] }, want: "task b has verdicts on 4 of 5"},
	} {
		folder := t.TempDir()
		all, scores := answered(), madeVerdicts()
		if test.change != nil {
			all = test.change(all)
		}
		if test.scores != nil {
			scores = test.scores(scores)
		}
		write(t, folder, all, scores)
		err := recount(folder, r, answers)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestCompletion(t *testing.T) {
	rewarded := func(phase string, submitted, finished float64, passed bool) evaluation.Request {
		return evaluation.Request{Phase: phase, Submitted: submitted, Finished: &finished, Passed: &passed}
	}
	rows := []evaluation.Request{
		rewarded("pilot", 0, 4, false), rewarded("pilot", 8, 9, true), rewarded("pilot", 0, 3, true), rewarded("pilot", 0, 2, true),
		rewarded("continuation", 0, 0.5, false), {Phase: "pilot"},
	}
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, "requests.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := rowfile.Write(io.Writer(file), rows, nil); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if fast, slow, err := completion(folder); err != nil || fast != 1 || slow != 0.5 {
		t.Errorf("%v, %v, %v", fast, slow, err)
	}
}

func TestPredictions(t *testing.T) {
	out := t.TempDir()
	path := filepath.Join(out, filepath.FromSlash(variance.TwoStageFile))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(rows []variance.Ratio) {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := rowfile.Write(file, rows, nil); err != nil {
			t.Fatal(err)
		}
	}
	p := profile.Profile{Benchmark: "quiz", Model: "m"}
	row := variance.Ratio{Benchmark: "quiz", Model: "m", Budget: 8, Policy: policy.HBN.Name, Donors: "none", VarianceRatio: 0.9}
	other := row
	other.Policy, other.VarianceRatio = policy.Oracle.Name, 0.5
	write([]variance.Ratio{other, row})
	if r, err := replayed(out, p, 8); err != nil || r.Ratio != 0.9 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := replayed(out, p, 16); err == nil {
		t.Error("another budget: no error")
	}
	write([]variance.Ratio{other})
	if _, err := replayed(out, p, 8); err == nil {
		t.Error("no row of HBN: no error")
	}
}
