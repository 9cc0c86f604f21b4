package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/evaluation"
	"speceval/internal/fleet"
	"speceval/internal/fleet/fleettest"
	"speceval/internal/fleet/imitation"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
)

// ownBenchmark is a task file as a user would write it.
const ownBenchmark = `{"id":"one","prompt":"What is 1+1?","answer":"2","scorer":"math"}
{"id":"two","prompt":"What is 12+9?","answer":"21","scorer":"math"}
{"id":"three","prompt":"What is 3*17?","answer":"51","scorer":"math"}
{"id":"red","prompt":"Which is red?","answer":"B","scorer":"choice","options":["sky","rose"]}
{"id":"blue","prompt":"Which is blue?","answer":"A","scorer":"choice","options":["sky","rose"]}
`

// evaluationLab is a folder without an experiment, with a task file and a server.
type evaluationLab struct {
	t      *testing.T
	url    string
	stderr string
	asked  func(n int) // hears of the server's n-th request, from 1; nil: nobody does
	count  int
}

// Write hears of a request that has ended at the server.
func (l *evaluationLab) Write(line []byte) (int, error) {
	if l.count++; l.asked != nil {
		l.asked(l.count)
	}
	return len(line), nil
}

func newEvaluationLab(t *testing.T) *evaluationLab {
	t.Helper()
	t.Chdir(t.TempDir())
	l := &evaluationLab{t: t}
	l.write("own.jsonl", ownBenchmark)
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := benchmark.Reader{Prompts: prompts, Benchmark: "own"}.Read("own.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r := imitation.New(imitation.Settings{Model: "mine", Log: l, Author: fleettest.Author(fleet.AuthorSettings{Model: "mine", Tasks: tasks})})
	t.Cleanup(r.Close)
	if err := r.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	l.url = r.URL()
	return l
}

func (l *evaluationLab) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		l.t.Fatal(err)
	}
}

// do runs evaluate with some words.
func (l *evaluationLab) do(interrupts chan os.Signal, words ...string) (code int, stdout string) {
	l.t.Helper()
	var o, e bytes.Buffer
	s := &shell{stdout: &o, stderr: &e, now: time.Now, pid: os.Getpid(), interrupts: interrupts, release: func() {}}
	code = run(append([]string{"evaluate"}, words...), s, shipped)
	l.stderr = e.String()
	return code, o.String()
}

// evaluate runs an evaluation on the server that must succeed.
func (l *evaluationLab) evaluate(words ...string) evaluation.Result {
	l.t.Helper()
	code, stdout := l.do(nil, append([]string{"--benchmark", "own.jsonl", "--model", "mine", "--worker", l.url, "--json"}, words...)...)
	var r evaluation.Result
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		l.t.Fatalf("%q: exit code %d, %v\n%s", words, code, err, l.stderr)
	}
	return r
}

func TestATaskFileAndAServerAreEnough(t *testing.T) {
	l := newEvaluationLab(t)
	r := l.evaluate("--budget", "6")
	if r.Benchmark != "own" || r.Model != "mine" || r.Policy != "hbn-async" || r.Tasks != 5 || r.Rollouts != 30 || r.Seed != 42 ||
		r.Provenance != "simulated" || r.Estimate <= 0 || r.Estimate >= 1 || r.StandardError <= 0 || r.Design.Risk == nil {
		t.Errorf("%+v", r)
	}
	if code, _ := l.do(nil, "list"); code != 0 {
		t.Error(l.stderr)
	}
	if _, err := os.Stat("out/evaluate/benchmark=own/model=mine/hbn-async-b6-seed42/rollouts.parquet"); err != nil {
		t.Error(err)
	}

	again := l.evaluate("--budget", "6")
	if fmt.Sprint(again) == "" || again.Estimate != r.Estimate || again.Seconds != r.Seconds || !strings.Contains(l.stderr, "is complete") {
		t.Errorf("%+v\n%s", again, l.stderr)
	}
	if other := l.evaluate("--budget", "6", "--seed", "7"); other.Seed != 7 {
		t.Errorf("%+v", other)
	}
	if uniform := l.evaluate("--budget", "6", "--policy", "uniform"); math.Abs(uniform.Uniform.Budget-6) > 1e-9 || uniform.Uniform.Rollouts != 30 {
		t.Errorf("%+v", uniform)
	}
}

