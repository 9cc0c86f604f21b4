package view_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"speceval/internal/evaluation"
	"speceval/internal/golden"
	"speceval/internal/store/journal"
	"speceval/method/neyman"
	"speceval/pipeline/config"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/runlog"
	"speceval/pipeline/status"
	"speceval/pipeline/view"
)

const hostile = `<img src=x onerror="document.title='broken'">`

// newView is a view of a folder, with an evaluation before its first rollout, and one whose
// second stage is under way, of a task with a hostile name.
func newView(t *testing.T) (v *view.View, folder string) {
	t.Helper()
	cfg := new(config.Config)
	cfg.Experiment.Out = t.TempDir()
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{1, 2} {
		setup := evaluation.Setup{Head: evaluation.Head{Benchmark: "quiz", Model: "a/b", Policy: "hbn_staged", Budget: 8, Seed: seed}, TaskIDs: []string{"one", "two", "three" + hostile},
			Design: evaluation.Design{Pilots: 2, Weight: 0.4, Fractions: []float64{0.5, 1}}}
		folder = setup.Path(cfg.Experiment.Out)
		if err := errors.Join(os.MkdirAll(folder, 0o777), setup.Keep(folder)); err != nil {
			t.Fatal(err)
		}
	}
	under := evaluation.Progress{At: time.Now(), Pilots: 6, AllPilots: 6, Continuations: 3, AllContinuations: 18, Stage: 1, Tokens: 1234, Dollars: 0.25,
		Mean:  &evaluation.Provisional{Value: 0.4321, StandardError: 0.0567},
		Tasks: []evaluation.TaskSoFar{{Scored: 3, Rewards: 1, Selected: 4}, {Scored: 2, Rewards: 2, Selected: 3}, {Scored: 4, Rewards: 2, Selected: 9}}}
	text, err := json.Marshal(under)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "progress.json"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	return &view.View{Archive: evaluate.Archive{Config: cfg}, Prior: prior, Units: func() (*status.Status, error) {
		return &status.Status{Stages: []status.Stage{{Name: "replay", State: "stale", Fresh: 3, Stale: 2, Running: 1, Failed: 1}}, Failures: []runlog.Event{{Stage: "replay", ID: "a", Error: "broken " + hostile}}}, nil
	}}, folder
}

// get is the answer to a request.
func get(t *testing.T, v http.Handler, target string) string {
	t.Helper()
	r := httptest.NewRequest("GET", target, nil)
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	return fmt.Sprint(w.Code, " ", w.Body)
}

const name = "/evaluation?name=quiz/a/b/hbn_staged-b8-seed"

func TestPages(t *testing.T) {
	v, _ := newView(t)
	for target, wants := range map[string][]string{
		"http://127.0.0.1:1/": {"200", "quiz/a/b/hbn_staged-b8-seed1", "0.4321 ± 0.0567", "9 of 24", "$0.25", "replay/a: broken &lt;img", "paused"},
		"http://localhost" + name + "2": {"200", "Stage 2 of 3: tasks are given rollouts by what each still adds", "provisional",
			`<td>three&lt;img src=x onerror=&#34;document.title=&#39;broken&#39;&#34;&gt;</td><td class="n">5</td><td class="n">4</td>`},
		"http://[::1]:80" + name + "1":                  {"200", "No rollout is scored yet."},
		"http://127.0.0.1" + name + "3":                 {"404", "there is no such evaluation"},
		"http://127.0.0.1/report?name=../../etc/passwd": {"404", "there is no such evaluation"},
		"http://127.0.0.1/other":                        {"404"},
		"http://rebound.example/":                       {"403", "for this machine alone"},
	} {
		got := get(t, v, target)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%s", target, want, got)
			}
		}
	}
	if first := get(t, v, "http://127.0.0.1"+name+"2"); strings.Index(first, "three") > strings.Index(first, ">one<") {
		t.Error("the task with most rollouts to come is not the first")
	}
}

// TestRolloutsOfAnotherProgramAreCounted has what serve keeps, whose progress is its journal.
func TestRolloutsOfAnotherProgramAreCounted(t *testing.T) {
	v, folder := newView(t)
	if err := os.Remove(filepath.Join(folder, "progress.json")); err != nil {
		t.Fatal(err)
	}
	type record struct {
		Task   string  `json:"task"`
		Number int     `json:"rollout"`
		State  string  `json:"state"`
		Reward float64 `json:"reward"`
	}
	records, path := []*record{{"one", 1, "given", 0}, {"two", 1, "completed", 1}}, filepath.Join(folder, "rollouts.journal")
	for _, want := range []string{"1 of 24 rollouts", "2 of 24 rollouts"} {
		if err := journal.Write(path, slices.Values(records)); err != nil {
			t.Fatal(err)
		}
		if got := get(t, v, "http://127.0.0.1"+name+"2"); !strings.Contains(got, want) || strings.Contains(got, "No rollout") {
			t.Error(got)
		}
		records = append(records, &record{"one", 1, "completed", 1})
	}
}

func TestAnEmptyFolderHasAPage(t *testing.T) {
	v, _ := newView(t)
	v.Archive.Config.Experiment.Out = t.TempDir()
	v.Units = func() (*status.Status, error) { return nil, nil }
	if got := get(t, v, "http://127.0.0.1/"); !strings.Contains(got, "Nothing is here yet") {
		t.Error(got)
	}
}

func TestADamagedEvaluationIsNamed(t *testing.T) {
	v, folder := newView(t)
	if err := os.WriteFile(filepath.Join(folder, "evaluation.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := get(t, v, "http://127.0.0.1/"); !strings.Contains(got, `"damaged">damaged`) || !strings.Contains(got, "seed1") {
		t.Error(got)
	}
}

const probe = `
setTimeout(function () {
  var root = document.documentElement;
  parent.postMessage(JSON.stringify({ Width: innerWidth, Scroll: root.scrollWidth, Text: document.body.innerText, Title: document.title, Gone: !document.getElementById("gone").hidden }), "*");
}, 2500);
`

// TestPagesInABrowser has pages that follow what is stored meanwhile.
func TestPagesInABrowser(t *testing.T) {
	v, folder := newView(t)
	var served atomic.Int32
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.ServeHTTP(w, r)
		if served.Add(1) == 2 { // both frames have their first page
			text, err := os.ReadFile(filepath.Join(folder, "progress.json"))
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, "progress.json"), []byte(strings.Replace(string(text), "0.4321", "0.5555", 1)), 0o666)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	for _, target := range []string{"/", name + "2"} {
		served.Store(0)
		var widths []int
		for _, posted := range golden.Browse(t, pages, target, probe, os.Getenv("SPECEVAL_CI") != "") {
			var got struct {
				Width, Scroll int
				Text, Title   string
				Gone          bool
			}
			if err := json.Unmarshal([]byte(posted), &got); err != nil {
				t.Fatal(err)
			}
			widths = append(widths, got.Width)
			if got.Scroll > got.Width || got.Gone || got.Title == "broken" || !strings.Contains(got.Text, "0.5555") {
				t.Errorf("%s: %+v", target, got)
			}
		}
		if slices.Sort(widths); !slices.Equal(widths, []int{390, 1280}) {
			t.Errorf("%s: frames of %v pixels have answered", target, widths)
		}
	}
}
