package evaluate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/ledger"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
)

// ownBenchmark is a task file as a user would write it.
const ownBenchmark = `{"id":"one","prompt":"What is 1+1?","answer":"2","scorer":"math"}
{"id":"two","prompt":"What is 12+9?","answer":"21","scorer":"math"}
{"id":"three","prompt":"What is 3*17?","answer":"51","scorer":"math"}
{"id":"red","prompt":"Which is red?","answer":"B","scorer":"choice","options":["sky","rose"]}
{"id":"blue","prompt":"Which is blue?","answer":"A","scorer":"choice","options":["sky","rose"]}
`

// lab is a folder without an experiment, with a task file and a server.
type lab struct {
	t       *testing.T
	url     string
	sets    []string
	said    []string
	warned  []string
	watched evaluation.Progress // the last
}

func newLab(t *testing.T) *lab {
	t.Helper()
	t.Chdir(t.TempDir())
	l := &lab{t: t, url: plainServer(t, "")}
	l.write("own.jsonl", ownBenchmark)
	return l
}

// plainServer speaks OpenAI's protocol and nothing of vLLM's. Under an even seed it
// is right about the first task, under an odd one about the second. usage is a field of
// its answers; "": none.
func plainServer(t *testing.T, usage string) string {
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
				http.Error(w, `{"error":{"message":"unknown field top_k"}}`, http.StatusBadRequest)
				return
			}
			text := map[bool]string{true: "\\boxed{2}", false: "\\boxed{21}"}[asked.Seed%2 == 0]
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"model\":\"plain\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]%s}\n\ndata: [DONE]\n\n", text, usage)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) configuration() *config.Config {
	l.t.Helper()
	cfg, err := evaluate.Configuration(evaluate.Options{Config: "experiments.toml", Optional: true, Sets: l.sets, Workers: []string{l.url}})
	if err != nil {
		l.t.Fatal(err)
	}
	return cfg
}

func (l *lab) benchmark() *evaluate.Benchmark {
	l.t.Helper()
	b, err := evaluate.Archive{Config: l.configuration()}.OpenBenchmark("own.jsonl")
	if err != nil {
		l.t.Fatal(err)
	}
	b.Warn = func(m string) { l.warned = append(l.warned, m) }
	return b
}

// archive is the evaluations in an output folder; warnings are kept.
func (l *lab) archive(out string) evaluate.Archive {
	l.t.Helper()
	cfg := *l.configuration()
	cfg.Experiment.Out = out
	return evaluate.Archive{Config: &cfg, Warn: func(m string) { l.warned = append(l.warned, m) }}
}

// host keeps what is said.
func (l *lab) host() evaluate.Host {
	l.said, l.warned = nil, nil
	return evaluate.Host{
		Holder: "pid 2 on beta", Warn: func(m string) { l.warned = append(l.warned, m) },
		Host: evaluation.Host{
			Commit: "abc", Began: time.Now(), Say: func(m string) { l.said = append(l.said, m) }, Watch: func(p evaluation.Progress) { l.watched = p },
		},
	}
}

// request is HBN-async under a seed at a budget.
func request(budget int, seed uint64) evaluation.Spec {
	return evaluation.Spec{Policy: "hbn-async", Budget: budget, Seed: &seed}
}

// try evaluates.
func (l *lab) try(r evaluation.Spec) (*evaluation.Result, string, error) {
	l.t.Helper()
	s, err := l.benchmark().With("plain")
	if err != nil {
		l.t.Fatal(err)
	}
	return s.Evaluate(l.t.Context(), r, l.host())
}

// made makes an evaluation that must succeed, and returns its folder, too.
func (l *lab) made(r evaluation.Spec) (*evaluation.Result, string) {
	l.t.Helper()
	result, folder, err := l.try(r)
	if err != nil {
		l.t.Fatal(err)
	}
	return result, folder
}

// evaluate makes an evaluation that must succeed.
func (l *lab) evaluate(r evaluation.Spec) *evaluation.Result {
	l.t.Helper()
	result, _ := l.made(r)
	return result
}

// live is the model of a live gate against a baseline.
func (l *lab) live(baseline string) *evaluate.Subject {
	l.t.Helper()
	s, err := l.archive("out").OpenLive(baseline, []string{"own.jsonl"}, "plain")
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// heard checks that a message with a text was said.
func heard(t *testing.T, messages []string, text string) {
	t.Helper()
	if !slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(m, text) }) {
		t.Errorf("messages %q lack %q", messages, text)
	}
}

