package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

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
	write("own.jsonl", ownBenchmark)
	l.url = l.serve("mine")
	return l
}

// serve starts a server of a model.
func (l *evaluationLab) serve(model string) (url string) { return l.serveAs(model, model) }

// serveAs starts a server that answers as a model does, under another name.
func (l *evaluationLab) serveAs(model, author string) (url string) {
	url = serves(l.t, imitation.Settings{Model: model, Log: l}, fleet.AuthorSettings{Model: author, Tasks: tasksIn("own.jsonl")})
	l.workers = append(l.workers, "--worker", url)
	return url
}

// do runs evaluate with some words.
func (l *evaluationLab) do(interrupts chan os.Signal, words ...string) (code int, stdout string) {
	l.t.Helper()
	code, stdout, l.stderr = ran(func(s *shell) { s.interrupts = interrupts }, append([]string{"evaluate"}, words...)...)
	return code, stdout
}

// says runs evaluate, which has to end with a code and print every part, and returns its stdout.
func (l *evaluationLab) says(code int, words []string, parts ...string) string {
	l.t.Helper()
	ended, stdout := l.do(nil, words...)
	if ended != code || code == exitUsage && stdout != "" {
		l.t.Errorf("evaluate %q: exit code %d, want %d\n%s%s", words, ended, code, stdout, l.stderr)
	}
	want(l.t, strings.Join(words, " "), stdout+l.stderr, parts...)
	return stdout
}

// document runs evaluate with --json, and reads its output.
func document[T any](l *evaluationLab, words ...string) (r T) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.says(exitDone, append(words, "--json"))), &r); err != nil {
		l.t.Fatalf("%q: %v\n%s", words, err, l.stderr)
	}
	return r
}

// mine are the words of an evaluation of the model mine on its server, and more.
func (l *evaluationLab) mine(more string) []string {
	return words("--benchmark own.jsonl --model mine --worker " + l.url + " " + more)
}

// evaluate runs an evaluation on the server that must succeed.
func (l *evaluationLab) evaluate(words ...string) evaluation.Result {
	l.t.Helper()
	return document[evaluation.Result](l, append(l.mine(""), words...)...)
}

func TestStoredEvaluationsAreShown(t *testing.T) {
	l := newEvaluationLab(t)
	r := l.evaluate("--budget", "6")
	again := l.evaluate("--budget", "6")
	if again.Estimate != r.Estimate || again.Seconds != r.Seconds || !strings.Contains(l.stderr, "is complete") {
		t.Errorf("%+v\n%s", again, l.stderr)
	}
	l.says(exitDone, words("--benchmark own.jsonl --model mine --budget 6")) // without a server
	l.evaluate("--budget", "6", "--seed", "7")
	const name, other = "own/mine/hbn_staged-b6-seed42", "own/mine/hbn_staged-b6-seed7"
	l.says(exitDone, words("show "+name), fmt.Sprintf("mean         %.4f ± %.4f, 95%% interval", r.Estimate, r.StandardError), "30 of 5 tasks: a pilot of", "Uniform      would have needed")
	l.says(exitDone, words("show out/evaluate/benchmark=own/model=mine/hbn_staged-b6-seed42 --json"), `"task_id": "three"`)
	l.says(exitDone, words("list"), name, other, "complete")
	compare := words("compare " + name + " " + other + " --resolve 0.1")
	l.says(exitDone, compare, "difference", "95% interval", "to find 0.1", "rollouts per task")
	c := document[show.Comparison](l, compare...)
	if more := int(math.Ceil(6 * math.Pow(c.StandardError*(1.959964+0.841621)/0.1, 2))); c.Resolve == nil || c.Resolve.Budgets != [2]int{more, more} || c.Resolve.Rollouts != 10*more {
		t.Errorf("a standard error of %v takes %+v to find 0.1, want %d rollouts per task", c.StandardError, c.Resolve, more)
	}
	if again := document[evaluation.Result](l, "rescore", name, "--benchmark", "own.jsonl"); fmt.Sprint(again.Rows) != fmt.Sprint(r.Rows) || again.Estimate != r.Estimate {
		t.Errorf("rescored by the same scorers: %+v, was %+v", again, r)
	}
}