func TestStoredEvaluationsAreShown(t *testing.T) {
	l := newEvaluationLab(t)
	r := l.evaluate("--budget", "6")
	l.evaluate("--budget", "6", "--seed", "7")
	name := "own/mine/hbn-async-b6-seed42"
	_, stdout := l.do(nil, "show", name)
	want(t, "show", stdout, fmt.Sprintf("mean         %.4f ± %.4f, 95%% interval", r.Estimate, r.StandardError), "30 of 5 tasks: a pilot of", "Uniform      would have needed")
	if _, whole := l.do(nil, "show", "out/evaluate/benchmark=own/model=mine/hbn-async-b6-seed42", "--json"); !strings.Contains(whole, `"task_id": "three"`) {
		t.Errorf("show --json: %s", whole)
	}
	_, stdout = l.do(nil, "list")
	want(t, "list", stdout, name, "own/mine/hbn-async-b6-seed7", "complete")
	_, stdout = l.do(nil, "compare", name, "own/mine/hbn-async-b6-seed7", "--resolve", "0.1")
	want(t, "compare", stdout, "difference", "95% interval", "to find 0.1", "rollouts per task")
	_, stdout = l.do(nil, "compare", name, "own/mine/hbn-async-b6-seed7", "--resolve", "0.1", "--json")
	var c comparedEvaluations
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || c.Resolve == nil {
		t.Fatalf("compare --json: %v\n%s", err, stdout)
	}
	if more := int(math.Ceil(6 * math.Pow(c.StandardError*(1.959964+0.841621)/0.1, 2))); c.Resolve.Budgets != [2]int{more, more} || c.Resolve.Rollouts != 10*more {
		t.Errorf("a standard error of %v takes %+v to find 0.1, want %d rollouts per task", c.StandardError, c.Resolve, more)
	}
	code, stdout := l.do(nil, "rescore", name, "--benchmark", "own.jsonl", "--json")
	var again evaluation.Result
	if err := json.Unmarshal([]byte(stdout), &again); code != 0 || err != nil || fmt.Sprint(again.Rows) != fmt.Sprint(r.Rows) || again.Estimate != r.Estimate {
		t.Errorf("rescored by the same scorers: exit code %d, %v, %+v, was %+v\n%s", code, err, again, r, l.stderr)
	}
}

func TestOtherAnswersAreRescored(t *testing.T) {
	l := newEvaluationLab(t)
	r := l.evaluate("--budget", "6")
	l.write("own.jsonl", strings.Replace(ownBenchmark, `"answer":"51"`, `"answer":"7777"`, 1))
	l.evaluate("--budget", "6")
	want(t, "note", l.stderr, "speceval evaluate rescore out/evaluate/benchmark=own")
	code, stdout := l.do(nil, "rescore", "own/mine/hbn-async-b6-seed42", "--benchmark", "own.jsonl", "--json")
	var again evaluation.Result
	if err := json.Unmarshal([]byte(stdout), &again); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, l.stderr)
	}
	if n := again.Rows[2].PilotPasses + again.Rows[2].ContinuationPasses; n != 0 || again.Rules == r.Rules {
		t.Errorf("%d rollouts of a task with another answer pass", n)
	}
}

// An interrupt lets what is in flight finish; the same command goes on.
func TestAnInterruptedEvaluationGoesOn(t *testing.T) {
	l := newEvaluationLab(t)
	interrupts := make(chan os.Signal, 1)
	l.asked = func(n int) {
		if n == 10 {
			interrupts <- os.Interrupt
		}
	}
	code, _ := l.do(interrupts, "--benchmark", "own.jsonl", "--model", "mine", "--worker", l.url, "--budget", "6", "--set", "systems.window=2")
	if code != 130 {
		t.Fatalf("exit code %d\n%s", code, l.stderr)
	}
	want(t, "pause", l.stderr, "stopping when the requests in flight are done", "the evaluation is paused: stopped", "rollouts of 30 are kept in out/evaluate")
	_, list := l.do(nil, "list")
	want(t, "list", list, "not complete")
	half := "own/mine/hbn-async-b6-seed42"
	if code, _ := l.do(nil, "plan", "--benchmark", "own.jsonl", "--resolve", "0.1", "--from", half); code != 2 || !strings.Contains(l.stderr, "is not complete: the command that began it goes on with it") {
		t.Errorf("exit code %d\n%s", code, l.stderr)
	}
	if code, _ := l.do(nil, "show", half); code != 1 || !strings.Contains(l.stderr, "is not complete") {
		t.Errorf("exit code %d\n%s", code, l.stderr)
	}
	l.asked = nil
	whole, r := l.evaluate("--budget", "6", "--out", "undisturbed"), l.evaluate("--budget", "6")
	if fmt.Sprint(r.Rows) != fmt.Sprint(whole.Rows) || r.Estimate != whole.Estimate || r.Sessions != 2 {
		t.Errorf("%+v\nundisturbed %+v", r, whole)
	}
}

