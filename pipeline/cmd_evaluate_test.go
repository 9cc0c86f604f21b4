package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/pipeline/evaluate"
)

// ownBenchmark is a task file as a user would write it.
const ownBenchmark = `{"id":"one","prompt":"What is 1+1?","answer":"2","scorer":"math"}
{"id":"two","prompt":"What is 12+9?","answer":"21","scorer":"math"}
{"id":"three","prompt":"What is 3*17?","answer":"51","scorer":"math"}
{"id":"red","prompt":"Which is red?","answer":"B","scorer":"choice","options":["sky","rose"]}
{"id":"blue","prompt":"Which is blue?","answer":"A","scorer":"choice","options":["sky","rose"]}
`

// evaluationLab is a folder without an experiment, with a task file and a server, or several.
type evaluationLab struct {
	t       *testing.T
	url     string
	workers []string // flags of all servers
	stderr  string
	asked   func(n int) // is called at the n-th request to any server, from 1; may be nil
	count   int
	mu      sync.Mutex // guards count
}

// Write hears of a request that has ended at a server.
func (l *evaluationLab) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	l.url = l.serve("mine")
	return l
}

// serve starts a server of a model.
func (l *evaluationLab) serve(model string) (url string) { return l.serveAs(model, model) }

// serveAs starts a server that answers as a model does, under another name.
func (l *evaluationLab) serveAs(model, author string) (url string) {
	t := l.t
	t.Helper()
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := benchmark.Reader{Prompts: prompts, Benchmark: "own"}.Read("own.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r := imitation.New(imitation.Settings{Model: model, Log: l, Author: fleet.MustAuthor(fleet.AuthorSettings{Model: author, Tasks: tasks})})
	t.Cleanup(r.Close)
	if err := r.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	l.workers = append(l.workers, "--worker", r.URL())
	return r.URL()
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
	code, stdout, l.stderr = ran(func(s *shell) { s.interrupts = interrupts }, append([]string{"evaluate"}, words...)...)
	return code, stdout
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
	if r.Benchmark != "own" || r.Model != "mine" || r.Policy != "hbn_staged" || r.Tasks != 5 || r.Rollouts != 30 || r.Seed != 42 ||
		r.Provenance != "simulated" || r.Estimate <= 0 || r.Estimate >= 1 || r.StandardError <= 0 || r.Design.Risk == nil {
		t.Errorf("%+v", r)
	}
	if code, _ := l.do(nil, "list"); code != 0 {
		t.Error(l.stderr)
	}
	if _, err := os.Stat("out/evaluate/benchmark=own/model=mine/hbn_staged-b6-seed42/rollouts.parquet"); err != nil {
		t.Error(err)
	}

	again := l.evaluate("--budget", "6")
	if fmt.Sprint(again) == "" || again.Estimate != r.Estimate || again.Seconds != r.Seconds || !strings.Contains(l.stderr, "is complete") {
		t.Errorf("%+v\n%s", again, l.stderr)
	}
	if code, _ := l.do(nil, "--benchmark", "own.jsonl", "--model", "mine", "--budget", "6"); code != exitDone { // without a server
		t.Error(l.stderr)
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
	name := "own/mine/hbn_staged-b6-seed42"
	_, stdout := l.do(nil, "show", name)
	want(t, "show", stdout, fmt.Sprintf("mean         %.4f ± %.4f, 95%% interval", r.Estimate, r.StandardError), "30 of 5 tasks: a pilot of", "Uniform      would have needed")
	if _, whole := l.do(nil, "show", "out/evaluate/benchmark=own/model=mine/hbn_staged-b6-seed42", "--json"); !strings.Contains(whole, `"task_id": "three"`) {
		t.Errorf("show --json: %s", whole)
	}
	_, stdout = l.do(nil, "list")
	want(t, "list", stdout, name, "own/mine/hbn_staged-b6-seed7", "complete")
	_, stdout = l.do(nil, "compare", name, "own/mine/hbn_staged-b6-seed7", "--resolve", "0.1")
	want(t, "compare", stdout, "difference", "95% interval", "to find 0.1", "rollouts per task")
	_, stdout = l.do(nil, "compare", name, "own/mine/hbn_staged-b6-seed7", "--resolve", "0.1", "--json")
	var c show.Comparison
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

func TestEvaluationsAreExportedWithTheirTasks(t *testing.T) {
	l := newEvaluationLab(t)
	l.evaluate("--budget", "6")
	l.write("other.jsonl", strings.Replace(ownBenchmark, "1+1", "2+2", 1))
	export := func(words ...string) (int, string) {
		code, _, stderr := ran(nil, append([]string{"export", "own/mine/hbn_staged-b6-seed42", "--format", "eee"}, words...)...)
		return code, stderr
	}
	text := func(folder string) string {
		paths, _ := filepath.Glob(folder + "/own/unknown/mine/*_samples.jsonl")
		if len(paths) != 1 {
			t.Fatalf("%s has %q", folder, paths)
		}
		text, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if code, stderr := export("--to", "whole", "--tasks", "own.jsonl"); code != 0 || !strings.Contains(text("whole"), "What is 1+1?") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, stderr := export("--to", "bare"); code != 0 || !strings.Contains(stderr, "inputs and targets are empty") || strings.Contains(text("bare"), "What is 1+1?") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, stderr := export("--to", "other", "--tasks", "other.jsonl"); code != exitFailed || !strings.Contains(stderr, "asks other prompts") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	l.write("stale.toml", "[[benchmark]]\nid = \"own\"\ntasks = \"other.jsonl\"\n")
	if code, stderr := export("--to", "stale", "--config", "stale.toml"); code != 0 || !strings.Contains(stderr, "asks other prompts") || strings.Contains(text("stale"), "What is 2+2?") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, _ := export("--tasks", "own.jsonl", "--tasks", "other.jsonl"); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}

// TestAnExportIsNoOtherEvaluation compares an evaluation with its exports, and takes them as donors
// of itself.
func TestAnExportIsNoOtherEvaluation(t *testing.T) {
	l := newEvaluationLab(t)
	name := "own/mine/uniform-b6-seed42"
	l.evaluate("--budget", "6", "--policy", "uniform")
	for format, file := range map[string]string{"json": "e.json", "inspect": "e.eval"} {
		if code, _, stderr := ran(nil, "export", name, "--format", format, "--to", file); code != exitDone {
			t.Fatal(stderr)
		}
		if code, _ := l.do(nil, "compare", name, file); code != exitUsage || !strings.Contains(l.stderr, "both share rollouts of mine, by the counts of every task") {
			t.Errorf("%s: exit code %d\n%s", file, code, l.stderr)
		}
		same := []string{"--benchmark", "own.jsonl", "--model", "mine", "--worker", l.url, "--budget", "4", "--prior", file}
		if code, _ := l.do(nil, same...); code != exitUsage || !strings.Contains(l.stderr, "it has rollouts of this evaluation, mine under seed 42: they would count twice") {
			t.Errorf("%s: exit code %d\n%s", file, code, l.stderr)
		}
		if code, _ := l.do(nil, append(same, "--seed", "7", "--out", format)...); code != exitDone {
			t.Errorf("%s under another seed: exit code %d\n%s", file, code, l.stderr)
		}
	}
}

// TestExportsOfAnAllocationAreCompared wants of exports what the evaluation itself gives.
func TestExportsOfAnAllocationAreCompared(t *testing.T) {
	l := newEvaluationLab(t)
	l.evaluate("--budget", "6")
	l.evaluate("--budget", "6", "--seed", "7")
	compared := func(other string) (difference string) {
		code, out := l.do(nil, "compare", "own/mine/hbn_staged-b6-seed42", other)
		if code != exitDone {
			t.Errorf("%s: exit code %d\n%s", other, code, l.stderr)
		}
		_, difference, _ = strings.Cut(out, "difference")
		return difference
	}
	want := compared("own/mine/hbn_staged-b6-seed7")
	for format, file := range map[string]string{"json": "e.json", "inspect": "e.eval"} {
		if code, _, stderr := ran(nil, "export", "own/mine/hbn_staged-b6-seed7", "--format", format, "--to", file); code != exitDone {
			t.Fatal(stderr)
		}
		if got := compared(file); got != want || want == "" {
			t.Errorf("%s: %s\nwant %s", file, got, want)
		}
		if code, _ := l.do(nil, "compare", "own/mine/hbn_staged-b6-seed7", file); code != exitUsage || !strings.Contains(l.stderr, "share rollouts") {
			t.Errorf("%s and itself: exit code %d\n%s", file, code, l.stderr)
		}
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
	half := "own/mine/hbn_staged-b6-seed42"
	if code, _ := l.do(nil, "plan", "--benchmark", "own.jsonl", "--resolve", "0.1", "--prior", half); code != 2 || !strings.Contains(l.stderr, "is not complete: the command that began it goes on with it") {
		t.Errorf("exit code %d\n%s", code, l.stderr)
	}
	if code, _ := l.do(nil, "show", half); code != 1 || !regexp.MustCompile(`is not complete: .*; ([5-9]|1[0-9]) rollouts are scored so far, and by complete stages the mean is 0\.\d+ ± 0\.\d+ \(provisional\)`).MatchString(l.stderr) {
		t.Errorf("exit code %d\n%s", code, l.stderr)
	}
	l.asked = nil
	left := filepath.Join("out", "evaluate", "benchmark=own", "model=mine", "hbn_staged-b6-seed42", "result.json.0.partial")
	l.write(left, "half")
	whole, r := l.evaluate("--budget", "6", "--stages", "5", "--out", "undisturbed"), l.evaluate("--budget", "6")
	if _, err := os.Stat(left); err == nil {
		t.Error("a half-written file of the session before is still there")
	}
	if fmt.Sprint(r.Rows) != fmt.Sprint(whole.Rows) || r.Estimate != whole.Estimate || r.Sessions != 2 {
		t.Errorf("%+v\nundisturbed %+v", r, whole)
	}
}

func TestBudgetsArePlanned(t *testing.T) {
	l := newEvaluationLab(t)
	code, stdout := l.do(nil, "plan", "--benchmark", "own.jsonl", "--target-se", "0.05", "--json")
	var p evaluate.Plan
	if err := json.Unmarshal([]byte(stdout), &p); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, l.stderr)
	}
	if !regexp.MustCompile(`^speceval evaluate( --(config|out|benchmark|set)=\S+)+ --model MODEL --budget \d+$`).MatchString(p.Command) {
		t.Errorf("the command is %q", p.Command)
	}
	if p.StandardError > 0.05 || *p.Target != 0.05 || p.Rollouts != 5*p.Budget {
		t.Errorf("%+v", p)
	}
	if r := l.evaluate("--target-se", "0.05", "--seed", "9"); r.Budget != p.Budget {
		t.Errorf("budget %d, planned %d", r.Budget, p.Budget)
	}
	_, priced := l.do(nil, "plan", "--benchmark", "own.jsonl", "--budget", "3", "--model", "mine", "--worker", l.url, "--price", "2/4", "--prior", "own/mine/hbn_staged-se0.05-seed9")
	want(t, "plan", priced, "of answers, by ", "; $")
	line := priced[strings.LastIndex(strings.TrimSpace(priced), "\n")+1:]
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "speceval evaluate "))
	if code, out := l.do(nil, append(words, "--seed", "11")...); code != 0 {
		t.Errorf("%s: exit code %d\n%s\n%s", line, code, out, l.stderr)
	} else {
		want(t, "result", out, "cost         $")
	}
	_, text := l.do(nil, "plan", "--benchmark", "own.jsonl", "--resolve", "0.2", "--prior", "own/mine/hbn_staged-se0.05-seed9")
	want(t, "plan", text, "by what is known from out/evaluate/benchmark=own", "expected; a difference of 0.", "Uniform         needs")
}

func TestEvaluationsThatCannotBe(t *testing.T) {
	l := newEvaluationLab(t)
	l.write("one.jsonl", ownBenchmark[:strings.Index(ownBenchmark, "\n")+1])
	l.write("keyless.jsonl", strings.Replace(ownBenchmark, `"answer":"21",`, "", 1))
	l.write("other.jsonl", strings.ReplaceAll(ownBenchmark, "rose", "tulip"))
	l.evaluate("--budget", "3", "--seed", "1")
	l.evaluate("--budget", "2", "--policy", "uniform", "--seed", "1")
	stored := "own/mine/hbn_staged-b3-seed1"
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
		"with --benchmark, such as judged.jsonl, ":           {with("--benchmark", "own.json", "--model", "mine", "--budget", "4"), 2},
		"built in: smallbench, primer":                       {with("--benchmark", "aime24", "--model", "mine", "--budget", "4"), 2},
		`serves "mine"`:                                      {with("--benchmark", "own.jsonl", "--model", "theirs", "--budget", "4"), 1},
		"name some with --worker URL":                        {[]string{"--benchmark", "own.jsonl", "--model", "mine", "--budget", "4"}, 2},
		"connection refused":                                 {[]string{"--benchmark", "own.jsonl", "--model", "mine", "--budget", "4", "--worker", "http://127.0.0.1:9"}, 1},
		`no policy "best": want one of hbn_staged`:           {own("--budget", "4", "--policy", "best"), 2},
		"--max-tokens 0: want a positive number":             {own("--target-se", "0.1", "--max-tokens", "0"), 2},
		"--max-usd 0: want a positive number":                {own("--max-usd", "0", "--price", "1/1"), 2},
		"--max-usd NaN: want positive":                       {own("--max-usd", "NaN", "--price", "1/1"), 2},
		"name a benchmark with --benchmark":                  {[]string{"--model", "mine", "--budget", "4"}, 2},
		"name a model with --model":                          {[]string{"--benchmark", "own.jsonl", "--budget", "4"}, 2},
		"say what to spend, in one way":                      {own("--budget", "4", "--resolve", "0.1"), 2},
		"--target-se -1: want a number between 0 and 0.5":    {own("--target-se", "-1"), 2},
		"more rollouts per task than can be planned":         {own("--target-se", "0.00001"), 1},
		"x is no evaluation: want its folder":                {[]string{"show", "x"}, 2},
		`unknown command "bogus"`:                            {[]string{"bogus"}, 2},
		"both are of mine under seed 1 and share rollouts":   {[]string{"compare", stored, "own/mine/uniform-b2-seed1"}, 2},
		"other prompts":                                      {with("--benchmark", "own/own.jsonl", "--model", "mine", "--budget", "3", "--seed", "1"), 2},
		"answers on judged cannot be scored: no judge: name": {with("--benchmark", "judged.jsonl", "--model", "mine", "--budget", "4"), 1},
	} {
		l.write("judged.jsonl", strings.ReplaceAll(ownBenchmark, `"scorer":"math"`, `"scorer":"judge"`))
		if err := os.MkdirAll("own", 0o777); err != nil {
			t.Fatal(err)
		}
		l.write(filepath.Join("own", "own.jsonl"), strings.ReplaceAll(ownBenchmark, "rose", "tulip"))
		code, stdout := l.do(nil, tt.words...)
		if code != tt.code || !strings.Contains(l.stderr, want) || stdout != "" {
			t.Errorf("%q: exit code %d, want %d\n%s%s\nwant %s", tt.words, code, tt.code, stdout, l.stderr, want)
		}
	}
}

