package protocol_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/protocol"
	"speceval/method/neyman"
)

var reference = func() *neyman.Prior {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		panic(err)
	}
	return prior
}()

// setup makes the setup of a message, under a design that is not computed.
func setup(m evaluation.Spec, was *evaluation.Setup, r *evaluation.Result) (_ *evaluation.Setup, _ []string, err error) {
	if was != nil {
		added := *was
		added.Budget, added.Design = m.Budget, evaluation.Design{Weight: 0.4, Fractions: []float64{0.5, 1}, Rounds: m.Rounds, Source: "a test"}
		added.Extends = evaluation.Extending(r, "earlier")
		return &added, nil, err
	}
	if len(m.Tasks) < 2 {
		return nil, nil, &protocol.FieldError{Field: "tasks", Message: "2 at least"}
	}
	s := &evaluation.Setup{
		Head: evaluation.Head{Benchmark: "b", Model: "m", Policy: "hbn_staged", Budget: m.Budget, Seed: 42}, TaskIDs: m.Tasks, Asked: map[string]string{},
		Design: evaluation.Design{Pilots: 3, Weight: 0.3, Fractions: []float64{0.4, 1}, Rounds: m.Rounds, Source: "a test"},
	}
	if m.MaxTokens > 0 {
		s.Stop = &evaluation.Stop{Tokens: m.MaxTokens}
	}
	return s, nil, s.Check()
}

func server(store *protocol.Store) *protocol.Server {
	return &protocol.Server{Program: "speceval", Reference: reference, Setup: setup, Store: store}
}

// kept is a store in a folder.
func kept(folder string) *protocol.Store {
	return &protocol.Store{Place: func(*evaluation.Setup) (string, func() error, error) { return folder, func() error { return nil }, nil }}
}