func TestBudgetsArePlanned(t *testing.T) {
	l := newEvaluationLab(t)
	code, stdout := l.do(nil, "plan", "--benchmark", "own.jsonl", "--target-se", "0.05", "--json")
	var p budgetPlan
	if err := json.Unmarshal([]byte(stdout), &p); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, l.stderr)
	}
	if p.StandardError > 0.05 || p.StandardError < 0.04 || float64(p.UniformBudget) != math.Ceil(1/(60*p.StandardError*p.StandardError)) || p.Rollouts != 5*p.Budget || p.Budget < 3 || p.Budget > 7 {
		t.Errorf("%+v", p)
	}
	l.write("plan.json", stdout)
	if r := l.evaluate("--plan", "plan.json"); r.Budget != p.Budget {
		t.Errorf("budget %d, planned %d", r.Budget, p.Budget)
	}
	if r := l.evaluate("--target-se", "0.05", "--seed", "9"); r.Budget != p.Budget {
		t.Errorf("budget %d, planned %d", r.Budget, p.Budget)
	}
	_, text := l.do(nil, "plan", "--benchmark", "own.jsonl", "--resolve", "0.2", "--from", fmt.Sprintf("own/mine/hbn-async-b%d-seed9", p.Budget))
	want(t, "plan", text, "by out/evaluate/benchmark=own", "expected; a difference of 0.", "Uniform         needs")

	_, stdout = l.do(nil, "plan", "--benchmark", "own.jsonl", "--resolve", "0.2", "--json")
	var resolving budgetPlan
	if err := json.Unmarshal([]byte(stdout), &resolving); err != nil || resolving.Resolves > 0.2 || resolving.Resolves < 0.18 {
		t.Errorf("%+v, %v, want a plan that resolves 0.2", resolving, err)
	}

	for want, change := range map[string]func(p *budgetPlan){
		"is of other with 5 tasks, not of own":  func(p *budgetPlan) { p.Benchmark = "other" },
		"is of own with 9 tasks, not of own":    func(p *budgetPlan) { p.Tasks = 9 },
		"was made for other prompts of own":     func(p *budgetPlan) { p.Prompts = "0" },
		"--budget 1: want 2 to 4096 rollouts p": func(p *budgetPlan) { p.Budget = 1 },
	} {
		spoilt := p
		change(&spoilt)
		var b bytes.Buffer
		if err := writeJSON(&b, spoilt); err != nil {
			t.Fatal(err)
		}
		l.write("spoilt.json", b.String())
		code, _ := l.do(nil, "--benchmark", "own.jsonl", "--model", "mine", "--worker", l.url, "--plan", "spoilt.json")
		if code != 2 || !strings.Contains(l.stderr, want) {
			t.Errorf("exit code %d, %s\nwant %s", code, l.stderr, want)
		}
	}
}