// A gain is claimed where the interval of what Uniform would have needed is above what
// was spent, and nowhere else.
func TestGainsThatCanBeClaimed(t *testing.T) {
	risk := 0.9
	for text, u := range map[string]evaluation.Equivalent{
		"needed 9.0 rollouts per task for this error (7.5 to 11.0)\n":                                                 {Budget: 9, Interval: [2]float64{7.5, 11}},
		"needed 7.0 rollouts per task for this error (5.5 to 8.0): no gain over the 6 that were spent can be claimed": {Budget: 7, Interval: [2]float64{5.5, 8}},
		"needed 5.0 rollouts per task for this error (4.0 to 5.9)\n":                                                  {Budget: 5, Interval: [2]float64{4, 5.9}},
	} {
		var b bytes.Buffer
		r := &evaluation.Result{Tasks: 5, Rollouts: 30, Uniform: u, Design: evaluation.Design{Risk: &risk}, Rows: []evaluation.Task{{ID: "one", Pilots: 2}}}
		if err := show.Text(&b, r, "folder", false); err != nil {
			t.Fatal(err)
		}
		want(t, "result", b.String(), "Uniform      would have "+text)
		if worse := "WARNING      this run did worse than Uniform, which needs 5.0 rollouts per task for this error, and 6.0 were spent"; strings.Contains(b.String(), worse) != (u.Budget == 5) {
			t.Errorf("Uniform needs %v: the result is\n%s", u.Budget, b.String())
		}
	}
}

