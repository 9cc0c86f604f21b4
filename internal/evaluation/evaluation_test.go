package evaluation_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"speceval/internal/benchmark/sampler"
	"speceval/internal/evaluation"
	"speceval/internal/evaluation/ledger"
	"speceval/internal/policy"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
	"speceval/method/estimate"
)

var quiz = []float64{0, 0.1, 0.5, 0.9, 1, 0.3, 0.6, 0.97, 0.5, 0.02}

func read[T any](t *testing.T, l *lab, name string) []T {
	t.Helper()
	rows, footer, err := rowfile.ReadFile[T](filepath.Join(l.settings.Folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if footer["speceval.schema"] == "" || len(footer["speceval.key"]) != 64 || footer["speceval.commit"] != "c" {
		t.Errorf("%s has the footer %v", name, footer)
	}
	return rows
}

// outcome is what of a result must not depend on how it came about.
func outcome(r *evaluation.Result) string {
	return fmt.Sprint(r.Estimate, r.StandardError, r.Interval, r.Uniform, r.Rollouts, r.Rows, r.Tokens.Prompt, r.Tokens.Completion)
}

func TestFilesHoldWhatTheResultSays(t *testing.T) {
	for _, policy := range policy.ExecutionNames() {
		t.Run(policy, func(t *testing.T) {
			l := newLab(t, policy, 8, 3, quiz...)
			r := l.run()
			if r.Rollouts != 80 || r.Tasks != 10 || r.Sessions != 1 || r.Lost != 0 || r.Provenance != "measured" {
				t.Errorf("%+v", r)
			}
			selected := recount(t, l, r)
			if selected != 80 {
				t.Errorf("%d rollouts count, want 80", selected)
			}
			if policy == "uniform" && (r.Extra > 0 || len(l.asked) != 80) {
				t.Errorf("%d extra rollouts, %d requests", r.Extra, len(l.asked))
			}
			again, err := evaluation.ReadResult(filepath.Join(l.settings.Folder, evaluation.ResultFile))
			if err != nil || !reflect.DeepEqual(again, r) {
				t.Errorf("stored %+v, returned %+v, %v", again, r, err)
			}
			if left, _ := filepath.Glob(filepath.Join(l.settings.Folder, "*.journal")); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// verdicts are those of scores.parquet, with their rewards.
func verdicts(t *testing.T, l *lab) (all []rollout.Score) {
	t.Helper()
	for s, err := range rollout.Scores(filepath.Join(l.settings.Folder, "scores.parquet")) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *s)
	}
	return all
}

// recount works the estimate out from the files alone, and checks the requests
// against them.
func recount(t *testing.T, l *lab, r *evaluation.Result) (selected int) {
	t.Helper()
	rollouts, scores := read[rollout.Rollout](t, l, "rollouts.parquet"), verdicts(t, l)
	requests, tasks := read[evaluation.Request](t, l, "requests.parquet"), read[evaluation.Task](t, l, "tasks.parquet")
	for i, task := range r.Rows {
		stages := task.Stages
		if task.Stages = nil; !reflect.DeepEqual(tasks[i], task) {
			t.Errorf("tasks.parquet has %v, the result %v", tasks[i], task)
		}
		tasks[i].Stages = stages
	}
	rewards := make(map[rollout.ID]float64)
	at := 0
	for _, s := range scores {
		for at < len(rollouts) && rollouts[at].ID() != s.ID() {
			at++ // surplus of an earlier session, which nobody has asked for again, has no verdict
		}
		if at == len(rollouts) {
			t.Fatalf("the verdict on %v is out of order, or on no rollout", s.ID())
		}
		rewards[s.ID()] = s.Reward()
	}
	want := 0.0
	for i, task := range tasks {
		n := int32(0)
		for _, stage := range task.Stages {
			for range stage.Rollouts {
				reward, there := rewards[rollout.ID{Task: int32(i), Rollout: n}]
				if !there {
					t.Fatalf("rollout %d of task %d is not there", n, i)
				}
				want += reward * stage.Weight / float64(stage.Rollouts) / float64(len(tasks))
				n++
				selected++
			}
		}
		if n != task.Pilots+task.Continuations {
			t.Errorf("task %d has %d rollouts in stages, %d and %d in all", i, n, task.Pilots, task.Continuations)
		}
	}
	if math.Abs(r.Estimate-want) > 1e-12 {
		t.Errorf("estimate %v, by the files %v", r.Estimate, want)
	}
	accepted, extra := 0, 0
	if x := l.settings.Setup.Extends; x != nil {
		for _, stages := range x.Stages {
			for _, s := range stages {
				accepted += s.Rollouts // asked by the evaluation that is extended
			}
		}
	}
	for _, q := range requests {
		switch q.State {
		case "accepted":
			accepted++
		case "completed_discarded", "aborted_running":
			extra++
		}
	}
	if accepted != selected || extra != r.Extra {
		t.Errorf("%d requests count and %d are extra, want %d and %d", accepted, extra, selected, r.Extra)
	}
	return selected
}

// A stop at any moment, by a signal or a kill, changes nothing but what it cost.
func TestInterruptedEvaluationsEndTheSame(t *testing.T) {
	for _, policy := range policy.ExecutionNames() {
		whole := newLab(t, policy, 8, 3, quiz...)
		want := outcome(whole.run())
		random := rand.New(rand.NewPCG(2, 3))
		for range 6 {
			l := newLab(t, policy, 8, 3, quiz...)
			stops, sent, kept := 0, 0, map[string]bool{} // rollouts that were answered
			for r := (*evaluation.Result)(nil); r == nil; stops++ {
				ctx, kill := context.WithCancel(t.Context())
				drain := make(chan struct{})
				l.settings.Drain = drain
				at, hard := 1+random.IntN(30), random.IntN(2) == 0
				l.fail = func(n int, _ vllm.Request) error {
					if n == at && stops < 5 {
						if hard {
							kill()
						} else {
							close(drain)
						}
					}
					return nil
				}
				result, err := evaluation.Run(ctx, l.settings)
				kill()
				var paused *evaluation.PausedError
				if err != nil && !errors.As(err, &paused) {
					t.Fatal(err)
				}
				for _, q := range l.asked {
					if kept[q.ID] {
						t.Errorf("%s is asked again", q.ID)
					}
				}
				if paused != nil && !hard { // all that was asked is answered
					for _, q := range l.asked {
						kept[q.ID] = true
					}
					if !errors.Is(paused, evaluation.ErrStopped) || paused.Kept < len(kept) || paused.All != 80 {
						t.Errorf("%+v after %d answers", paused, len(kept))
					}
				}
				sent += len(l.asked)
				l.calm()
				r = result
				if r == nil {
					continue
				}
				if got := outcome(r); got != want {
					t.Errorf("%s after %d stops: %s\nwant %s", policy, stops, got, want)
				}
				recount(t, l, r)
				rows := read[evaluation.Request](t, l, "requests.parquet")
				if len(rows) != sent {
					t.Errorf("%d requests are recorded, %d were sent", len(rows), sent)
				}
			}
		}
	}
}

// A pause names what was asked for, and not what that did to requests under way: of both,
// either may be heard of first.
func TestAPauseNamesItsCause(t *testing.T) {
	for want, ends := range map[error]error{evaluation.ErrStopped: vllm.ErrStopped, context.Canceled: context.Canceled} {
		for range 20 {
			l := newLab(t, "hbn-async", 8, 3, quiz...)
			ctx, cancel := context.WithCancel(t.Context())
			drain := make(chan struct{})
			l.settings.Drain = drain
			var once sync.Once
			l.fail = func(n int, _ vllm.Request) error {
				if n < 5 {
					return nil
				}
				once.Do(func() {
					if want == context.Canceled {
						cancel()
					} else {
						close(drain)
					}
				})
				return ends
			}
			if paused := l.paused(ctx, "paused"); !errors.Is(paused, want) {
				t.Fatalf("%v, want %v", paused, want)
			}
			cancel()
			l.calm()
			l.settings.Drain = nil
			l.run()
			for _, r := range read[evaluation.Request](t, l, "requests.parquet") {
				if r.State == "faulty" {
					t.Fatalf("%+v", r)
				}
			}
		}
	}
}

func TestAScorerThatFailsPauses(t *testing.T) {
	l := newLab(t, "hbn-async", 8, 3, quiz...)
	l.unable = func(n int) error {
		if n > 20 {
			return errors.New("the judge is out")
		}
		return nil
	}
	paused := l.paused(t.Context(), "the judge is out")
	if paused.Kept < 20 || !strings.Contains(paused.Error(), "the same command goes on") {
		t.Errorf("%v", paused)
	}
	before := len(l.asked)
	l.calm()
	r := l.run()
	if want := outcome(newLab(t, "hbn-async", 8, 3, quiz...).run()); outcome(r) != want {
		t.Errorf("%s\nwant %s", outcome(r), want)
	}
	if l.scored < len(l.asked)+paused.Kept-20-r.Extra { // surplus need not be
		t.Errorf("%d answers scored, %d of them new, after %d of which 20 were", l.scored, len(l.asked), before)
	}
}

// A scorer that is slow delays the allocation by the pilots alone.
func TestPilotsAreScoredFirst(t *testing.T) {
	l := newLab(t, "hbn-async", 8, 3, quiz...)
	var order []int32
	score := l.settings.Score
	l.settings.Score = func(ctx context.Context, r *rollout.Response) (*rollout.Score, error) {
		l.mu.Lock()
		order = append(order, r.Rollout)
		l.mu.Unlock()
		return score(ctx, r)
	}
	l.run()
	for i, n := range order {
		if pilot := n < 3; pilot != (i < 30) {
			t.Fatalf("rollout %d of a task is scored as number %d, pilots are 30", n, i)
		}
	}
}

func TestServersThatFailPause(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		most int // requests that may fail before the pause
		want string
	}{
		"outage":      {errors.New("no replica is alive"), 7, "no replica is alive"},
		"a refusal":   {&vllm.Error{Kind: vllm.Rejected, Message: "the prompt is too long"}, 7, "task t"},
		"another key": {&vllm.Error{Kind: vllm.Unauthorized}, 7, "key"},
		"garbage":     {&vllm.Error{Kind: vllm.Garbage, Message: "no JSON"}, 40, "no JSON"},
	} {
		l := newLab(t, "hbn-async", 8, 3, quiz...)
		failed := 0
		l.fail = func(n int, _ vllm.Request) error {
			if n <= 30 {
				return nil
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			failed++
			return tt.err
		}
		if paused := l.paused(t.Context(), tt.want); paused.Kept != 30 || failed > tt.most {
			t.Errorf("%s: %d rollouts kept, want 30, after %d failures", name, paused.Kept, failed)
		}
		l.calm()
		if r := l.run(); r.Sessions != 2 || r.Lost != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A single fault of an answer is mended by asking again.
func TestAnAnswerThatIsNoneIsAskedForAgain(t *testing.T) {
	l := newLab(t, "uniform", 4, 4, quiz...)
	l.fail = func(n int, _ vllm.Request) error {
		if n%5 == 0 {
			return &vllm.Error{Kind: vllm.Garbage, Message: "no JSON"}
		}
		return nil
	}
	r := l.run()
	if recount(t, l, r) != 40 || len(l.asked) != 49 { // every fifth but the last failed
		t.Errorf("%d requests", len(l.asked))
	}
}

// Other rules score what is there again, before anything more is allocated.
func TestOtherRulesScoreAgain(t *testing.T) {
	l := newLab(t, "hbn-async", 8, 3, quiz...)
	l.unable = func(n int) error {
		if n > 25 {
			return errors.New("pause")
		}
		return nil
	}
	l.paused(t.Context(), "pause")
	l.calm()
	l.settings.Rules = "r2"
	r := l.run()
	if r.Rules != "r2" || !reflect.DeepEqual(r.Scored, []string{"by eye r2"}) {
		t.Errorf("rules %s, scorers %v", r.Rules, r.Scored)
	}
	recount(t, l, r)
}

func TestTheSetupIsKept(t *testing.T) {
	l := newLab(t, "hbn-async", 8, 3, quiz...)
	l.fail = func(int, vllm.Request) error { return errors.New("no server") }
	l.paused(t.Context(), "no server")
	l.calm()
	for want, change := range map[string]func(s *evaluation.Setup){
		"other prompts (p1, now p2)":         func(s *evaluation.Setup) { s.Asked = map[string]string{"prompts": "p2", "sampling.temperature": "0.6"} },
		"other sampling.temperature (0.6, n": func(s *evaluation.Setup) { s.Asked = map[string]string{"prompts": "p1", "sampling.temperature": "0.7"} },
		"other tasks (10, now 9)":            func(s *evaluation.Setup) { s.TaskIDs = s.TaskIDs[:9] },
	} {
		s := l.settings
		change(&s.Setup)
		if _, err := evaluation.Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--seed") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if len(l.asked) > 0 {
		t.Errorf("%d requests of evaluations that are refused", len(l.asked))
	}
}

func TestSetupsThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(s *evaluation.Setup){
		"one task":          func(s *evaluation.Setup) { s.TaskIDs = s.TaskIDs[:1] },
		"budget 1":          func(s *evaluation.Setup) { s.Budget = 1 },
		"no such policy":    func(s *evaluation.Setup) { s.Policy = "best" },
		"pilot too long":    func(s *evaluation.Setup) { s.Design.Pilots = 8 },
		"no pilot":          func(s *evaluation.Setup) { s.Design.Pilots = 0 },
		"weight 0":          func(s *evaluation.Setup) { s.Design.Weight = 0 },
		"weight of uniform": func(s *evaluation.Setup) { s.Policy = "uniform" },
	} {
		l := newLab(t, "hbn-async", 8, 3, quiz...)
		change(&l.settings.Setup)
		if _, err := evaluation.Run(t.Context(), l.settings); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A line that a disk has spoilt is asked for again, and told of.
func TestDamagedLinesAreToldOf(t *testing.T) {
	l := newLab(t, "uniform", 4, 4, quiz...)
	l.fail = func(n int, _ vllm.Request) error {
		if n > 20 {
			return &vllm.Error{Kind: vllm.Unauthorized, Message: "pause"}
		}
		return nil
	}
	l.paused(t.Context(), "pause")
	path := filepath.Join(l.settings.Folder, "rollouts.journal")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[strings.Index(string(text[len(text)/2:]), "quiz")+len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := sampler.RemovePartials(l.settings.Folder); err != nil { // which has it, too
		t.Fatal(err)
	}
	l.calm()
	said := ""
	l.settings.Say = func(message string) { said += message }
	r := l.run()
	if !strings.Contains(said, "1 damaged") || len(l.asked) != 21 {
		t.Errorf("said %q, %d requests", said, len(l.asked))
	}
	if got := r.Losses; got.AskedAgain != 1 || math.Abs(got.WorstCase-1.0/40) > 1e-12 || got.Continued != 0 {
		t.Errorf("losses %+v, want the one rollout", got)
	}
	recount(t, l, r)
}

func TestRescoringKeepsTheAllocation(t *testing.T) {
	l := newLab(t, "hbn-async", 8, 3, quiz...)
	l.lateBarrier(len(quiz)*8 - 1)
	r := l.run()
	if r.Extra == 0 {
		t.Fatal("no surplus that could be counted")
	}
	lenient := l.settings
	lenient.Rules = "r3"
	lenient.Score = func(ctx context.Context, a *rollout.Response) (*rollout.Score, error) {
		s, err := l.score(ctx, a)
		s.Correct = s.Correct || a.TaskIndex == 0
		return s, err
	}
	again, err := evaluation.Rescore(t.Context(), lenient, l.open(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, task := range again.Rows {
		was := r.Rows[i]
		if task.Pilots != was.Pilots || task.Continuations != was.Continuations {
			t.Errorf("task %d: %+v, was %+v", i, task, was)
		}
		if i == 0 {
			was.PilotPasses, was.ContinuationPasses = was.Pilots, was.Continuations
		}
		if task.PilotPasses != was.PilotPasses || task.ContinuationPasses != was.ContinuationPasses {
			t.Errorf("task %d: %+v, want the passes of %+v", i, task, was)
		}
	}
	if want := r.Estimate + 0.1; math.Abs(again.Estimate-want) > 1e-12 || again.Rules != "r3" {
		t.Errorf("estimate %v, want %v", again.Estimate, want)
	}
	recount(t, l, again)
	stored, err := evaluation.ReadResult(filepath.Join(l.settings.Folder, evaluation.ResultFile))
	if err != nil || !reflect.DeepEqual(stored, again) {
		t.Errorf("stored %+v, %v", stored, err)
	}
	lenient.Score = func(context.Context, *rollout.Response) (*rollout.Score, error) { return nil, errors.New("no sandbox") }
	if _, err := evaluation.Rescore(t.Context(), lenient, l.open(), 3); err == nil || !strings.Contains(err.Error(), "no sandbox") {
		t.Errorf("error %v", err)
	}
	if after, _ := evaluation.ReadResult(filepath.Join(l.settings.Folder, evaluation.ResultFile)); !reflect.DeepEqual(after, again) {
		t.Error("a rescore that failed has changed the result")
	}
}

// Surplus is aborted, and its state says whether any of it was seen.
func TestSurplusThatRunsIsAborted(t *testing.T) {
	for _, seen := range []bool{true, false} {
		l := newLab(t, "hbn-async", 40, 3, quiz...)
		l.places, l.held, l.mute = 400, true, !seen
		l.run()
		count := map[string]int{}
		for _, q := range read[evaluation.Request](t, l, "requests.parquet") {
			count[q.State]++
			if q.State == "aborted_running" && (q.AbortedTokens == nil || *q.AbortedTokens != 1 || q.CompletionTokens != 0) {
				t.Errorf("%+v", q)
			}
		}
		if seen && (count["aborted_running"] == 0 || count["cancelled_queued"] > 0) || !seen && (count["aborted_running"] > 0 || count["cancelled_queued"] == 0) {
			t.Errorf("seen %t: states %v", seen, count)
		}
	}
}

// A server that gives every task one answer has no rollouts.
func TestOneAnswerToAllSeedsIsToldOf(t *testing.T) {
	same := newLab(t, "uniform", 4, 4, 1, 1, 1).run()
	if len(same.Notes) != 1 || !strings.Contains(same.Notes[0], "in the same words") {
		t.Errorf("notes %q", same.Notes)
	}
	if varied := newLab(t, "uniform", 4, 4, 1, 1, 0.5).run(); len(varied.Notes) > 0 {
		t.Errorf("notes %q", varied.Notes)
	}
}

func TestProgressIsTold(t *testing.T) {
	l := newLab(t, "hbn-async", 8, 3, quiz...)
	var last evaluation.Progress
	l.settings.Watch = func(p evaluation.Progress) { last = p }
	l.settings.Setup.Price = &ledger.Price{Prompt: 1, Completion: 2}
	r := l.run()
	want := evaluation.Progress{Pilots: 30, AllPilots: 30, Continuations: last.Continuations, AllContinuations: 50, Mean: last.Mean, Tokens: last.Tokens, Dollars: last.Dollars,
		At: last.At, Stage: 2, Tasks: last.Tasks}
	if m := last.Mean; m == nil || math.Abs(m.Value-r.Estimate) > 1e-9 || math.Abs(m.StandardError-r.StandardError) > 1e-9 {
		t.Errorf("a mean of %+v at the end, the result has %v ± %v", m, r.Estimate, r.StandardError)
	}
	if all := r.Tokens.Completion + r.Tokens.Wasted; last.Tokens != all || math.Abs(last.Dollars-r.Cost.Dollars) > 1e-9 {
		t.Errorf("%d tokens and %v dollars at the end, the result has %d and %v", last.Tokens, last.Dollars, all, r.Cost.Dollars)
	}
	for i, row := range r.Rows {
		all := estimate.Sum(row.Stages)
		n, rewards := all.Rollouts, all.Rewards
		if got := last.Tasks[i]; got.Selected != n || got.Scored < n || got.Scored == n && got.Rewards != rewards {
			t.Errorf("%s is %+v, the result has %v of %d", row.ID, got, rewards, n)
		}
	}
	if _, err := evaluation.ReadProgress(l.settings.Folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the progress of a complete evaluation: %v", err)
	}
	if !reflect.DeepEqual(last, want) || last.Continuations < 50 || last.Continuations > 50+r.Extra {
		t.Errorf("%+v, want %+v and 50 continuations or a few more", last, want)
	}
}

// TestErrorIsByDonors has one that knows which tasks are hopeless: the error is less than
// by the rollouts alone, also that of a part. Of a part that it has no rollouts of it says
// nothing.
func TestErrorIsByDonors(t *testing.T) {
	for _, rollouts := range []int{64, 0} { // of the second part
		l := newLab(t, "hbn_informed_staged", 8, 2, 0, 0, 0, 0.5, 0.5, 0.5)
		l.settings.Setup.Suite = []evaluation.Part{{Benchmark: "first", First: 0, Tasks: 4, Weight: 0.5}, {Benchmark: "second", First: 4, Tasks: 2, Weight: 0.5}}
		l.settings.Setup.Donors[0].Counts = evaluation.Counts{Passes: []int{0, 0, 0, 32, rollouts / 2, rollouts / 2}, Rollouts: []int{64, 64, 64, 64, rollouts, rollouts}}
		r := l.run()
		var alone []float64
		var tasks []estimate.Task
		for _, row := range r.Rows {
			tasks = append(tasks, estimate.Task{Stages: row.Stages, Share: row.Share})
		}
		for _, part := range [][]estimate.Task{tasks, tasks[:4], tasks[4:]} {
			m, err := estimate.Of(l.settings.Prior, part)
			if err != nil {
				t.Fatal(err)
			}
			alone = append(alone, m.StandardError)
		}
		if r.StandardError >= 0.99*alone[0] || r.Suite[0].StandardError >= 0.99*alone[1] {
			t.Errorf("errors of %v, %v in the first part, by the rollouts alone %v", r.StandardError, r.Suite[0].StandardError, alone)
		}
		if same := math.Abs(r.Suite[1].StandardError/alone[2]-1) < 1e-3; same != (rollouts == 0) {
			t.Errorf("an error of %v in the second part, by the rollouts alone %v, with a donor of %d rollouts", r.Suite[1].StandardError, alone[2], rollouts)
		}
	}
}