func TestEvaluationsThatCannotBe(t *testing.T) {
	l := newEvaluationLab(t)
	l.write("one.jsonl", ownBenchmark[:strings.Index(ownBenchmark, "\n")+1])
	l.write("keyless.jsonl", strings.Replace(ownBenchmark, `"answer":"21",`, "", 1))
	l.write("other.jsonl", strings.ReplaceAll(ownBenchmark, "rose", "tulip"))
	l.write("plan.json", "{")
	l.evaluate("--budget", "3", "--seed", "1")
	l.evaluate("--budget", "2", "--policy", "uniform", "--seed", "1")
	stored := "own/mine/hbn-async-b3-seed1"
	server := []string{"--worker", l.url}
	mine := append([]string{"--benchmark", "own.jsonl", "--model", "mine"}, server...)
	with := func(words ...string) []string { return append(words, server...) }
	own := func(words ...string) []string { return append(words, mine...) }
	for want, tt := range map[string]struct {
		words []string
		code  int
	}{
		"--budget 1: want 2 to 4096":                         {own("--budget", "1"), 2},
		"one.jsonl has 1 task, allocation needs at least 2":  {with("--benchmark", "one.jsonl", "--model", "mine", "--budget", "4"), 2},
		"keyless.jsonl: line 2: answer: is missing":          {with("--benchmark", "keyless.jsonl", "--model", "mine", "--budget", "4"), 2},
		"open nope.jsonl: no such file":                      {with("--benchmark", "nope.jsonl", "--model", "mine", "--budget", "4"), 2},
		"built in: smallbench, primer":                       {with("--benchmark", "aime24", "--model", "mine", "--budget", "4"), 2},
		`serves "mine"`:                                      {with("--benchmark", "own.jsonl", "--model", "theirs", "--budget", "4"), 1},
		"name some with --worker URL":                        {[]string{"--benchmark", "own.jsonl", "--model", "mine", "--budget", "4"}, 2},
		"connection refused":                                 {[]string{"--benchmark", "own.jsonl", "--model", "mine", "--budget", "4", "--worker", "http://127.0.0.1:9"}, 1},
		`no policy "best": want one of hbn-async`:            {own("--budget", "4", "--policy", "best"), 2},
		"name a benchmark with --benchmark":                  {[]string{"--model", "mine", "--budget", "4"}, 2},
		"name a model with --model":                          {[]string{"--benchmark", "own.jsonl", "--budget", "4"}, 2},
		"say what to spend, in one way":                      {own("--budget", "4", "--resolve", "0.1"), 2},
		"--target-se -1: want a number between 0 and 0.5":    {own("--target-se", "-1"), 2},
		"more rollouts per task than can be planned":         {own("--target-se", "0.00001"), 1},
		"--plan plan.json: ":                                 {own("--plan", "plan.json"), 2},
		"x is no evaluation: want its folder":                {[]string{"show", "x"}, 2},
		`evaluate does not know "bogus"`:                     {[]string{"bogus"}, 2},
		"both are of mine under seed 1 and share rollouts":   {[]string{"compare", stored, "own/mine/uniform-b2-seed1"}, 2},
		"its task 3 is":                                      {[]string{"plan", "--benchmark", "renamed.jsonl", "--resolve", "0.1", "--from", stored}, 2},
		"it is of own with 5 tasks, not of one":              {[]string{"plan", "--benchmark", "two.jsonl", "--resolve", "0.1", "--from", stored}, 2},
		"other prompts":                                      {with("--benchmark", "own/own.jsonl", "--model", "mine", "--budget", "3", "--seed", "1"), 2},
		"answers on judged cannot be scored: no judge: name": {with("--benchmark", "judged.jsonl", "--model", "mine", "--budget", "4"), 1},
	} {
		l.write("judged.jsonl", strings.ReplaceAll(ownBenchmark, `"scorer":"math"`, `"scorer":"judge"`))
		l.write("renamed.jsonl", strings.Replace(ownBenchmark, `"red"`, `"violet"`, 1))
		l.write("two.jsonl", ownBenchmark[:strings.Index(ownBenchmark, `{"id":"three"`)])
		if err := os.MkdirAll("own", 0o777); err != nil {
			t.Fatal(err)
		}
		l.write(filepath.Join("own", "own.jsonl"), strings.ReplaceAll(ownBenchmark, "rose", "tulip"))
		want = strings.Replace(want, "not of one", "not of two", 1)
		code, stdout := l.do(nil, tt.words...)
		if code != tt.code || !strings.Contains(l.stderr, want) || stdout != "" {
			t.Errorf("%q: exit code %d, want %d\n%s%s\nwant %s", tt.words, code, tt.code, stdout, l.stderr, want)
		}
	}
}

// A folder that another process works in is left alone.
func TestAnEvaluationIsMadeByOneProcess(t *testing.T) {
	l := newEvaluationLab(t)
	setup := evaluation.Setup{Benchmark: "own", Model: "mine", Policy: "hbn-async", Budget: 3, Seed: 42}
	release := locked(t, setup.Path("out"))
	code, _ := l.do(nil, "--benchmark", "own.jsonl", "--model", "mine", "--worker", l.url, "--budget", "3")
	if code != 1 || !strings.Contains(l.stderr, "pid 1 on alpha") {
		t.Errorf("exit code %d\n%s", code, l.stderr)
	}
	release()
	l.evaluate("--budget", "3")
}