func TestResultsOfServersThatTellNoTokens(t *testing.T) {
	var b bytes.Buffer
	r := &evaluation.Result{Tasks: 5, Rollouts: 30, Tokens: evaluation.Tokens{Untold: 30}, Notes: []string{"a note"}, Rows: []evaluation.Task{{ID: "one", Pilots: 2}}}
	if err := show.Text(&b, r, "folder", false); err != nil {
		t.Fatal(err)
	}
	want(t, "result", b.String(), "rollouts     30 of 5 tasks\n", "tokens       not told of 30 rollouts", "note         a note")
}

// TestATargetThatIsMissedIsTold has results above the error that was asked for, by one in a hundred
// and by more.
func TestATargetThatIsMissedIsTold(t *testing.T) {
	for se, told := range map[float64]bool{0.0199: false, 0.0202: false, 0.021: true} {
		var b bytes.Buffer
		r := &evaluation.Result{Tasks: 5, Rollouts: 30, StandardError: se, Head: evaluation.Head{Stop: &evaluation.Stop{StandardError: 0.02}}, Rows: []evaluation.Task{{ID: "one", Pilots: 2}}}
		if err := show.Text(&b, r, "folder", false); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "± 0.02 was asked for and not reached") != told {
			t.Errorf("± %v: the result is\n%s", se, b.String())
		}
	}
}

