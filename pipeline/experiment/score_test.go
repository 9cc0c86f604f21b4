package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/scoring/family"
	"speceval/internal/servers/flops"
	"speceval/internal/servers/vllm"
	"speceval/pipeline/config"
	"speceval/stages/score"
)

// sampledConfig is an experiment whose rollouts are sampled, on two task files in
// a folder.
func sampledConfig(t *testing.T) (cfg *config.Config, dir string) {
	t.Helper()
	dir = filesIn(t, map[string]string{
		"b.jsonl":      `{"task_id":"1","prompt":"p","user_prompt":"p","scorer":"code","tests_file":"tests.json"}` + "\n" + `{"task_id":"2","prompt":"q","answer":"x","scorer":"judge"}` + "\n",
		"a.jsonl":      `{"task_id":"1","prompt":"p","answer":"1","scorer":"math"}` + "\n" + `{"task_id":"2","prompt":"q","answer":"2","scorer":"math"}` + "\n",
		"tests.json":   `[{"kind":"stdin","input":"1","output":"1"}]`,
		"official.txt": "{{.Question}} {{.Response}} {{.Answer}}",
	})
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
	return must(config.Parse([]byte(text), "experiments.toml", nil)), dir
}

func TestWhatScoringIsTold(t *testing.T) {
	cfg, dir := sampledConfig(t)
	tasks, _, _ := readTasks(cfg)
	s, notes, err := ScoreSettings(cfg, Outside{}, Judges(cfg, Outside{}), tasks)
	ok(t, err)
	for i, unparted := range []bool{false, false, true} {
		same(t, s.Models[i].ID+" has its thinking in one text with the answer", s.Models[i].Unparted, unparted)
	}
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "b has answers that a judge scores") {
		t.Errorf("notes %q", notes)
	}
	before := s.Benchmarks[0].Answers
	same(t, "tests", len(must(s.Benchmarks[0].Tests(tasks[0].Tasks[0]))), 1)
	write(filepath.Join(dir, "tests.json"), `[{"kind":"stdin","input":"1","output":"2"}]`)
	if after, _, err := tasks[0].answers(); err != nil || after.Name != before.Name || after.SHA256 == before.SHA256 {
		t.Errorf("with other tests %+v, %v; before %+v", after, err, before)
	}
	_, err = s.Benchmarks[0].Tests(tasks[0].Tasks[0])
	says(t, err, "tests.json was changed while this ran")
	tasks[0].Tasks[0].TestsSHA256 = strings.Repeat("0", 64)
	recorded, _, err := tasks[0].answers()
	if err != nil || recorded.SHA256 == before.SHA256 {
		t.Errorf("with the digest of the tests %+v, %v", recorded, err)
	}
	os.Remove(filepath.Join(dir, "tests.json"))
	if again, _, err := tasks[0].answers(); err != nil || again != recorded {
		t.Errorf("tests are read though their digest is there: %+v, %v", again, err)
	}
	_, err = s.Judge(t.Context())
	says(t, err, "judge.urls")
}

func TestAnOfficialPromptIsPartOfTheJudgesName(t *testing.T) {
	cfg, dir := sampledConfig(t)
	official, missing := filepath.Join(dir, "official.txt"), filepath.Join(dir, "none.txt")
	settings := func() (score.Settings, error) {
		s, _, err := ScoreSettings(cfg, Outside{}, Judges(cfg, Outside{}), nil)
		return s, err
	}
	sum := func() string { return must(settings()).Sources[family.Judge][0].SHA256 }
	ours := sum()
	for i, file := range []*string{&cfg.Judge.Prompt, &cfg.Judge.GradingPrompt} {
		*file = official
		s, err := settings()
		if err != nil || (sum() == ours) != (i == 1) {
			t.Errorf("%d: the prompt has the digest %s, ours %s, %v", i, sum(), ours, err)
		}
		want := [2]string{cfg.Judge.Model, cfg.Judge.Model}
		want[i] += ":prompt=" + digest(must(os.ReadFile(official)))[:8]
		same(t, "names", [2]string{s.JudgeName, s.GradingName}, want)
		*file = missing
		_, err = settings()
		says(t, err, []string{"judge.prompt", "judge.grading_prompt"}[i])
		*file = ""
	}
}

func TestPairsAreInCanonicalOrder(t *testing.T) {
	cfg, _ := sampledConfig(t)
	e := &Experiment{config: cfg, Notes: map[string][]string{}}
	e.sampledCorpus()
	var names []string
	for _, p := range e.Reports.Pairs {
		names = append(names, p.Benchmark+"/"+p.Model)
	}
	if got := strings.Join(names, " "); got != "a/apart a/plain a/unparted b/apart b/plain b/unparted" || e.Reports.Published {
		t.Errorf("pairs %s, published: %t", got, e.Reports.Published)
	}
}