func TestEvaluationsAreExportedWithTheirTasks(t *testing.T) {
	l := newEvaluationLab(t)
	l.evaluate("--budget", "6")
	write("other.jsonl", strings.Replace(ownBenchmark, "1+1", "2+2", 1))
	write("stale.toml", "[[benchmark]]\nid = \"own\"\ntasks = \"other.jsonl\"\n")
	for _, tt := range []struct {
		words string
		code  int
		says  string
		asks  string // in what is exported
	}{
		{"--to whole --tasks own.jsonl", exitDone, "", "What is 1+1?"},
		{"--to bare", exitDone, "inputs and targets are empty", ""},
		{"--to other --tasks other.jsonl", exitFailed, "asks other prompts", ""},
		{"--to stale --config stale.toml", exitDone, "asks other prompts", ""},
		{"--tasks own.jsonl --tasks other.jsonl", exitUsage, "", ""},
	} {
		code, _, stderr := ran(nil, words("export own/mine/hbn_staged-b6-seed42 --format eee "+tt.words)...)
		if code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: exit code %d, %s", tt.words, code, stderr)
		}
		paths, _ := filepath.Glob(words(tt.words)[1] + "/own/unknown/mine/*_samples.jsonl")
		if len(paths) != 1 && code == exitDone || len(paths) == 1 && strings.Contains(read(paths[0]), "What is ") != (tt.asks != "") {
			t.Errorf("%s: %q is made, want questions: %q", tt.words, paths, tt.asks)
		}
	}
}