// TestACostBeyondTheLimitIsTold has costs that servers report, beside a limit that --price counted.
func TestACostBeyondTheLimitIsTold(t *testing.T) {
	for dollars, told := range map[float64]bool{0.02: false, 0.03: true} {
		var b bytes.Buffer
		r := &evaluation.Result{Tasks: 5, Rollouts: 30, Cost: &evaluation.Cost{Dollars: dollars, Reported: true}, Head: evaluation.Head{Stop: &evaluation.Stop{Dollars: 0.02}}, Rows: []evaluation.Task{{ID: "one", Pilots: 2}}}
		if err := show.Text(&b, r, "folder", false); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "WARNING      the servers report a cost of $0.03") != told {
			t.Errorf("$%v: the result is\n%s", dollars, b.String())
		}
	}
}

// TestSuitesByFlags has weights and floors of a suite by their flags.
func TestSuitesByFlags(t *testing.T) {
	l := newEvaluationLab(t)
	if err := os.WriteFile("sums.jsonl", []byte(`{"id":"four","prompt":"What is 1+3?","answer":"4","scorer":"math"}`+"\n"+`{"id":"nine","prompt":"What is 4+5?","answer":"9","scorer":"math"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	suite := []string{"--benchmark", "sums.jsonl", "--budget", "6"}
	if r := l.evaluate(append(suite, "--weight", "1,3", "--floor", "2")...); len(r.Suite) != 2 || r.Suite[1].Weight != 0.75 || len(r.Design.Cells) != 2 || r.Design.Cells[1].Least != 4 {
		t.Errorf("%+v", r)
	}
	if r := l.evaluate(append(suite, "--weight", "micro", "--seed", "2")...); math.Abs(r.Suite[1].Weight-2.0/float64(r.Tasks)) > 1e-12 || r.Design.Cells[1].Least != 8 {
		t.Errorf("all tasks alike: %+v", r)
	}
	for want, words := range map[string][]string{
		"want a number, macro or micro": {"--weight", "much"}, "want a positive number": {"--weight", "0,0"},
		"want 0 to the budget": {"--floor", "7"}, "invalid syntax": {"--floor", "x"},
	} {
		if code, _ := l.do(nil, slices.Concat([]string{"--benchmark", "own.jsonl", "--model", "mine", "--worker", l.url}, suite, words)...); code != exitUsage || !strings.Contains(l.stderr, want) {
			t.Errorf("%q: exit code %d, %s", words, code, l.stderr)
		}
	}
}