// TestSamplingMakesRoomForTiming asks for a worker while servers for sampling
// may still be up.
func TestSamplingMakesRoomForTiming(t *testing.T) {
	busy := errors.New("still up")
	e := &Experiment{config: config.Default(), Notes: map[string][]string{}, close: []func(context.Context) error{func(context.Context) error { return busy }}}
	e.config.Corpus.Tasks, e.config.Systems.Lengths = t.TempDir(), config.LengthsDrawn
	m := must(e.measuredRuns(nil))
	_, err := m.Acquire(t.Context(), "qwen2_5_3b")
	same(t, "the error", errors.Is(err, busy), true)
}

// graderSettings are the settings of a benchmark that a program scores, in this folder.
func graderSettings(t *testing.T, sets ...string) score.Settings {
	t.Helper()
	cfg := must(config.Parse([]byte("[[model]]\nid = \"m\"\n[[benchmark]]\nid = \"own\"\ntasks = \"own.jsonl\"\n"), "x.toml", sets))
	tasks := TaskFile{ID: "own", Path: "own.jsonl", Tasks: []benchmark.Task{
		{Benchmark: "own", ID: "a", Prompt: "p", Scorer: "command"}, {Benchmark: "own", ID: "b", Index: 1, Prompt: "q", Scorer: "command-graded"},
	}}
	s, notes, err := ScoreSettings(cfg, Outside{}, Judges(cfg, Outside{}), []TaskFile{tasks})
	if err != nil || len(notes) != 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	return s
}

// What a grader is made of is part of the rules of its scores, and its name is not
// enough.
func TestAnotherGraderIsAnotherRule(t *testing.T) {
	t.Chdir(t.TempDir())
	const named = `grader.command=["python3","grade.py"]`
	seen := map[string]string{}
	rules := func(what string, sets ...string) score.Settings {
		t.Helper()
		s := graderSettings(t, append(sets, named)...)
		r := s.Rules("own", "m")
		if !strings.HasPrefix(r["scorer.command"], "speceval_command_v1:") || !strings.HasPrefix(r["scorer.command-graded"], "speceval_command_graded_v1:") {
			t.Errorf("%s: %v", what, r)
		}
		if other, again := seen[fmt.Sprint(r)]; again {
			t.Errorf("%s has the rules of %s", what, other)
		}
		seen[fmt.Sprint(r)] = what
		return s
	}
	write("grade.py", "1")
	first := rules("the first")
	write("grade.py", "2")
	rules("another program")
	rules("another version", "grader.version=2")
	rules("another sandbox", "grader.sandbox=false")
	_, err := first.Benchmarks[0].Grader(t.Context())
	says(t, err, "has changed since this command began")
	s := graderSettings(t, named, "grader.timeout_seconds=7", "grader.processes=3")
	same(t, "how long a grader may take is no rule", seen[fmt.Sprint(s.Rules("own", "m"))], "another program")
}

// A program for all benchmarks is one grader, so that its processes are counted once.
func TestGradersAreShared(t *testing.T) {
	t.Chdir(t.TempDir())
	s := graderSettings(t, `grader.command=["sh"]`, "grader.sandbox=false", "grader.processes=3")
	one := must(s.Benchmarks[0].Grader(t.Context()))
	defer one.Close()
	other, err := s.Benchmarks[0].Grader(t.Context())
	if err != nil || other != one || one.Places() != 3 {
		t.Errorf("%p and %p, %v", one, other, err)
	}
	other.Close()
}

func TestWhatServersAreToldOfThinking(t *testing.T) {
	for _, tt := range []struct {
		model config.Model
		want  map[string]any
		proof bool
	}{
		{config.Model{ID: "plain"}, nil, false},
		{config.Model{ID: "thinks", Thinking: true}, map[string]any{"enable_thinking": true}, false},
		{config.Model{ID: "bounded", Thinking: true, ThinkingBudget: 8, ReasoningParser: "qwen3"}, map[string]any{"enable_thinking": true}, true},
		{config.Model{ID: "could think", ReasoningParser: "qwen3"}, map[string]any{"enable_thinking": false}, false},
	} {
		m := ServedModel(config.Default(), tt.model)
		if !reflect.DeepEqual(m.Requires.Sampling.TemplateArguments, tt.want) || m.Requires.Sampling.ThinkingBudget > 0 != tt.proof || m.Launch.ThinkingBudget != tt.proof {
			t.Errorf("%s: %+v", tt.model.ID, m)
		}
	}
}

// What is left out of requests is part of how they ask, and of the keys only where it is.
func TestWhatRequestsLeaveOut(t *testing.T) {
	for set, want := range map[string]struct {
		left      vllm.Fields
		continues bool
		key       string
	}{
		"":            {0, true, ""},
		"seed, top_p": {vllm.LeaveSeed | vllm.LeaveTopP, true, `["seed","top_p"]`},
		"top_p,seed":  {vllm.LeaveSeed | vllm.LeaveTopP, true, `["seed","top_p"]`},
		"stream":      {vllm.LeaveStream, false, `["stream"]`},
	} {
		sets := []string{"sampling.leave_out=" + set}
		if set == "" {
			sets = nil
		}
		cfg := must(config.Parse(nil, "defaults", sets))
		key, there := cfg.Asked()["sampling.leave_out"] // older manifests have none
		if got := Sampling(cfg, cfg.Models[0]).LeaveOut; got != want.left || Continues(cfg) != want.continues || key != want.key || there != (set != "") {
			t.Errorf("%q: %v, %t, key %q", set, got, Continues(cfg), key)
		}
	}
}

