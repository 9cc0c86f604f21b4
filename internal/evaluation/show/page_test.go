package show_test

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/golden"
	"speceval/internal/store/rollout"
	"speceval/method/estimate"
)

const hostile = `</div></details><img src=x onerror="document.title='broken'"><script>alert(1)</script>`

// page is the page of a made evaluation, whose texts all are hostile and long.
func page(t *testing.T, tasks, rollouts int) string {
	t.Helper()
	risk := 0.8
	s := &evaluation.Stored{Folder: t.TempDir(), Altered: []string{"a file is not as it was made"}, Result: &evaluation.Result{
		Rules: "r1",
		Head:  evaluation.Head{Benchmark: "quiz" + hostile, Model: "m", Policy: "hbn_staged", Budget: rollouts}, Tasks: tasks, Provenance: "measured", Rollouts: tasks * rollouts,
		Estimate: 0.4321, StandardError: 0.0123, Interval: [2]float64{0.408, 0.456}, Notes: []string{"a note"}, Design: evaluation.Design{Risk: &risk},
		SampleError: evaluation.SampleError{StandardErrorTasks: 0.0456, Clusters: tasks}, Uniform: evaluation.Equivalent{Budget: 33.3, Interval: [2]float64{30, 37}},
		Tokens: evaluation.Tokens{Completion: 123456}, Cost: &evaluation.Cost{Dollars: 7.89},
	}}
	var answers []*rollout.Rollout
	var verdicts []*rollout.Score
	for i := range tasks {
		n := rollouts
		if tasks > 1000 && i%10 > 0 {
			n-- // fewer of most tasks
		}
		id := fmt.Sprintf("task-%03d%s", i, hostile)
		s.Result.Rows = append(s.Result.Rows, evaluation.Task{Index: int32(i), ID: id, Pilots: 4, Continuations: int32(n - 4), Mean: float64(i) / float64(tasks), Variance: 0.2,
			Stages: []estimate.Stage{{Rollouts: n, Weight: 1}}})
		for n := range n {
			answers = append(answers, &rollout.Rollout{Benchmark: "quiz", Model: "m", TaskIndex: int32(i), TaskID: id, Rollout: int32(n), FinishReason: "stop",
				Text: strings.Repeat(hostile, 30) + fmt.Sprintf(" so the answer %d of task %d is 7", n, i)})
			verdicts = append(verdicts, &rollout.Score{Benchmark: "quiz", Model: "m", TaskIndex: int32(i), TaskID: id, Rollout: int32(n), Correct: n%2 == 0, Answer: "7" + hostile, Scorer: "math"})
		}
	}
	write(t, filepath.Join(s.Folder, evaluation.RolloutsFile), answers, rollout.Schema, rollout.WritePart)
	write(t, filepath.Join(s.Folder, evaluation.ScoresFile), verdicts, rollout.ScoreSchema, rollout.WriteScores)
	var b strings.Builder
	if err := (show.Page{Stored: s, Prompt: func(task int) string { return fmt.Sprintf("question %d %s", task, strings.Repeat(hostile, 50)) }}).Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func write[T any](t *testing.T, path string, rows []*T, schema string, write func(w io.Writer, rows iter.Seq2[*T, error], footer map[string]string) error) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := func(yield func(*T, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
	if err := write(f, all, map[string]string{"speceval.schema": schema}); err != nil {
		t.Fatal(err)
	}
}

func TestThePageOfManyTasksIsSmall(t *testing.T) {
	text := page(t, 500, 24)
	if len(text) > 500_000 {
		t.Errorf("%d bytes", len(text))
	}
	for _, want := range []string{"0.4321 ± 0.0123 on these tasks", "± 0.0456", "would have needed 33.3 rollouts per task", "$7.89", "a file is not as it was made", "a note", "answer 0 of task 499 is 7"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "<img") || strings.Contains(text, "<script>") {
		t.Error("a text of others is markup")
	}
	if first, number := strings.Index(text, "a file is not as"), strings.Index(text, "<h1>"); first > number {
		t.Error("warnings come after the number")
	}
}

// TestThePageOfAnyNumberOfTasksIsSmall lists the tasks with most rollouts and says where all are.
func TestThePageOfAnyNumberOfTasksIsSmall(t *testing.T) {
	text := page(t, 5000, 5)
	if len(text) > 500_000 {
		t.Errorf("%d bytes", len(text))
	}
	for _, want := range []string{"500 of 5,000 tasks are listed, those with most rollouts; all are in result.json", "neighbours share a place", ">task-4990&lt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, "<details>"); n != 500 || strings.Contains(text, ">task-4991&lt;") {
		t.Errorf("%d tasks are listed", n)
	}
}

func TestFewTasksHaveLongAnswers(t *testing.T) {
	text := page(t, 5, 30)
	if n := strings.Count(text, "so the answer"); n != 5*20 || len(text) > 500_000 {
		t.Errorf("%d answers in %d bytes, want the first 20 of each task", n, len(text))
	}
	if n := strings.Count(text, `class="good">passed: 7`); n != 5*10 {
		t.Errorf("%d answers have passed, want 50", n)
	}
}

const probe = `
addEventListener("load", function () {
  document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  var cost = Array.from(document.querySelectorAll("dt")).find(function (e) { return e.textContent === "cost"; });
  var all = function (selector) { return document.querySelectorAll(selector).length; };
  parent.postMessage(JSON.stringify({ Width: innerWidth, Scroll: document.documentElement.scrollWidth, Number: document.querySelector("h1").getBoundingClientRect().bottom,
    Cost: cost ? cost.getBoundingClientRect().bottom : 0, Tasks: all("details"), Plots: all("svg"), Bars: all(".span b"), Title: document.title }), "*");
});
`

// seen are sizes and counts of a page in a browser.
type seen struct {
	Width, Scroll, Tasks, Plots, Bars int
	Number, Cost                      float64 // where they end, in pixels
	Title                             string
}

// browsed shows a page in frames of two widths, in which it fits.
func browsed(t *testing.T, text string) (all []seen) {
	t.Helper()
	pages := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
	var widths []int
	for _, posted := range golden.Browse(t, pages, "/", probe, os.Getenv("SPECEVAL_CI") != "") {
		var got seen
		if err := json.Unmarshal([]byte(posted), &got); err != nil {
			t.Fatal(err)
		}
		if all, widths = append(all, got), append(widths, got.Width); got.Scroll > got.Width || got.Number > 800 || got.Title == "broken" {
			t.Errorf("%+v", got)
		}
	}
	if slices.Sort(widths); !slices.Equal(widths, []int{390, 1280}) {
		t.Errorf("frames of %v pixels have answered", widths)
	}
	return all
}

func TestThePageInABrowser(t *testing.T) {
	for _, got := range browsed(t, page(t, 12, 8)) {
		if got.Tasks != 12 || got.Cost == 0 || got.Cost > 800 {
			t.Errorf("%+v", got)
		}
	}
}

func TestTheCostOfAnExtensionIsOfWhatWasAdded(t *testing.T) {
	r := &evaluation.Result{Extends: "earlier", Cost: &evaluation.Cost{Dollars: 1.5, Reported: true}}
	if lines := show.Lines(r, "folder"); !slices.Contains(lines, show.Line{Label: "cost", Text: "$1.5, as the servers report, for what was added"}) {
		t.Errorf("%+v", lines)
	}
}
