package exchange_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/evaluation"
	"speceval/internal/evaluation/logs"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/rollout"
	"speceval/method/estimate"
	"speceval/pipeline/exchange"
)

// rewards of an evaluation: of each task the selected ones, and one more of the first,
// which does not count.
var rewards = [][]float64{{1, 0, 0.5, 1}, {1, 1}}

var selected = []int{3, 2}

// stored makes a complete evaluation in a folder, and opens it.
func stored(t *testing.T, policy string, change func(r *evaluation.Result)) *exchange.Evaluation {
	t.Helper()
	folder := t.TempDir()
	r := &evaluation.Result{
		Head: evaluation.Head{Schema: "evaluation-result/2", Benchmark: "quiz", Model: "org/model", Policy: policy, Budget: 2, Seed: 7}, Tasks: 2, Provenance: "measured",
		Estimate: 0.75, StandardError: 0.1, Interval: [2]float64{0.55, 0.95}, Rollouts: 5, Seconds: 90, Scored: []string{"s/1"}, Notes: []string{},
		SampleError: evaluation.SampleError{StandardErrorTasks: 0.2, IntervalTasks: [2]float64{0.3, 1}},
	}
	var answers []*rollout.Rollout
	var scores []*rollout.Score
	for i, id := range []string{"a/1", "b"} {
		all := rewards[i]
		task := evaluation.Task{Index: int32(i), ID: id, Pilots: 1, Continuations: int32(selected[i] - 1)}
		task.Stages = []estimate.Stage{{Rollouts: selected[i], Weight: 1}}
		for _, x := range all[:selected[i]] {
			task.Stages[0].Rewards += x
			task.Stages[0].Squares += x * x
		}
		r.Rows = append(r.Rows, task)
		for k, x := range all {
			answers = append(answers, &rollout.Rollout{
				Benchmark: "quiz", Model: "org/model", TaskIndex: int32(i), TaskID: id, Rollout: int32(k), Seed: int64(100*i + k),
				PromptTokens: 10, CompletionTokens: 5, FinishReason: "length", Text: "so <b>", Reasoning: "hm", LatencySeconds: 1.5,
			})
			s := &rollout.Score{Benchmark: "quiz", Model: "org/model", TaskIndex: int32(i), TaskID: id, Rollout: int32(k), Answer: "42", Scorer: "s/1"}
			if err := s.Grade(x); err != nil {
				t.Fatal(err)
			}
			scores = append(scores, s)
		}
	}
	if change != nil {
		change(r)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(folder, evaluation.ResultFile)
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for _, err := range []error{
		os.WriteFile(result, text, 0o644), os.Chtimes(result, at, at),
		atomicfile.Write(filepath.Join(folder, evaluation.RolloutsFile), func(w io.Writer) error {
			return rollout.WritePart(w, each(answers), map[string]string{"speceval.schema": rollout.Schema})
		}),
		atomicfile.Write(filepath.Join(folder, evaluation.ScoresFile), func(w io.Writer) error {
			return rollout.WriteGraded(w, each(scores), map[string]string{"speceval.schema": rollout.ScoreSchema})
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	read, err := evaluation.ReadResult(filepath.Join(folder, evaluation.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	tasks := []benchmark.Task{
		{Benchmark: "quiz", ID: "a/1", Prompt: "6*7?", UserPrompt: "What is 6*7?", SystemPrompt: "Be brief.", Answer: "42", Scorer: "math"},
		{Benchmark: "quiz", ID: "b", Index: 1, Prompt: "Which?", UserPrompt: "Which?", Answer: "B", Scorer: "choice", Options: 2, OptionTexts: []string{"x", "y"}},
	}
	setup := &evaluation.Setup{Asked: map[string]string{
		"prompts": benchmark.PromptDigest(tasks), "sampling.temperature": "0.6", "sampling.top_p": "0.95", "sampling.top_k": "20", "sampling.leave_out": `["top_k"]`,
	}}
	e, err := exchange.OpenEvaluation(&evaluation.Stored{Folder: folder, Setup: setup, Result: read, Text: text}, tasks)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func each[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// places are where the forms are written to in a folder.
var places = map[string]string{"eee": "data", "inspect": "r.eval", "json": "r.json"}

func TestWhatIsExportedIsImportedAgain(t *testing.T) {
	for _, policy := range []string{"hbn_staged", "uniform", "hbn_staged, by Uniform"} {
		name, _, byUniform := strings.Cut(policy, ", ")
		e := stored(t, name, func(r *evaluation.Result) {
			if byUniform {
				r.Used = "uniform"
			}
		})
		for form, to := range places {
			to = filepath.Join(t.TempDir(), to)
			if _, err := e.Write(form, to); err != nil {
				t.Fatal(err)
			}
			all, _, err := logs.Choice{}.Read(to)
			if err != nil || len(all) != 1 {
				t.Fatalf("%s: %v, %v", form, all, err)
			}
			l := all[0]
			if l.Allocated != (policy == "hbn_staged") || l.Benchmark != "quiz" || l.Model != "org/model" || l.Left != 0 {
				t.Errorf("%s of %s: %+v", form, policy, l)
			}
			var got [][]float64
			for _, task := range l.Tasks {
				var of []float64
				for k, r := range task.Rollouts {
					of = append(of, r.Reward)
					if r.Number != k+1 || r.PromptTokens != 10 || r.CompletionTokens != 5 {
						t.Errorf("%s: %+v", form, r)
					}
				}
				got = append(got, of)
			}
			if want := [][]float64{{1, 0, 0.5}, {1, 1}}; !reflect.DeepEqual(got, want) || l.Tasks[0].ID != "a/1" {
				t.Errorf("%s: %v, want %v", form, got, want)
			}
		}
	}
}

func TestSameBytesEveryTime(t *testing.T) {
	read := func(form string) []byte {
		to := filepath.Join(t.TempDir(), places[form])
		paths, err := stored(t, "hbn_staged", nil).Write(form, to)
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, data...)
		}
		return all
	}
	for form := range places {
		if first, second := read(form), read(form); !bytes.Equal(first, second) || len(first) == 0 {
			t.Errorf("%s: %d and %d bytes, which differ", form, len(first), len(second))
		}
	}
}

// An export has what was asked and how, and tasks and rollouts per task as factors of the
// number of samples.
func TestInputsTargetsAndSampling(t *testing.T) {
	e := stored(t, "hbn_staged", nil)
	log := filepath.Join(t.TempDir(), "r.eval")
	if _, err := e.Write("inspect", log); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(log)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	member := func(name string) string {
		text, err := fs.ReadFile(archive, name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	has := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %s", text, part)
			}
		}
	}
	has(member("header.json"), `"model_generate_config":{"temperature":0.6,"top_p":0.95}`, `"epochs":3,`, `"samples":2,`, `"total_samples":5`, `"completed_samples":5`,
		`"selected":{"a/1":3,"b":2}`, `"started_at":"2026-11-23T09:58:30Z"`, `"completed_at":"2026-11-23T10:00:00Z"`)
	has(member("samples/a/1_epoch_1.json"), `"input":[{"content":"Be brief.","role":"system"},{"content":"What is 6*7?","role":"user"}]`, `"target":"42"`, `"working_time":1.5`,
		`"messages":[{"content":"Be brief.","role":"system"},{"content":"What is 6*7?","role":"user"},{"content":[{"reasoning":"hm"`)
	has(member("samples/b_epoch_2.json"), `"input":"Which?"`, `"choices":["x","y"]`)
	has(member("summaries.json"), `"input":"What is 6*7?"`, `"target":"B"`, `"message_count":3`)
	to := t.TempDir()
	paths, err := e.Write("eee", filepath.Join(to, "data"))
	if dir := filepath.Join(to, "data", "quiz", "org", "model"); err != nil || len(paths) != 2 || filepath.Dir(paths[0]) != dir || filepath.Dir(paths[1]) != dir {
		t.Fatal(paths, err)
	}
	rows, _ := os.ReadFile(paths[0])
	has(string(rows), `"input":{"raw":"What is 6*7?","reference":["42"]}`, `"choices":["x","y"]`, `"latency_ms":1500`)
	record, _ := os.ReadFile(paths[1])
	has(string(record), `"temperature": 0.6`, `"schema_version": "0.3.0"`, `"evaluation_id": "quiz/org_model/1795428000"`, `"score": 0.75`, `"value": 0.1`, `"lower": 0.55`, `"upper": 0.95`,
		`"confidence_level": 0.95`, `"num_samples": 5`, `"total_rows": 5`, `"file_path": "`+filepath.ToSlash(strings.TrimPrefix(paths[0], to+string(filepath.Separator)))+`"`)
	other := *e.Stored
	other.Setup = &evaluation.Setup{Asked: map[string]string{"prompts": "another"}}
	if _, err := exchange.OpenEvaluation(&other, []benchmark.Task{}); !errors.Is(err, exchange.ErrOtherPrompts) {
		t.Errorf("tasks with other prompts: %v", err)
	}
}

// No name of a benchmark or model leads out of the folder.
func TestNamesStayInTheFolder(t *testing.T) {
	to := t.TempDir()
	paths, err := stored(t, "uniform", func(r *evaluation.Result) { r.Benchmark, r.Model = "..", "../../x" }).Write("eee", to)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if inside, err := filepath.Rel(to, path); err != nil || strings.HasPrefix(inside, "..") {
			t.Errorf("%s is outside of %s", path, to)
		}
	}
}