// TestAnExportIsNoOtherEvaluation compares an evaluation with its exports, which compare with others
// as it does itself, and takes them as donors of itself.
func TestAnExportIsNoOtherEvaluation(t *testing.T) {
	l := newEvaluationLab(t)
	for policy, shares := range map[string]string{"hbn_staged": "both are of mine under seed 7 and share rollouts", "uniform": "both share rollouts of mine, by the counts of every task"} {
		name, other := "own/mine/"+policy+"-b6-seed42", "own/mine/"+policy+"-b6-seed7"
		l.evaluate("--budget", "6", "--policy", policy)
		l.evaluate("--budget", "6", "--policy", policy, "--seed", "7")
		difference := func(with string) string {
			_, difference, _ := strings.Cut(l.says(exitDone, words("compare "+name+" "+with)), "difference")
			return difference
		}
		want := difference(other)
		for format, file := range map[string]string{"json": policy + ".json", "inspect": policy + ".eval"} {
			code, _, stderr := ran(nil, "export", other, "--format", format, "--to", file)
			if got := difference(file); code != exitDone || got != want || want == "" {
				t.Errorf("%s: exit code %d, %s%s\nwant %s", file, code, stderr, got, want)
			}
			l.says(exitUsage, words("compare "+other+" "+file), shares)
			l.says(exitUsage, l.mine("--seed 7 --budget 4 --prior "+file), "it has rollouts of this evaluation, mine under seed 7: they would count twice")
			l.says(exitDone, l.mine("--budget 4 --prior "+file+" --out "+policy+format))
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
	if code, _ := l.do(interrupts, l.mine("--budget 6 --set systems.window=2")...); code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", code, l.stderr)
	}
	want(t, "pause", l.stderr, "stopping when the requests in flight are done", "the evaluation is paused: stopped", "rollouts of 30 are kept in out/evaluate")
	l.says(exitDone, words("list"), "not complete")
	half := "own/mine/hbn_staged-b6-seed42"
	l.says(exitUsage, words("plan --benchmark own.jsonl --resolve 0.1 --prior "+half), "is not complete: the command that began it goes on with it")
	l.says(exitFailed, words("show "+half), "is not complete: ")
	if !regexp.MustCompile(`; ([5-9]|1[0-9]) rollouts are scored so far, and by complete stages the mean is 0\.\d+ ± 0\.\d+ \(provisional\)`).MatchString(l.stderr) {
		t.Error(l.stderr)
	}
	l.asked = nil
	left := filepath.Join("out", "evaluate", "benchmark=own", "model=mine", "hbn_staged-b6-seed42", "result.json.0.partial")
	write(left, "half")
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
	p := document[evaluate.Plan](l, words("plan --benchmark own.jsonl --target-se 0.05")...)
	if !regexp.MustCompile(`^speceval evaluate( --(config|out|benchmark|set)=\S+)+ --model MODEL --budget \d+$`).MatchString(p.Command) {
		t.Errorf("the command is %q", p.Command)
	}
	if p.StandardError > 0.05 || *p.Target != 0.05 || p.Rollouts != 5*p.Budget {
		t.Errorf("%+v", p)
	}
	same(t, "the budget", l.evaluate("--target-se", "0.05", "--seed", "9").Budget, p.Budget)
	const prior = "own/mine/hbn_staged-se0.05-seed9"
	priced := l.says(exitDone, append(words("plan --budget 3 --price 2/4 --prior "+prior), l.mine("")...), "of answers, by ", "; $")
	line := priced[strings.LastIndex(strings.TrimSpace(priced), "\n")+1:]
	l.says(exitDone, words(strings.TrimPrefix(strings.TrimSpace(line), "speceval evaluate ")+" --seed 11"), "cost         $")
	l.says(exitDone, words("plan --benchmark own.jsonl --resolve 0.2 --prior "+prior),
		"by what is known from out/evaluate/benchmark=own", "expected; a difference of 0.", "Uniform         needs")
}

func TestEvaluationsThatCannotBe(t *testing.T) {
	l := newEvaluationLab(t)
	write("one.jsonl", ownBenchmark[:strings.Index(ownBenchmark, "\n")+1])
	write("keyless.jsonl", strings.Replace(ownBenchmark, `"answer":"21",`, "", 1))
	write("other.jsonl", strings.ReplaceAll(ownBenchmark, "rose", "tulip"))
	l.evaluate("--budget", "3", "--seed", "1")
	l.evaluate("--budget", "2", "--policy", "uniform", "--seed", "1")
	write("judged.jsonl", strings.ReplaceAll(ownBenchmark, `"scorer":"math"`, `"scorer":"judge"`))
	write("own/own.jsonl", strings.ReplaceAll(ownBenchmark, "rose", "tulip"))
	on := func(file string) []string {
		return words("--benchmark " + file + " --model mine --budget 4 --worker " + l.url)
	}
	evaluate := func(words ...string) (int, string, string) {
		code, stdout := l.do(nil, words...)
		return code, stdout, l.stderr
	}
	outcomes(t, evaluate, []outcome{
		{l.mine("--budget 1"), exitUsage, "--budget 1: want 2 to 4096"},
		{on("one.jsonl"), exitUsage, "one.jsonl has 1 task, allocation needs at least 2"},
		{on("keyless.jsonl"), exitUsage, "keyless.jsonl: line 2: answer: is missing"},
		{on("nope.jsonl"), exitUsage, "open nope.jsonl: no such file"},
		{on("own.json"), exitUsage, "with --benchmark, such as judged.jsonl, "},
		{on("aime24"), exitUsage, "built in: smallbench, primer"},
		{l.mine("--budget 4 --model theirs"), exitFailed, `serves "mine"`},
		{words("--benchmark own.jsonl --model mine --budget 4"), exitUsage, "name some with --worker URL"},
		{words("--benchmark own.jsonl --model mine --budget 4 --worker http://127.0.0.1:9"), exitFailed, "connection refused"},
		{l.mine("--budget 4 --policy best"), exitUsage, `no policy "best": want one of hbn_staged`},
		{l.mine("--target-se 0.1 --max-tokens 0"), exitUsage, "--max-tokens 0: want a positive number"},
		{l.mine("--max-usd 0 --price 1/1"), exitUsage, "--max-usd 0: want a positive number"},
		{l.mine("--max-usd NaN --price 1/1"), exitUsage, "--max-usd NaN: want positive"},
		{words("--model mine --budget 4"), exitUsage, "name a benchmark with --benchmark"},
		{words("--benchmark own.jsonl --budget 4"), exitUsage, "name a model with --model"},
		{l.mine("--budget 4 --resolve 0.1"), exitUsage, "say what to spend, in one way"},
		{l.mine("--target-se -1"), exitUsage, "--target-se -1: want a number between 0 and 0.5"},
		{l.mine("--target-se 0.00001"), exitFailed, "more rollouts per task than can be planned"},
		{words("show x"), exitUsage, "x is no evaluation: want its folder"},
		{words("bogus"), exitUsage, `unknown command "bogus"`},
		{words("compare own/mine/hbn_staged-b3-seed1 own/mine/uniform-b2-seed1"), exitUsage, "both are of mine under seed 1 and share rollouts"},
		{words("--benchmark own/own.jsonl --model mine --budget 3 --seed 1 --worker " + l.url), exitUsage, "other prompts"},
		{on("judged.jsonl"), exitFailed, "answers on judged cannot be scored: no judge: name"},
	})
}

// shown is a result as text, of five tasks and thirty rollouts.
func shown(t *testing.T, r evaluation.Result) string {
	r.Tasks, r.Rollouts, r.Rows = 5, 30, []evaluation.Task{{ID: "one", Pilots: 2}}
	var b bytes.Buffer
	ok(t, show.Text(&b, &r, "folder", false))
	return b.String()
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
		result := shown(t, evaluation.Result{Uniform: u, Design: evaluation.Design{Risk: &risk}})
		want(t, "result", result, "Uniform      would have "+text)
		if worse := "WARNING      this run did worse than Uniform, which needs 5.0 rollouts per task for this error, and 6.0 were spent"; strings.Contains(result, worse) != (u.Budget == 5) {
			t.Errorf("Uniform needs %v: the result is\n%s", u.Budget, result)
		}
	}
}