// faulty checks an error's text, and whether it is a fault of the request.
func faulty(t *testing.T, err error, ofRequest bool, text string) {
	t.Helper()
	var request *evaluate.RequestError
	if err == nil || errors.As(err, &request) != ofRequest || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v (%T), want %q, a fault of the request: %v", err, err, text, ofRequest)
	}
}

func TestAnyServerOfOpenAIsProtocolWillDo(t *testing.T) {
	l := newLab(t)
	r := l.evaluate(request(6, 42))
	if r.Provenance != "measured" || r.Rollouts != 30 || r.Tokens.Untold != 30 || r.Tokens.Completion != 0 {
		t.Errorf("%+v", r)
	}
	if n := r.Rows[0].PilotPasses + r.Rows[0].ContinuationPasses + r.Rows[1].PilotPasses + r.Rows[1].ContinuationPasses; n == 0 {
		t.Errorf("nothing is right: %+v", r.Rows)
	}
	heard(t, l.warned, "is not vLLM")
	heard(t, l.warned, "does not tell tokens")
	if p := l.watched; p.Pilots != p.AllPilots || p.Continuations < p.AllContinuations || p.AllPilots+p.AllContinuations != 30 {
		t.Errorf("progress at the end: %+v", p)
	}
	l.sets = []string{"sampling.top_k=5"}
	_, _, err := l.try(request(6, 2))
	faulty(t, err, false, "top_k")
}

