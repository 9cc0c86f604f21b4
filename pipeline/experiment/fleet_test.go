package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/fleet"
	"speceval/internal/policy/seed"
	"speceval/internal/servers/launcher"
	"speceval/internal/servers/pool"
	"speceval/internal/store/profile"
	"speceval/method/controller"
	"speceval/pipeline/config"
)

func TestFleetPlaces(t *testing.T) {
	cfg := &config.Config{Workers: []config.Worker{
		{URLs: []string{"http://h20:8000", "http://localhost:8001", "https://127.0.0.1:1", "http://127.0.0.2:8002/v1"}},
		{URLs: []string{"http://[::1]"}},
	}}
	cfg.Judge.URLs = []string{"http://localhost:9000", "http://far:9000"}
	for _, test := range []struct {
		fleet Fleet
		want  string
	}{
		{Fleet{}, "localhost:8001 127.0.0.2:8002 [::1]:80; localhost:9000"},
		{Fleet{Model: "one"}, "localhost:8001 127.0.0.2:8002 [::1]:80; "},
		{Fleet{Count: 2, Port: 8000}, "127.0.0.1:8000 127.0.0.1:8001; "},
	} {
		workers, judges := test.fleet.places(cfg)
		same(t, fmt.Sprintf("%+v", test.fleet), strings.Join(workers, " ")+"; "+strings.Join(judges, " "), test.want)
	}
}

// timingFile is the paper's timing without weights.
const timingFile = "../../experiments-timing.toml"

// TestTimingWithoutWeights plans the shipped experiment: every profile at every
// budget, and what that takes.
func TestTimingWithoutWeights(t *testing.T) {
	out := t.TempDir()
	e := must(Load(timingFile, nil, Outside{Out: out}))
	measured, hours := 0, 0.0
	for _, stage := range e.Stages {
		for _, u := range stage.Units {
			if !strings.HasPrefix(u.ID, "measured/") {
				continue
			}
			measured++
			same(t, u.ID, u.Config["systems.lengths"], `"drawn"`)
			for _, q := range u.Expect {
				if strings.HasPrefix(q.Name, "GPU-hours") {
					hours += q.Amount
				}
			}
		}
	}
	same(t, "settings that are timed", measured, 4*107)
	if hours < 4000 || hours > 5000 { // 557 hours of eight GPUs
		t.Errorf("%.0f GPU-hours", hours)
	}
	if !slices.ContainsFunc(e.Notes["systems"], func(n string) bool { return strings.HasPrefix(n, "18 of 18 benchmarks have no task file in tasks") }) {
		t.Errorf("notes %q", e.Notes)
	}
	same(t, "files that planning leaves", len(must(os.ReadDir(out))), 0)
}

func parsed(text string) *config.Config { return must(config.Parse([]byte(text), "test.toml", nil)) }

const dummyWorker = "[systems]\nengine = \"vllm\"\nlengths = \"drawn\"\n[[worker]]\nname = \"a\"\nlaunch = \"vllm serve {model}\"\nweights = \"dummy\"\n"

func TestModelsWithoutAShape(t *testing.T) {
	folder := filesIn(t, map[string]string{"config.json": `{"architectures":["Qwen2ForCausalLM"]}`})
	cfg := parsed(dummyWorker + "[[model]]\nid = \"qwen3_5_4b\"\n[[model]]\nid = \"gpt\"\n[[model]]\nid = \"own\"\npath = \"" + folder + "\"\n")
	_, err := (&Experiment{config: cfg, Notes: map[string][]string{}}).measuredRuns(nil)
	if err == nil || !strings.Contains(err.Error(), "model gpt cannot be served") || !strings.Contains(err.Error(), "qwen2_5_3b, qwen2_5_7b") || strings.Contains(err.Error(), "model own") {
		t.Errorf("error %v", err)
	}
}

func TestWhatAWeightlessWorkerLoads(t *testing.T) {
	out, folder := t.TempDir(), filesIn(t, map[string]string{"config.json": `{"architectures":["Qwen2ForCausalLM"]}`})
	prepare := weightless(out)
	got, err := prepare(pool.Model{ID: "qwen3_5_4b", Launch: launcher.Model{Path: "Qwen/Qwen3.5-4B", Served: "s"}})
	want := filepath.Join(out, "models", "qwen3_5_4b")
	if err != nil || got.Path != want || got.Served != "s" || strings.Join(got.Flags, " ") != "--load-format dummy --language-model-only" {
		t.Errorf("%+v, %v", got, err)
	}
	must(os.Stat(filepath.Join(want, "tokenizer.json")))
	if got, err = prepare(pool.Model{ID: "own", Launch: launcher.Model{Path: folder}}); err != nil || got.Path != folder || strings.Join(got.Flags, " ") != "--load-format dummy" {
		t.Errorf("a folder of the user's: %+v, %v", got, err)
	}
	_, err = prepare(pool.Model{ID: "gpt", Launch: launcher.Model{Path: "gpt"}})
	says(t, err, "")
}

func TestDrawnLengthsOfThePublishedProfiles(t *testing.T) {
	cfg := parsed(dummyWorker + "[sampling]\nmax_tokens = 700\n")
	p := profile.Profile{Benchmark: "aime24", Model: "qwen3_5_4b", TestedK: 4, TaskIDs: []string{"a", "b"}, PassCounts: []int{1, 3}}
	d := drawnLengths(cfg)
	lengths := must(d.Lengths(p, seed.Root(1)))
	prompt, tokens := lengths(controller.ID{Task: 1})
	if prompt != 150 || tokens != 700 { // its answers have thousands, and are cut
		t.Errorf("%d tokens of a prompt and %d of an answer", prompt, tokens)
	}
	chat := "<|im_start|>user\n" + d.Prompt("qwen3_5_4b", 1, prompt) + "<|im_end|>\n<|im_start|>assistant\n<think>\n"
	same(t, "tokens of the prompt that is made", len(fleet.Tokenize(chat)), prompt)
	dir := filesIn(t, map[string]string{"mine.csv": "benchmark,model,task_index,task_id,pass_count,tested_k\nmine,qwen3_5_4b,0,a,1,4\nmine,qwen3_5_4b,1,b,3,4\n"})
	_, err := Load(timingFile, []string{"corpus.profiles=" + filepath.Join(dir, "mine.csv")}, Outside{})
	says(t, err, "not mine__model=qwen3_5_4b", `"natural"`)
}