func TestRolloutsDependOnTheModelNotOnItsServer(t *testing.T) {
	base := config.Model{ID: "m", Title: "M", Path: "p", Served: "m", Thinking: true, ThinkingBudget: 5, ReasoningParser: "r", MaxSequences: 8}
	change := func(change func(m *config.Model)) string {
		m := base
		change(&m)
		return ModelText(m)
	}
	for i, text := range []string{
		change(func(m *config.Model) { m.Title, m.Served, m.MaxSequences = "N", "n", 9 }), // no rollout depends on these
		change(func(m *config.Model) { m.ID = "n" }), change(func(m *config.Model) { m.Path = "q" }), change(func(m *config.Model) { m.Thinking = false }),
		change(func(m *config.Model) { m.ThinkingBudget = 6 }), change(func(m *config.Model) { m.ReasoningParser = "" }),
	} {
		if (text == ModelText(base)) != (i == 0) {
			t.Errorf("change %d: %s", i, text)
		}
	}
}

func TestPublishedRunsTellWhatRolloutsTake(t *testing.T) {
	hours := hoursOfRollout()
	same(t, "benchmarks and models", len(hours), 107)
	for key, each := range hours {
		if each <= 0 {
			t.Errorf("%v: %v GPU-hours", key, each)
		}
	}
	got := expectedRollouts("aime24", "qwen3_5_4b", 30*1024, 16384)
	if len(got) != 3 || got[0].Amount != 30720 || got[1].Amount != 30720*16384 || got[2].Amount < 1 || got[2].Amount > 300 {
		t.Errorf("aime24 of Qwen3.5-4B takes %v", got)
	}
	same(t, "quantities of what was never run", len(expectedRollouts("mine", "m", 10, 100)), 2)
}

func TestElementsHoldWhatTheConfigurationSays(t *testing.T) {
	e := &Experiment{Executor: config.Default().Executor, Servers: map[string]bool{"generate": true}}
	same(t, "without Slurm", e.ElementSeconds(), nil)
	e.Executor.Kind = config.ExecutorSlurm
	got := e.ElementSeconds()
	same(t, "seconds of elements, and none of the report's", [2]float64{got["replay"], got["report"]}, [2]float64{300, 0})
}

func TestOwnModelsBringTheirCoefficients(t *testing.T) {
	all := ownArchitectures([]config.Model{{ID: "mine", ThetaCore: 5, ThetaHead: 6, FullAttentionLayers: 7, AttentionWidth: 8}, {ID: "qwen2_5_3b"}})
	same(t, "architectures", all, []flops.Architecture{{Model: "mine", ThetaCore: 5, ThetaHead: 6, FullAttentionLayers: 7, AttentionWidth: 8}})
}

// A judge without answers is told of once, when it is asked for.
func TestAJudgeWithoutAnswersIsTold(t *testing.T) {
	cfg, _ := sampledConfig(t)
	cfg.Judge.URLs = []string{"http://127.0.0.1:1"}
	var said []string
	o := Outside{Report: func(text string) { said = append(said, text) }}
	tasks := []TaskFile{
		{ID: "known", Tasks: []benchmark.Task{{Scorer: "judge", Answer: "a"}, {Scorer: "command"}}}, {ID: "open", Tasks: []benchmark.Task{{Scorer: "judge-graded"}}},
	}
	s, _, _ := ScoreSettings(cfg, o, Judges(cfg, o), tasks)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		s.Judge(ctx)
	}
	same(t, "said", said, []string{"note: tasks of open have no answer: the judge goes by the question and by what it knows"})
}

// TestModulesThatAreMissing has interpreters that answer as one without numpy, as one
// with it, and not at all.
func TestModulesThatAreMissing(t *testing.T) {
	cfg, dir := sampledConfig(t)
	cfg.Sandbox.Python = filepath.Join(dir, "python")
	for _, tt := range []struct{ benchmark, script, want string }{
		{"livecodebench_gt_2024_03_30__difficulty_easy", "shift 3; echo $1", "note: numpy is missing from " + cfg.Sandbox.Python + " (sandbox.python)"},
		{"livecodebench_gt_2024_03_30__difficulty_easy", "echo", ""},
		{"livecodebench_gt_2024_03_30__difficulty_easy", "exit 1", ""},
		{"own", "shift 3; echo $1", ""},
	} {
		write(cfg.Sandbox.Python, "#!/bin/sh\n"+tt.script+"\n")
		if got := missingModules(t.Context(), cfg.Sandbox.Python, []TaskFile{{ID: tt.benchmark}}); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s, %q: %q, want %q", tt.benchmark, tt.script, got, tt.want)
		}
	}
	same(t, "of no modules", missingModules(t.Context(), "python3", []TaskFile{{ID: "own"}}), "")
}
