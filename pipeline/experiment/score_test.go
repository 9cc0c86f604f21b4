package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/serving"
	"speceval/pipeline/config"
)

// sampledConfig is an experiment whose rollouts are sampled, on two task files in
// a folder.
func sampledConfig(t *testing.T) (cfg *config.Config, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"b.jsonl":      `{"task_id":"1","prompt":"p","user_prompt":"p","scorer":"code","tests_file":"tests.json"}` + "\n" + `{"task_id":"2","prompt":"q","answer":"x","scorer":"judge"}` + "\n",
		"a.jsonl":      `{"task_id":"1","prompt":"p","answer":"1","scorer":"math"}` + "\n" + `{"task_id":"2","prompt":"q","answer":"2","scorer":"math"}` + "\n",
		"tests.json":   `[{"kind":"stdin","input":"1","output":"1"}]`,
		"official.txt": "{{.Question}} {{.Response}} {{.Answer}}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text := `[corpus]
source = "vllm"
tasks = '` + dir + `'
[[model]]
id = "plain"
[[model]]
id = "apart"
thinking = true
reasoning_parser = "qwen3"
[[model]]
id = "unparted"
thinking = true
[[benchmark]]
id = "b"
[[benchmark]]
id = "a"
`
	cfg, err := config.Parse([]byte(text), "experiments.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg, dir
}

func TestWhatScoringIsTold(t *testing.T) {
	cfg, dir := sampledConfig(t)
	tasks, err := readTasks(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, notes, err := ScoreSettings(cfg, Outside{}, Judges(cfg, Outside{}), tasks)
	if err != nil {
		t.Fatal(err)
	}
	for i, unparted := range []bool{false, false, true} {
		if s.Models[i].Unparted != unparted {
			t.Errorf("%s: thinking in one text with the answer: %t", s.Models[i].ID, s.Models[i].Unparted)
		}
	}
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "b has answers that a judge scores") {
		t.Errorf("notes %q", notes)
	}
	before := s.Benchmarks[0].Answers
	if tests, err := s.Benchmarks[0].Tests(tasks[0].Tasks[0]); err != nil || len(tests) != 1 {
		t.Errorf("tests %v, %v", tests, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tests.json"), []byte(`[{"kind":"stdin","input":"1","output":"2"}]`), 0o666); err != nil {
		t.Fatal(err)
	}
	if after, _, err := tasks[0].answers(); err != nil || after.Name != before.Name || after.SHA256 == before.SHA256 {
		t.Errorf("with other tests %+v, %v; before %+v", after, err, before)
	}
	if _, err := s.Benchmarks[0].Tests(tasks[0].Tasks[0]); err == nil || !strings.Contains(err.Error(), "tests.json was changed while this ran") {
		t.Errorf("scores under the digest of other tests: %v", err)
	}
	tasks[0].Tasks[0].TestsSHA256 = strings.Repeat("0", 64)
	recorded, _, err := tasks[0].answers()
	if err != nil || recorded.SHA256 == before.SHA256 {
		t.Errorf("with the digest of the tests %+v, %v", recorded, err)
	}
	if err := os.Remove(filepath.Join(dir, "tests.json")); err != nil {
		t.Fatal(err)
	}
	if again, _, err := tasks[0].answers(); err != nil || again != recorded {
		t.Errorf("tests are read though their digest is there: %+v, %v", again, err)
	}
	if _, err := s.Judge(t.Context()); err == nil || !strings.Contains(err.Error(), "judge.urls") {
		t.Errorf("without a judge: %v", err)
	}
}

func TestAnOfficialPromptIsPartOfTheJudgesName(t *testing.T) {
	cfg, dir := sampledConfig(t)
	settings, ours, err := judgePrompts(cfg)
	if err != nil || settings.Sampling.TemplateArguments["enable_thinking"] != false || settings.Sampling.Temperature != 0 || ours[0] == ours[1] {
		t.Fatalf("%+v, %v", settings.Sampling, err)
	}
	official, missing := filepath.Join(dir, "official.txt"), filepath.Join(dir, "none.txt")
	names := func() [2]string {
		s, _, err := ScoreSettings(cfg, Outside{}, Judges(cfg, Outside{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return [2]string{s.JudgeName, s.GradingName}
	}
	for i, file := range []*string{&cfg.Judge.Prompt, &cfg.Judge.GradingPrompt} {
		*file = official
		_, sums, err := judgePrompts(cfg)
		if err != nil || sums[i] == ours[i] || sums[1-i] != ours[1-i] {
			t.Errorf("digests %v, ours %v, %v", sums, ours, err)
		}
		want := [2]string{cfg.Judge.Model, cfg.Judge.Model}
		want[i] += ":prompt=" + sums[i][:8]
		if got := names(); got != want {
			t.Errorf("names %q, want %q", got, want)
		}
		*file = missing
		if _, _, err := judgePrompts(cfg); err == nil || !strings.Contains(err.Error(), []string{"judge.prompt", "judge.grading_prompt"}[i]) {
			t.Errorf("a prompt that is not there: %v", err)
		}
		*file = ""
	}
}

func TestPairsAreInCanonicalOrder(t *testing.T) {
	cfg, _ := sampledConfig(t)
	c, err := newProfileStages(cfg, Outside{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range c.pairs {
		names = append(names, p.Benchmark+"/"+p.Model)
	}
	if got := strings.Join(names, " "); got != "a/apart a/plain a/unparted b/apart b/plain b/unparted" || c.published {
		t.Errorf("pairs %s, published: %t", got, c.published)
	}
}

// TestSamplingMakesRoomForTiming asks for a worker while servers for sampling
// may still be up.
func TestSamplingMakesRoomForTiming(t *testing.T) {
	busy := errors.New("still up")
	timed := &timing{workers: serving.NewWorkers(serving.Settings{}), vacate: func(context.Context) error { return busy }}
	if _, err := timed.acquire(t.Context(), serving.Model{ID: "m"}); !errors.Is(err, busy) {
		t.Errorf("error %v", err)
	}
}