// A design that is stored is used, and one that is damaged refused.
func TestDesignsAreKept(t *testing.T) {
	l := newEvaluationLab(t)
	first := l.evaluate("--budget", "3")
	want(t, "first", l.stderr, "computing the design for 5 tasks and 3 rollouts")
	second := l.evaluate("--budget", "3", "--seed", "2")
	if strings.Contains(l.stderr, "computing") || *second.Design.Risk != *first.Design.Risk || second.Design.Source != "evaluate/designs/tasks=5,budget=3.json" {
		t.Errorf("%+v\n%s", second.Design, l.stderr)
	}
	l.write("out/evaluate/designs/tasks=5,budget=3.json", "{}")
	code, _ := l.do(nil, "--benchmark", "own.jsonl", "--model", "mine", "--worker", l.url, "--budget", "3", "--seed", "3")
	if code != 1 || !strings.Contains(l.stderr, "tasks=5,budget=3.json: it is no design for 5 tasks") {
		t.Errorf("exit code %d\n%s", code, l.stderr)
	}
}

// locked holds the lock of a folder, as another process would.
func locked(t *testing.T, dir string) (release func()) {
	t.Helper()
	lock, err := dag.Acquire(dir, "pid 1 on alpha")
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// What the replay has selected comes before anything that is computed.
func TestTheReplaysDesignIsTaken(t *testing.T) {
	l := newEvaluationLab(t)
	store(t, "out", []variance.Design{
		{Policy: variance.HBN, NTasks: 5, Budget: 4, M: 1, W: 0.1, Risk: 2},
		{Policy: variance.TunedEN, NTasks: 5, Budget: 4, M: 3, W: 0.6, Risk: 0.5, Selected: true},
		{Policy: variance.HBN, NTasks: 5, Budget: 4, M: 2, W: 0.45, Risk: 0.9, Selected: true},
	})
	if d := l.evaluate("--budget", "4").Design; d.Pilots != 2 || d.Weight != 0.45 || *d.Risk != 0.9 || d.Source != variance.DesignsFile {
		t.Errorf("%+v", d)
	}
}

// plainServer speaks OpenAI's protocol and nothing of vLLM's. It is right about what
// it is asked under an even seed.
func plainServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			fmt.Fprint(w, `{"object":"list","data":[{"id":"plain","object":"model","owned_by":"somebody"}]}`)
		case "/v1/chat/completions":
			var asked struct {
				Seed   int64 `json:"seed"`
				Stream bool  `json:"stream"`
				TopK   *int  `json:"top_k"`
			}
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.TopK != nil || !asked.Stream {
				http.Error(w, `{"error":{"message":"unknown field"}}`, http.StatusBadRequest)
				return
			}
			text := map[bool]string{true: "\\boxed{2}", false: "\\boxed{21}"}[asked.Seed%2 == 0]
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"model\":\"plain\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAnyServerOfOpenAIsProtocolWillDo(t *testing.T) {
	l := newEvaluationLab(t)
	l.url = plainServer(t)
	r := l.evaluate("--budget", "6", "--model", "plain")
	if r.Provenance != "measured" || r.Rollouts != 30 || r.Tokens.Untold != 30 || r.Tokens.Completion != 0 {
		t.Errorf("%+v", r)
	}
	if n := r.Rows[0].PilotPasses + r.Rows[0].ContinuationPasses + r.Rows[1].PilotPasses + r.Rows[1].ContinuationPasses; n == 0 {
		t.Errorf("nothing is right: %+v", r.Rows)
	}
	want(t, "warnings", l.stderr, "is not vLLM", "does not tell tokens")
	_, stdout := l.do(nil, "show", "own/plain/hbn-async-b6-seed42")
	want(t, "show", stdout, "tokens       not told of 30 rollouts", "note         "+l.url)
	code, _ := l.do(nil, "--benchmark", "own.jsonl", "--model", "plain", "--worker", l.url, "--budget", "6", "--seed", "2", "--set", "sampling.top_k=5")
	if code != 1 || !strings.Contains(l.stderr, "top_k") {
		t.Errorf("exit code %d\n%s", code, l.stderr)
	}
}