// TestResultsTellWhatIsLacking has servers that tell no tokens, results above the error that was
// asked for, by one in a hundred and by more, and costs that servers report beside a limit that
// --price counted.
func TestResultsTellWhatIsLacking(t *testing.T) {
	want(t, "result", shown(t, evaluation.Result{Tokens: evaluation.Tokens{Untold: 30}, Notes: []string{"a note"}}),
		"rollouts     30 of 5 tasks\n", "tokens       not told of 30 rollouts", "note         a note")
	for se, told := range map[float64]bool{0.0199: false, 0.0202: false, 0.021: true} {
		text := shown(t, evaluation.Result{StandardError: se, Head: evaluation.Head{Stop: &evaluation.Stop{StandardError: 0.02}}})
		same(t, "a warning of a missed target: "+text, strings.Contains(text, "± 0.02 was asked for and not reached"), told)
	}
	for dollars, told := range map[float64]bool{0.02: false, 0.03: true} {
		text := shown(t, evaluation.Result{Cost: &evaluation.Cost{Dollars: dollars, Reported: true}, Head: evaluation.Head{Stop: &evaluation.Stop{Dollars: 0.02}}})
		same(t, "a warning of a cost beyond the limit: "+text, strings.Contains(text, "WARNING      the servers report a cost of $0.03"), told)
	}
}

// TestSuitesByFlags has weights and floors of a suite by their flags.
func TestSuitesByFlags(t *testing.T) {
	l := newEvaluationLab(t)
	write("sums.jsonl", `{"id":"four","prompt":"What is 1+3?","answer":"4","scorer":"math"}`+"\n"+`{"id":"nine","prompt":"What is 4+5?","answer":"9","scorer":"math"}`+"\n")
	suite := func(more string) []string { return words("--benchmark sums.jsonl --budget 6 " + more) }
	if r := l.evaluate(suite("--weight 1,3 --floor 2")...); len(r.Suite) != 2 || r.Suite[1].Weight != 0.75 || len(r.Design.Cells) != 2 || r.Design.Cells[1].Least != 4 {
		t.Errorf("%+v", r)
	}
	if r := l.evaluate(suite("--weight micro --seed 2")...); math.Abs(r.Suite[1].Weight-2.0/float64(r.Tasks)) > 1e-12 || r.Design.Cells[1].Least != 8 {
		t.Errorf("all tasks alike: %+v", r)
	}
	for want, flags := range map[string]string{
		"want a number, macro or micro": "--weight much", "want a positive number": "--weight 0,0", "want 0 to the budget": "--floor 7", "invalid syntax": "--floor x",
	} {
		l.says(exitUsage, append(l.mine(""), suite(flags)...), want)
	}
}