func TestACompleteEvaluationIsNotMadeAgain(t *testing.T) {
	l := newLab(t)
	r, folder, err := l.try(request(6, 42))
	if err != nil || folder != filepath.FromSlash("out/evaluate/benchmark=own/model=plain/hbn-async-b6-seed42") {
		t.Fatalf("folder %s, %v", folder, err)
	}
	page := filepath.Join(folder, "report.html")
	if err := os.Remove(page); err != nil {
		t.Fatal(err)
	}
	l.write(filepath.Join(folder, "scores.journal"), "") // of a process that was killed before it could remove it
	url := l.url
	l.url = "http://127.0.0.1:1"
	again := l.evaluate(request(6, 42))
	if again.Estimate != r.Estimate || again.Seconds != r.Seconds {
		t.Errorf("%+v, was %+v", again, r)
	}
	heard(t, l.said, "is complete")
	if _, err := os.Stat(page); err != nil {
		t.Errorf("a page that a kill has taken: %v", err)
	}
	if left, _ := filepath.Glob(folder + "/*.journal"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	l.url = url
	l.write("own.jsonl", strings.ReplaceAll(ownBenchmark, "rose", "tulip"))
	_, _, err = l.try(request(6, 42))
	faulty(t, err, true, "other prompts")
}

// TestAlteredEvaluationsAreRefusedByName alters one file after the other of an evaluation. No
// command uses what is not as it was made, and none pays for it again.
func TestAlteredEvaluationsAreRefusedByName(t *testing.T) {
	l := newLab(t)
	l.evaluate(request(4, 2))
	_, whole := l.made(request(4, 1))
	const name, other = "own/plain/hbn-async-b4-seed1", "own/plain/hbn-async-b4-seed2"
	uses := map[string]func() error{
		"evaluate": func() error { _, _, err := l.try(request(4, 1)); return err },
		"show":     func() error { _, err := l.archive("out").Stored(name); return err },
		"compare":  func() error { _, err := l.archive("out").Compare([]string{other, name}, 0); return err },
		"gate": func() error {
			_, err := l.archive("out").Gate([2]string{other, name}, evaluate.Gating{Margin: 0.1})
			return err
		},
		"pool":    func() error { _, err := l.archive("out").Pool([]string{other, name}); return err },
		"--prior": func() error { _, _, err := l.try(informedBy(8, 3, name)); return err },
		"extend": func() error {
			_, _, err := evaluate.Extend(t.Context(), l.configuration(), name, []string{"own.jsonl"}, 8, l.host())
			return err
		},
		"rescore": func() error {
			_, _, err := evaluate.Rescore(t.Context(), l.configuration(), name, []string{"own.jsonl"}, l.host())
			return err
		},
	}
	used := slices.Sorted(maps.Keys(uses))
	for _, c := range []struct {
		file    string
		refused []string
	}{
		{"result.json", used},
		{"evaluation.json", used},
		{"manifest.json", used},
		{"rollouts.parquet", []string{"extend", "rescore"}},
		{"requests.parquet", []string{"extend", "rescore"}},
		{"scores.parquet", []string{"extend"}},
		{"tasks.parquet", nil},
	} {
		for _, use := range used {
			if err := errors.Join(os.RemoveAll("kept"), os.CopyFS("kept", os.DirFS(whole)), os.Remove(filepath.Join(whole, c.file))); err != nil {
				t.Fatal(err)
			}
			l.host()
			err := uses[use]()
			if refused := slices.Contains(c.refused, use); (err != nil) != refused || refused && (!strings.Contains(err.Error(), c.file+" is missing") || !strings.Contains(err.Error(), "put back what")) {
				t.Errorf("%s without %s: error %v", use, c.file, err)
			}
			if err == nil {
				heard(t, l.warned, c.file+" is missing")
			}
			if err := errors.Join(os.RemoveAll(whole), os.Rename("kept", whole)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The evaluation is listed all the same.
	if err := os.Remove(whole + "/result.json"); err != nil {
		t.Fatal(err)
	}
	all, err := l.archive("out").Reader().List()
	at := slices.IndexFunc(all, func(e evaluate.Listed) bool { return e.Name == name })
	if err != nil || at < 0 || all[at].State != "damaged" || all[at].Estimate != nil {
		t.Errorf("listed %+v, %v", all, err)
	}
	// Nor is another evaluation taken for this one.
	if err := os.Rename(whole, "out/evaluate/benchmark=own/model=plain/hbn-async-b4-seed3"); err != nil {
		t.Fatal(err)
	}
	_, _, err = l.try(request(4, 3))
	faulty(t, err, true, "hbn-async-b4-seed1, not own/plain/hbn-async-b4-seed3")
}

func TestOtherAnswersAreRescored(t *testing.T) {
	l := newLab(t)
	r, folder := l.made(request(6, 42))
	l.write("own.jsonl", strings.Replace(ownBenchmark, `"answer":"2"`, `"answer":"7777"`, 1))
	l.evaluate(request(6, 42))
	heard(t, l.warned, "speceval evaluate rescore "+folder)
	before, after, err := evaluate.Rescore(t.Context(), l.configuration(), "own/plain/hbn-async-b6-seed42", []string{"own.jsonl"}, l.host())
	if err != nil {
		t.Fatal(err)
	}
	if n := after.Rows[0].PilotPasses + after.Rows[0].ContinuationPasses; n != 0 || after.Rules == r.Rules || before.Result.Rules != r.Rules || before.Folder != folder {
		t.Errorf("%d rollouts of a task with another answer pass: %+v", n, after)
	}
	if stored, err := l.archive("out").Stored(folder); err != nil || stored.Result.Estimate != after.Estimate || stored.Result.Estimate >= r.Estimate || len(l.warned) > 0 {
		t.Errorf("stored %+v, %v", stored, err)
	}
	if page, err := os.ReadFile(filepath.Join(folder, "report.html")); err != nil || !strings.Contains(string(page), fmt.Sprintf("<h1>%.4f", after.Estimate)) {
		t.Errorf("the page is not of the mean %.4f: %v", after.Estimate, err)
	}
	l.write("own.jsonl", strings.Replace(ownBenchmark, `"red"`, `"violet"`, 1))
	_, _, err = evaluate.Rescore(t.Context(), l.configuration(), folder, []string{"own.jsonl"}, l.host())
	faulty(t, err, true, "its task 3 is red")
}

// A folder that another process works in is left alone.
func TestAnEvaluationIsMadeByOneProcess(t *testing.T) {
	l := newLab(t)
	setup := evaluation.Setup{Head: evaluation.Head{Benchmark: "own", Model: "plain", Policy: "hbn-async", Budget: 3, Seed: 42}}
	lock, err := dag.Acquire(setup.Path("out"), "pid 1 on alpha")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = l.try(request(3, 42))
	faulty(t, err, false, "pid 1 on alpha")
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	l.evaluate(request(3, 42))
}

func TestBudgetsArePlanned(t *testing.T) {
	l := newLab(t)
	p, err := l.benchmark().Plan(t.Context(), evaluation.Spec{TargetSE: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	if p.StandardError > 0.05 || p.StandardError < 0.04 || float64(p.UniformBudget) != math.Ceil(1/(60*p.StandardError*p.StandardError)) || p.Rollouts != 5*p.Budget || p.Budget < 3 || p.Budget > 7 {
		t.Errorf("%+v", p)
	}
	toTarget := request(0, 9)
	toTarget.TargetSE = 0.05
	if r := l.evaluate(toTarget); r.Budget != p.Budget || r.Stop == nil || r.Stop.StandardError != 0.05 {
		t.Errorf("budget %d until %v, planned %d", r.Budget, r.Stop, p.Budget)
	}
	resolving, err := l.benchmark().Plan(t.Context(), evaluation.Spec{Resolve: 0.2})
	if err != nil || resolving.Resolves > 0.2 || resolving.Resolves < 0.18 {
		t.Errorf("%+v, %v, want a plan that resolves 0.2", resolving, err)
	}
	if given, err := l.benchmark().Plan(t.Context(), evaluation.Spec{Budget: p.Budget}); err != nil || given.Target != nil || given.StandardError != p.StandardError {
		t.Errorf("%+v, %v, want the error of %+v", given, err, p)
	}
	known, err := l.benchmark().Plan(t.Context(), evaluation.Spec{Resolve: 0.2, Prior: []string{"own/plain/hbn-async-se0.05-seed9"}})
	if err != nil || !strings.HasPrefix(known.From, filepath.FromSlash("what is known from out/evaluate/benchmark=own")) || known.Budget == resolving.Budget && known.StandardError == resolving.StandardError {
		t.Errorf("%+v, %v, want a plan by the evaluation, unlike %+v", known, err, resolving)
	}
}

// TestTokensAreLimited goes by estimates, since the server tells no tokens: 8 or 9 bytes an
// answer, 3 tokens.
func TestTokensAreLimited(t *testing.T) {
	l := newLab(t)
	limited := func(policy string, tokens int64, seed uint64) evaluation.Spec {
		return evaluation.Spec{Policy: policy, MaxTokens: tokens, Seed: &seed}
	}
	_, _, err := l.try(limited("", 9, 1))
	faulty(t, err, true, "--max-tokens 9: 5 tasks take two answers each at least")
	_, _, err = l.try(limited("", 24, 1))
	faulty(t, err, false, "--max-tokens 24 is too small for the pilot and one more stage")
	for _, policy := range []string{"hbn_staged", "hbn-async"} {
		r := l.evaluate(limited(policy, 400, 2))
		if r.Design.Pilots != 1 || r.Tokens.All > 400 || r.Tokens.All < 300 || r.Extra != 0 || r.Dropped != 0 {
			t.Errorf("%s: a pilot of %d, %d tokens in all, %d discarded", policy, r.Design.Pilots, r.Tokens.All, r.Extra)
		}
	}

	l.url = plainServer(t, `,"usage":{"prompt_tokens":5,"completion_tokens":10,"total_tokens":15}`)
	l.evaluate(request(8, 3)) // from now on the lengths are known
	_, _, err = l.try(limited("", 120, 4))
	faulty(t, err, true, "by earlier answers of 10 tokens on average")
	if r := l.evaluate(limited("", 1600, 4)); r.Design.Pilots != 4 || r.Tokens.All > 1600 || r.Tokens.All < 1500 {
		t.Errorf("a pilot of %d, %d tokens in all", r.Design.Pilots, r.Tokens.All)
	}
}

func TestStoredEvaluationsAreComparedAndListed(t *testing.T) {
	l := newLab(t)
	names := []string{"own/plain/hbn-async-b6-seed1", "own/plain/hbn-async-b4-seed2"}
	a, b := l.evaluate(request(6, 1)), l.evaluate(request(4, 2))
	c, err := l.archive("out").Compare(names, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.Difference-(a.Estimate-b.Estimate)) > 1e-15 || c.StandardError != math.Hypot(a.StandardError, b.StandardError) || !slices.Equal(c.Evaluations, names) || !slices.Equal(c.Budgets, []int{6, 4}) || len(c.Pairs) > 0 {
		t.Errorf("%+v", c)
	}
	factor := math.Pow(c.StandardError*(1.959964+0.841621)/0.1, 2)
	if want := [2]int{int(math.Ceil(6 * factor)), int(math.Ceil(4 * factor))}; c.Resolve == nil || c.Resolve.Budgets != want || c.Resolve.Rollouts != 5*(want[0]+want[1]) {
		t.Errorf("%+v, want budgets %v", c.Resolve, want)
	}
	if c, err := l.archive("out").Compare(names, 0); err != nil || c.Resolve != nil {
		t.Errorf("%+v, %v, want no budgets", c, err)
	}
	_, err = l.archive("out").Compare([]string{names[0], names[0]}, 0)
	faulty(t, err, true, "share rollouts")
	l.sets = append(l.sets, "sampling.temperature=0.1", "sampling.max_tokens=99")
	l.evaluate(request(2, 3))
	if _, err := l.archive("out").Compare([]string{names[0], "own/plain/hbn-async-b2-seed3"}, 0); err != nil {
		t.Error(err)
	}
	heard(t, l.warned, "were asked with different sampling.max_tokens and sampling.temperature")
	if err := os.RemoveAll("out/evaluate/benchmark=own/model=plain/hbn-async-b2-seed3"); err != nil {
		t.Fatal(err)
	}

	lock := evaluation.Setup{Head: evaluation.Head{Benchmark: "own", Model: "plain", Policy: "hbn-async", Budget: 9, Seed: 1}}
	l.write(filepath.Join(lock.Path("out"), "journal"), "") // of an evaluation without a setup yet
	all, err := l.archive("out").Reader().List()
	if err != nil || len(all) != 2 || all[0].Name != names[1] || all[1].Name != names[0] || all[0].Rollouts != 20 || all[0].State != "complete" || *all[0].Estimate != b.Estimate {
		t.Errorf("%+v, %v", all, err)
	}
	if none, err := l.archive("nowhere").Reader().List(); err != nil || none == nil || len(none) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
}

// TestPricesOfTheConfigurationAreTaken holds the price of a [[model]] to that of --price.
func TestPricesOfTheConfigurationAreTaken(t *testing.T) {
	l := newLab(t)
	l.url = plainServer(t, `,"usage":{"prompt_tokens":5,"completion_tokens":10,"total_tokens":15}`)
	priced := func(price string) {
		l.write("experiments.toml", "[[model]]\nid = \"plain\"\nprice = \""+price+"\"\n")
	}
	priced("100/200")
	if r := l.evaluate(request(8, 3)); r.Cost == nil || r.Cost.Dollars < 40*2500e-6 || r.Cost.Reported {
		t.Errorf("cost %+v, want that of 40 rollouts at least", r.Cost)
	}
	p, err := l.benchmark().Plan(t.Context(), evaluation.Spec{Budget: 8, Model: "plain"})
	if err != nil || p.Dollars == nil || math.Abs(*p.Dollars-40*2500e-6) > 1e-9 {
		t.Errorf("%+v, %v, want the cost of 40 rollouts", p, err)
	}
	limited := evaluation.Spec{MaxDollars: 0.4, Price: &ledger.Price{Prompt: 100, Completion: 400}}
	if r := l.evaluate(limited); r.Cost == nil || r.Cost.Dollars > 0.4*1.05 || r.Cost.Dollars < float64(r.Rollouts)*4500e-6 {
		t.Errorf("cost %+v of %d rollouts, want that of the price that is given", r.Cost, r.Rollouts)
	}
	priced("1/0")
	_, _, err = l.try(request(8, 5))
	faulty(t, err, true, `[[model]] plain: price "1/0": want IN/OUT`)
}

// TestUniformIsTakenWhereNothingCanBeGained has budgets of which a pilot and one more
// rollout are all; a policy that is named is taken all the same.
func TestUniformIsTakenWhereNothingCanBeGained(t *testing.T) {
	l := newLab(t)
	asked := func(budget int, policy string, seed uint64) evaluation.Spec {
		return evaluation.Spec{Policy: policy, Budget: budget, Seed: &seed}
	}
	r, folder, err := l.try(asked(3, "", 1))
	if err != nil || r.Policy != "hbn_staged" || r.Used != "uniform" || r.Design.Pilots != 3 || filepath.Base(folder) != "hbn_staged-b3-seed1" {
		t.Fatalf("%+v in %s, %v, want Uniform in the folder of hbn_staged", r, folder, err)
	}
	heard(t, l.warned, "uniform was used in the place of hbn_staged")
	if again := l.evaluate(asked(3, "", 1)); again.Used != "uniform" || again.Estimate != r.Estimate {
		t.Errorf("%+v, want the result that is there", again)
	}
	seed := uint64(2)
	if r := l.evaluate(evaluation.Spec{MaxRollouts: 17, Seed: &seed}); r.Used != "uniform" || r.Rollouts != 15 {
		t.Errorf("%q with %d rollouts, want Uniform with 15 of 17", r.Used, r.Rollouts)
	}
	for _, spec := range []evaluation.Spec{asked(16, "", 1), asked(3, "hbn_staged", 3)} {
		if r := l.evaluate(spec); r.Used != "" || r.Design.Risk == nil {
			t.Errorf("%+v: %q, want the policy", spec, r.Used)
		}
	}
	for budget, used := range map[int]string{3: "uniform", 16: ""} {
		if p, err := l.benchmark().Plan(t.Context(), evaluation.Spec{Budget: budget}); err != nil || p.Used != used {
			t.Errorf("the plan for %d rollouts is %+v, %v, want %q", budget, p, err, used)
		}
	}
}