// say sends messages and returns the last reply.
func say(t *testing.T, s *protocol.Server, lines ...string) map[string]any {
	t.Helper()
	var decoded map[string]any
	for _, line := range lines {
		reply, err := s.Reply([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		text, err := json.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		decoded = nil
		if err := json.Unmarshal(text, &decoded); err != nil {
			t.Fatal(err)
		}
	}
	return decoded
}

func startLine(tasks int, more string) string {
	var ids []string
	for i := range tasks {
		ids = append(ids, fmt.Sprintf("%q", fmt.Sprint("t", i)))
	}
	return fmt.Sprintf(`{"type":"start","protocol":1,"tasks":[%s],"budget":8%s}`, strings.Join(ids, ","), more)
}

// reward is that of a rollout, whenever it runs.
func reward(task string, number int) float64 {
	random := rand.New(rand.NewPCG(uint64(number), uint64(len(task))+uint64(task[len(task)-1])))
	if random.Float64() < float64(task[len(task)-1]-'0')/10 {
		return 1
	}
	return 0
}

// rolloutsIn are the rollouts in a list of a reply.
func rolloutsIn(list any) (all []protocol.Rollout) {
	for _, r := range list.([]any) {
		named := r.(map[string]any)
		all = append(all, protocol.Rollout{Task: named["task"].(string), Number: int(named["rollout"].(float64))})
	}
	return all
}

// completed is the report of a rollout, with its tokens.
func completed(r protocol.Rollout, reward float64, tokens int) string {
	return fmt.Sprintf(`{"type":"completed","task":%q,"rollout":%d,"reward":%v,"tokens":%d}`, r.Task, r.Number, reward, tokens)
}

// failed is the report of a rollout without a reward.
func failed(r protocol.Rollout) string {
	return fmt.Sprintf(`{"type":"failed","task":%q,"rollout":%d}`, r.Task, r.Number)
}

// spend asks for all rollouts that there are and reports them, until the evaluation is done. It
// returns them as they were given.
func spend(t *testing.T, s *protocol.Server, report func(protocol.Rollout) string) (given [][]protocol.Rollout) {
	t.Helper()
	for {
		run := say(t, s, `{"type":"next","most":1000}`)
		given = append(given, rolloutsIn(run["rollouts"]))
		for _, r := range given[len(given)-1] {
			say(t, s, report(r))
		}
		if run["done"].(bool) {
			return given
		}
	}
}

// snapshot is the state of an evaluation, as JSON.
func snapshot(t *testing.T, s *protocol.Server) string {
	t.Helper()
	text, err := json.Marshal(say(t, s, `{"type":"snapshot"}`)["snapshot"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// finish runs what is left of an evaluation, at most so many rollouts at a time, which end
// in a random order. cut reports a stop in between; it returns false then.
func finish(t *testing.T, s *protocol.Server, window int, random *rand.Rand, flying []protocol.Rollout, cut func(completions int) bool, reported *int) bool {
	t.Helper()
	for completions := 0; ; {
		if cut(completions) {
			return false
		}
		run := say(t, s, fmt.Sprintf(`{"type":"next","most":%d}`, window))
		flying = append(flying, rolloutsIn(run["rollouts"])...)
		if run["done"].(bool) {
			return true
		}
		if len(flying) == 0 {
			t.Fatal("nothing is in flight, and nothing is given")
		}
		k := random.IntN(len(flying))
		r := flying[k]
		flying = slices.Delete(flying, k, k+1)
		line := completed(r, reward(r.Task, r.Number), 7)
		if random.IntN(20) == 0 {
			line = failed(r)
			*reported--
		}
		*reported++
		if noted := say(t, s, line); noted["type"] != "noted" {
			t.Fatalf("%s: %v", line, noted)
		}
		completions++
	}
}

func never(int) bool { return false }

// outcome is all that an evaluation came to.
func outcome(t *testing.T, s *protocol.Server) map[string]any {
	t.Helper()
	e := say(t, s, `{"type":"estimate","tasks":true}`)
	if e["complete"] != true || e["rollouts"].(float64) != 8*10 {
		t.Fatalf("the estimate is %v", e)
	}
	return e
}

// TestACompleteEvaluationIsKept opens the folder of a server as evaluate does.
func TestACompleteEvaluationIsKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	s, reported := server(kept(folder)), 0
	say(t, s, startLine(10, ""))
	finish(t, s, 9, rand.New(rand.NewPCG(1, 1)), nil, func(n int) bool { return reported == 30 }, &reported)
	setup, fault := evaluation.ReadSetup(folder)
	if _, err := evaluation.Open(folder); !errors.Is(err, fs.ErrNotExist) || fault != nil || protocol.Reported(folder, setup) != 30 {
		t.Errorf("after 30 rollouts: %v, %v", err, fault)
	}
	flying := rolloutsIn(say(t, server(kept(folder)), startLine(10, ""))["in_flight"])
	finish(t, s, 9, rand.New(rand.NewPCG(1, 1)), flying, never, &reported)
	e, err := evaluation.Open(folder)
	if err != nil || len(e.Altered) > 0 {
		t.Fatalf("%v, %v", err, e)
	}
	if want := outcome(t, s); e.Result.Estimate != want["mean"] || e.Result.StandardError != want["standard_error"] || e.Result.Tokens.Completion != 7*80 {
		t.Errorf("the result is %+v, want %v", e.Result, want)
	}
	if err := e.Needs(evaluation.RolloutsFile); err == nil || !strings.Contains(err.Error(), "another program has run") {
		t.Errorf("its rollouts: %v", err)
	}
}

// TestAnEvaluationIsExtended adds rollouts to one that is complete, twice, with a kill in
// between: rollouts are numbered on, and the mean counts all of them with their weights.
func TestAnEvaluationIsExtended(t *testing.T) {
	s := server(nil)
	say(t, s, startLine(10, ""))
	finish(t, s, 7, rand.New(rand.NewPCG(1, 1)), nil, never, new(int))
	estimates := []map[string]any{outcome(t, s)}
	for k, budget := range []int{12, 20} {
		line := strings.Replace(startLine(10, `,"ahead":false,"extend":`+snapshot(t, s)), `"budget":8`, fmt.Sprintf(`"budget":%d`, budget), 1)
		folder, added := filepath.Join(t.TempDir(), "state"), 0
		s = server(kept(folder))
		if r := say(t, s, line); r["type"] != "started" || r["completed"] != 0.0 {
			t.Fatal(r)
		}
		journal := filepath.Join(folder, "rollouts.journal")
		text, err := os.ReadFile(journal)
		if err == nil { // as a kill leaves it
			err = os.Truncate(journal, int64(bytes.IndexByte(text, '\n')+1))
		}
		if s = server(kept(folder)); err != nil || say(t, s, line)["completed"] != 0.0 {
			t.Fatalf("after a kill: %v", err)
		}
		finish(t, s, 1, rand.New(rand.NewPCG(2, 2)), nil, func(n int) bool { return added == 11 }, &added)
		setup, err := evaluation.ReadSetup(folder)
		if err != nil || protocol.Reported(folder, setup) != 11 {
			t.Errorf("11 rollouts are added, and others counted: %v", err)
		}
		s = server(kept(folder))
		if r := say(t, s, line); r["completed"] != 11.0 || r["resumed"] != true {
			t.Fatal(r)
		}
		finish(t, s, 3, rand.New(rand.NewPCG(3, 3)), nil, never, &added)
		if had := []int{8, 12}[k]; added != 10*(budget-had) {
			t.Errorf("%d rollouts are added to %d of 10 tasks, want a budget of %d", added, had, budget)
		}
		e := say(t, s, `{"type":"estimate","tasks":true}`)
		sum := 0.0
		for _, row := range e["tasks"].([]any) {
			for number, stages := 1, row.(map[string]any)["stages"].([]any); len(stages) > 0; stages = stages[1:] {
				stage := stages[0].(map[string]any)
				n, rewards := int(stage["rollouts"].(float64)), 0.0
				for range n {
					rewards += reward(row.(map[string]any)["task_id"].(string), number)
					number++
				}
				sum += stage["weight"].(float64) * rewards / float64(n)
			}
		}
		if mean := e["mean"].(float64); e["rollouts"] != float64(10*budget) || math.Abs(mean-sum/10) > 1e-12 {
			t.Errorf("the mean of %v is %v, want %v", e["rollouts"], mean, sum/10)
		}
		estimates = append(estimates, e)
	}
	if estimates[2]["standard_error"].(float64) >= estimates[0]["standard_error"].(float64) {
		t.Errorf("more rollouts are no more precise: %v", estimates)
	}
	half := strings.Replace(resumed(`"policy":"hbn_staged"`), `"type":"resume","snapshot"`, `"type":"start","protocol":1,"tasks":["a","b"],"budget":8,"extend"`, 1)
	if r := say(t, server(nil), half); r["field"] != "extend" || !strings.Contains(r["message"].(string), "not complete") {
		t.Errorf("one that is not complete: %v", r)
	}
}

// TestNothingButRewardsDecides runs an evaluation at every width, with and without
// speculation, through kills and snapshots: the estimate is the same to the bit.
func TestNothingButRewardsDecides(t *testing.T) {
	plain := server(nil)
	say(t, plain, startLine(10, `,"ahead":false`))
	finish(t, plain, 1, rand.New(rand.NewPCG(1, 1)), nil, never, new(int))
	want := outcome(t, plain)
	for trial := range uint64(60) {
		random := rand.New(rand.NewPCG(trial, 2))
		ahead := fmt.Sprintf(`,"ahead":%v`, trial%2 == 0)
		s := server(nil)
		var store *protocol.Store
		state := filepath.Join(t.TempDir(), "state")
		if trial%3 > 0 {
			store = kept(state)
			s = server(store)
		}
		say(t, s, startLine(10, ahead))
		reported := 0
		for session := 0; ; session++ {
			var flying []protocol.Rollout
			if session > 0 {
				var started map[string]any
				if store == nil {
					line := `{"type":"resume","snapshot":` + snapshot(t, s) + `}`
					s = server(nil)
					started = say(t, s, line)
				} else { // the server was killed: nothing was closed
					store = kept(state)
					s = server(store)
					started = say(t, s, startLine(10, ahead))
				}
				if started["type"] != "started" || started["resumed"] != true || started["completed"] != float64(reported) {
					t.Fatalf("trial %d: %d rollouts were reported: %v", trial, reported, started)
				}
				flying = rolloutsIn(started["in_flight"])
				if trial%5 == 0 { // the program lost what was in flight
					for _, r := range flying {
						say(t, s, failed(r))
					}
					flying = nil
				}
			}
			stop := random.IntN(60)
			if finish(t, s, 1+random.IntN(30), random, flying, func(n int) bool { return session < 4 && n >= stop }, &reported) {
				break
			}
		}
		if store != nil {
			s = server(kept(state))
			say(t, s, startLine(10, ahead))
		}
		if got := outcome(t, s); !reflect.DeepEqual(got, want) {
			t.Fatalf("trial %d: the estimate is\n%v\nwant\n%v", trial, got, want)
		}
	}
}

// TestTheLastReportEndsAResumedEvaluation kills a server when all rollouts but the last are reported: the
// reply to the last one says that the evaluation is done, without a next before it.
func TestTheLastReportEndsAResumedEvaluation(t *testing.T) {
	for trial := range uint64(20) {
		random, reported := rand.New(rand.NewPCG(trial, 3)), 0
		state := filepath.Join(t.TempDir(), "state")
		s := server(kept(state))
		line := startLine(10, `,"ahead":false`)
		say(t, s, line)
		finish(t, s, 1+int(trial%4), random, nil, func(int) bool { return reported == 79 }, &reported)
		say(t, s, `{"type":"next","most":99}`)
		s = server(kept(state))
		flying := rolloutsIn(say(t, s, line)["in_flight"])
		if len(flying) != 1 {
			t.Fatalf("%v are in flight, want one rollout", flying)
		}
		noted := say(t, s, completed(flying[0], 1, 0))
		if noted["done"] != true || noted["final"] != true {
			t.Errorf("trial %d: the reply to the last report is %v, want done", trial, noted)
		}
	}
}

// TestWithoutSpeculationEveryRolloutCounts counts what is given.
func TestWithoutSpeculationEveryRolloutCounts(t *testing.T) {
	s := server(nil)
	say(t, s, startLine(10, `,"ahead":false,"rounds":16`))
	if given := slices.Concat(spend(t, s, func(r protocol.Rollout) string { return completed(r, 1, 0) })...); len(given) != 80 {
		t.Errorf("%d rollouts are given, want 80", len(given))
	}
}

// TestTokensAreLimitedAtBarriers reports ten tokens or none of each rollout. A limit that is
// too small is exceeded, and the result says so.
func TestTokensAreLimitedAtBarriers(t *testing.T) {
	for _, c := range []struct {
		limit, tokens, least, most int
		noted                      bool
	}{{900, 10, 85, 90, false}, {100, 10, 40, 60, true}, {900, 0, 40, 60, false}} {
		s := server(nil)
		say(t, s, startLine(10, fmt.Sprintf(`,"max_tokens":%d`, c.limit)))
		given := len(slices.Concat(spend(t, s, func(r protocol.Rollout) string { return completed(r, reward(r.Task, r.Number), c.tokens) })...))
		e := say(t, s, `{"type":"estimate"}`)
		if notes := e["notes"].([]any); given < c.least || given > c.most || e["rollouts"].(float64) != float64(given) || len(notes) > 0 != c.noted {
			t.Errorf("%+v: %d rollouts are given, notes %v, estimate %v", c, given, notes, e)
		}
	}
}

// TestRoundsHoldWhatIsGiven has one noisy task, and rounds that are too few for it.
func TestRoundsHoldWhatIsGiven(t *testing.T) {
	const rounds = 11
	s := server(nil)
	say(t, s, startLine(10, fmt.Sprintf(`,"ahead":false,"rounds":%d`, rounds)))
	used := 0
	for _, stage := range spend(t, s, func(r protocol.Rollout) string {
		if r.Task == "t5" {
			return completed(r, float64(r.Number%2), 0)
		}
		return completed(r, 1, 0)
	}) {
		counts, most := map[string]int{}, 0
		for _, r := range stage {
			counts[r.Task]++
			most = max(most, counts[r.Task])
		}
		used += most
	}
	if used > rounds {
		t.Errorf("%d rounds are taken, want %d at most", used, rounds)
	}
}

// TestSurplusIsListed lets speculation run far ahead: what will not count is listed once, with the
// last decision, is not given again, and is not in flight where the evaluation goes on.
func TestSurplusIsListed(t *testing.T) {
	s := server(nil)
	say(t, s, startLine(10, ""))
	next := func() []protocol.Rollout { return rolloutsIn(say(t, s, `{"type":"next","most":1000}`)["rollouts"]) }
	for flying := next(); len(flying) > 0; flying = append(flying[1:], next()...) {
		noted := say(t, s, completed(flying[0], reward(flying[0].Task, flying[0].Number), 0))
		if noted["surplus"] == nil {
			continue
		}
		surplus := rolloutsIn(noted["surplus"])
		if up := say(t, s, failed(surplus[0])); up["type"] != "noted" {
			t.Errorf("given up: %v", up)
		}
		given, left := next(), rolloutsIn(say(t, server(nil), `{"type":"resume","snapshot":`+snapshot(t, s)+`}`)["in_flight"])
		for _, r := range surplus {
			if slices.Contains(given, r) || slices.Contains(left, r) {
				t.Errorf("%v is given again, or in flight: %v, %v", r, given, left)
			}
		}
		return
	}
	t.Fatal("no rollout that was given ahead is surplus")
}

// The estimate by rewards of another scorer is under the allocation that there is.
func TestAnotherScorersEstimate(t *testing.T) {
	s := server(nil)
	say(t, s, startLine(6, ""))
	if early := say(t, s, `{"type":"estimate","rewards":[]}`); early["field"] != "rewards" {
		t.Errorf("before the end: %v", early)
	}
	reported := 0
	finish(t, s, 7, rand.New(rand.NewPCG(1, 2)), nil, never, &reported)
	own := say(t, s, `{"type":"estimate","tasks":true}`)
	by := func(other func(own float64) float64, left int) map[string]any {
		var all []string
		for _, row := range own["tasks"].([]any) {
			row := row.(map[string]any)
			id := row["task_id"].(string)
			for n := 1; n <= int(row["pilots"].(float64)+row["continuations"].(float64)); n++ {
				all = append(all, fmt.Sprintf(`{"task":%q,"rollout":%d,"reward":%v}`, id, n, other(reward(id, n))))
			}
		}
		return say(t, s, `{"type":"estimate","rewards":[`+strings.Join(all[left:], ",")+`]}`)
	}
	mean := own["mean"].(float64)
	if same := by(func(r float64) float64 { return r }, 0); same["mean"] != mean || same["standard_error"] != own["standard_error"] {
		t.Errorf("by the same rewards %v, want %v", same, own)
	}
	if contrary := by(func(r float64) float64 { return 1 - r }, 0)["mean"].(float64); math.Abs(contrary-(1-mean)) > 1e-12 || mean == 0.5 {
		t.Errorf("by the contrary %v, want 1 - %v", contrary, mean)
	}
	if graded := by(func(r float64) float64 { return r / 4 }, 0)["mean"].(float64); math.Abs(graded-mean/4) > 1e-12 {
		t.Errorf("by a quarter %v, want a quarter of %v", graded, mean)
	}
	for text, reply := range map[string]map[string]any{"counts and has none": by(func(r float64) float64 { return r }, 1), "want one reward from 0 to 1": by(func(r float64) float64 { return 2 }, 0)} {
		if message, _ := reply["message"].(string); reply["field"] != "rewards" || !strings.Contains(message, text) {
			t.Errorf("%v, want %q", reply, text)
		}
	}
	if again := say(t, s, `{"type":"estimate","tasks":true}`); !reflect.DeepEqual(again, own) {
		t.Error("the evaluation's own estimate changed")
	}
}

// TestFaultsNameTheirField sends what is wrong, and holds the session to what it was.
func TestFaultsNameTheirField(t *testing.T) {
	s := server(nil)
	if r := say(t, s, `{"type":"next","most":1}`); r["field"] != "type" {
		t.Errorf("before start: %v", r)
	}
	for line, field := range map[string]string{
		`{"type":"start","protocol":2,"tasks":["a","b"],"budget":8}`:                                                                                        "protocol",
		`{"type":"start","protocol":1,"tasks":["a"],"budget":8}`:                                                                                            "tasks",
		`{"type":"start","protocol":1,"tasks":["a",3],"budget":8}`:                                                                                          "tasks",
		`{"type":"start","protocol":1,"tasks":["a","b"],"budgte":8}`:                                                                                        "budgte",
		resumed(`"policy":"hbn_informed_staged"`, `"donors":[{"passes":[1],"rollouts":[1]}]`):                                                               "snapshot.setup",
		resumed(`"policy":"hbn_staged"`, `"extends":{"stages":[[],[]]}`):                                                                                    "snapshot.setup",
		resumed(`"policy":"hbn_staged"`, `"suite":[{"first":7,"n_tasks":9}]`):                                                                               "snapshot.setup",
		resumed(`"policy":"hbn_staged"`, `"stop":{"rollouts":5}`, `"shares":[1,1]`):                                                                         "setup",
		strings.Replace(resumed(`"policy":"hbn_staged"`), "[[1]", "[[1.5]", 1):                                                                              "reward",
		strings.Replace(resumed(`"policy":"hbn_staged"`, `"extends":{"stages":[[{"rollouts":2,"weight":1}],[{"rollouts":1,"weight":1}]]}`), "null", "1", 1): "rewards",
		strings.Replace(resumed(`"policy":"hbn_staged"`), `["a","b"]`, `["a","a"]`, 1):                                                                      "setup.task_ids",
		`{"type":"resume"}`:               "snapshot",
		`{"type":"resume","snapshot":{}}`: "snapshot.setup",
	} {
		if r := say(t, s, line); r["type"] != "error" || r["field"] != field {
			t.Errorf("%s: %v, want a fault of %s", line, r, field)
		}
	}
	say(t, s, startLine(3, ""), `{"type":"next","most":2}`, `{"type":"completed","task":"t0","rollout":1,"reward":0.5}`)
	before := say(t, s, `{"type":"snapshot"}`)
	for line, field := range map[string]string{
		startLine(3, ""): "type",
		`{"type":"completed","task":"t9","rollout":1,"reward":1}`:             "task",
		`{"type":"completed","task":"t1","rollout":1,"reward":1.01}`:          "reward",
		`{"type":"completed","task":"t1","rollout":1,"reward":-0.1}`:          "reward",
		`{"type":"completed","task":"t1","rollout":1}`:                        "reward",
		`{"type":"completed","task":"t1","rollout":1,"reward":"1"}`:           "reward",
		`{"type":"completed","task":"t1","rollout":1,"reward":1,"tokens":-1}`: "tokens",
		`{"type":"completed","task":"t1","rollout":1.5,"reward":1}`:           "rollout",
		`{"type":"completed","task":"t0","rollout":1,"reward":1}`:             "rollout",
		`{"type":"completed","task":"t2","rollout":1,"reward":1}`:             "rollout",
		`{"type":"completed","task":"t1","rollout":-1,"reward":1}`:            "rollout",
		`{"type":"completed","task":"t1","rollout":9e15,"reward":1}`:          "rollout",
		`{"type":"failed","task":"t2","rollout":1}`:                           "rollout",
		`{"type":"next"}`:                     "most",
		`{"type":"next","most":0}`:            "most",
		`{"type":"nxet","most":1}`:            "type",
		`{"most":1}`:                          "type",
		`[]`:                                  "line",
		`{"type":"next","most":1,"most":2}`:   "most",
		``:                                    "line",
		`{"type":"next","most":1}{`:           "line",
		"{\"type\":\"\xff\"}":                 "line",
		`{"type":"next","most":1,"reward":1}`: "reward",
	} {
		if r := say(t, s, line); r["type"] != "error" || r["field"] != field {
			t.Errorf("%q: %v, want a fault of %s", line, r, field)
		}
	}
	if r := say(t, s, `[]`); r["message"] != "it is no JSON object, but [" {
		t.Errorf("a list: %v", r)
	}
	if after := say(t, s, `{"type":"snapshot"}`); !reflect.DeepEqual(after, before) {
		t.Errorf("faults have changed the session from\n%v\nto\n%v", before, after)
	}
}

// resumed is a resume of two tasks with some fields of its setup.
func resumed(fields ...string) string {
	return `{"type":"resume","snapshot":{"protocol":1,"setup":{"budget":3,"design":{"pilots":1,"weight":0.3},"task_ids":["a","b"],` +
		strings.Join(fields, ",") + `},"rewards":[[1],[null]]}}`
}

// TestAResumeThatFailsLeavesNothing sends one that cannot be, and then begins.
func TestAResumeThatFailsLeavesNothing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	s := server(kept(folder))
	if r := say(t, s, strings.Replace(resumed(`"policy":"hbn_staged"`), "[[1]", "[[1.5]", 1)); r["type"] != "error" {
		t.Fatal(r)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("a folder was made for it")
	}
	if r := say(t, s, startLine(3, "")); r["resumed"] != false || r["completed"] != 0.0 {
		t.Errorf("%v", r)
	}
}

// TestAFolderKeepsOneEvaluation asks a folder for another one.
func TestAFolderKeepsOneEvaluation(t *testing.T) {
	folder := t.TempDir()
	say(t, server(kept(folder)), startLine(3, ""), `{"type":"next","most":2}`)
	if r := say(t, server(kept(folder)), startLine(4, "")); r["type"] != "error" || !strings.Contains(r["message"].(string), "other tasks") {
		t.Errorf("with other tasks: %v", r)
	}
	if r := say(t, server(kept(folder)), strings.Replace(startLine(3, ""), `"budget":8`, `"budget":9`, 1)); r["type"] != "error" {
		t.Errorf("with another budget: %v", r)
	}
	if r := say(t, server(kept(folder)), startLine(3, "")); len(r["in_flight"].([]any)) != 2 {
		t.Errorf("again: %v", r)
	}
}

// TestLinesFromOutside serves a stream with lines of every kind.
func TestLinesFromOutside(t *testing.T) {
	in := startLine(3, "") + "\n{\n" + `{"type":"next","most":1}` + "\n" + strings.Repeat("x", 65<<20) + "\n"
	var out strings.Builder
	if err := server(nil).Serve(strings.NewReader(in), &out); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("a message without end: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], `"field":"line"`) || !strings.Contains(lines[2], `"task":"t0"`) {
		t.Errorf("replies are %.300q", lines)
	}
	out.Reset()
	if err := server(nil).Serve(strings.NewReader(`{"type":"ne`), &out); err != nil || !strings.Contains(out.String(), `"field":"line"`) {
		t.Errorf("a message that was cut off: %v, %s", err, out.String())
	}
}

func FuzzReply(f *testing.F) {
	for _, line := range []string{
		`{"type":"next","most":3}`, `{"type":"completed","task":"t0","rollout":1,"reward":1}`, `{"type":"estimate"}`,
		`{"type":"snapshot"}`, `{"type":"failed","task":"t0","rollout":1}`, `{"type":"resume","snapshot":{"protocol":1,"setup":{"policy":"uniform"},"rewards":[[1,null]]}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, begun := range []bool{false, true} {
			s := server(nil)
			if begun {
				say(t, s, startLine(3, ""), `{"type":"next","most":2}`)
			}
			if reply, err := s.Reply(line); err == nil {
				if _, err := json.Marshal(reply); err != nil {
					t.Errorf("the reply to %q: %v", line, err)
				}
			}
		}
	})
}
