package generate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/benchmark/sampler"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
	"speceval/stages/generate"
)

func TestEveryRolloutIsAskedForOnce(t *testing.T) {
	l := newLab(t, 3, 3000) // two parts, the second one short
	l.settings.Benchmarks[0].Tasks[1].SystemPrompt = "be brief"
	l.asks(9000)
	rows := l.wantWhole()
	want := rollout.Rollout{
		Benchmark: "quiz", Model: "m", TaskIndex: 1, TaskID: "t1", Rollout: 0, Seed: rows[3000].Seed,
		PromptTokens: 3, CompletionTokens: 5, ReasoningTokens: new(int32), FinishReason: "stop", Text: "answer to question 1", Server: "http://a:1", LatencySeconds: 1.5,
	}
	if !reflect.DeepEqual(rows[3000], want) {
		t.Errorf("row %+v, want %+v", rows[3000], want)
	}
	_, footer, err := rowfile.ReadFile[rollout.Rollout](l.file(part(1)))
	if err != nil || footer["speceval.schema"] != rollout.Schema || len(footer["speceval.key"]) != 64 ||
		footer["speceval.commit"] == "" || footer["speceval.vllm"] != "0.23.0" || footer["speceval.provenance"] != "measured" {
		t.Errorf("footer %v, %v", footer, err)
	}
	at := slices.IndexFunc(l.asked, func(r vllm.Request) bool { return r.ID == "quiz/m/t1/7" })
	asked := vllm.Request{
		Sampling: vllm.Sampling{Model: "served-m", Temperature: 0.6, TopP: 0.95, MaxTokens: 100},
		ID:       "quiz/m/t1/7", Seed: rows[3007].Seed, Messages: []vllm.Message{{Role: "system", Content: "be brief"}, {Role: "user", Content: "question 1"}},
	}
	if at < 0 || !reflect.DeepEqual(l.asked[at], asked) {
		t.Errorf("asked %+v, want %+v", l.asked[at], asked)
	}
	l.asks(0)
}

// A task may be called anything; the id of a request goes into a header.
func TestTasksOfAnyNameAreAsked(t *testing.T) {
	l := newLab(t, 1, 2)
	l.settings.Benchmarks[0].Tasks[0].ID = "Straße 1/ü\n"
	l.answer = func(n int, r vllm.Request) (vllm.Completion, error) {
		if strings.ContainsFunc(r.ID, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return vllm.Completion{}, &vllm.Error{Kind: vllm.Rejected, Message: "no header: " + r.ID}
		}
		return echo(n, r)
	}
	l.run()
	if rows := l.rows(); len(rows) != 2 || rows[1].TaskID != "Straße 1/ü\n" || rows[0].Seed == rows[1].Seed {
		t.Errorf("rows %+v", rows)
	}
}

// The seeds must never change: rollouts already sampled would be sampled again.
func TestSeedsDependOnNamesAlone(t *testing.T) {
	l := newLab(t, 3, 2)
	l.run()
	first := l.rows()
	more := newLab(t, 5, 4)
	more.settings.Models = append([]generate.Model{{ID: "other", Sampling: vllm.Sampling{Model: "x"}}}, more.settings.Models...)
	more.try(false)
	for i, r := range more.rows() {
		if r.TaskIndex < 3 && r.Rollout < 2 && r.Seed != first[int(r.TaskIndex)*2+int(r.Rollout)].Seed {
			t.Errorf("row %d: the seed of %s has changed", i, r.ID())
		}
	}
	if got, want := first[3].Seed, int64(9046018122925091671); got != want {
		t.Errorf("seed of rollout 1 of t1 is %d, want %d", got, want)
	}
}

var errOutage = fmt.Errorf("pool: %w", pool.ErrOutage)

// until answers the first requests of a run, before an outage.
func until(most int, answer func(int, vllm.Request) (vllm.Completion, error)) func(int, vllm.Request) (vllm.Completion, error) {
	return func(n int, r vllm.Request) (vllm.Completion, error) {
		if n > most {
			return vllm.Completion{}, errOutage
		}
		return answer(n, r)
	}
}

func TestStoppedRunsGoOn(t *testing.T) {
	const most = 4200 // requests of a run: the second one stops after the first part, within the other
	l := newLab(t, 3, 3000)
	sent := make(map[string]int)
	for stop := 1; ; stop++ {
		l.answer = until(most, echo)
		n, err := l.try(false)
		for _, r := range l.asked[:min(n, most)] {
			sent[r.ID]++
		}
		if err == nil {
			break
		}
		if !errors.Is(err, pool.ErrOutage) || n > most+50 || stop > 3 {
			t.Fatalf("stop %d after %d requests: %v", stop, n, err)
		}
		if _, err := os.Stat(l.file(part(0))); err == nil {
			if left, _ := filepath.Glob(l.file("scratch/generate/quiz/m/*/part-0000.journal")); len(left) > 0 {
				t.Errorf("%v is left of a part that is written", left)
			}
		}
		if got, want := len(sent), stop*most; got != want {
			t.Fatalf("%d different rollouts after stop %d, want %d", got, stop, want)
		}
	}
	l.wantWhole()
	for id, n := range sent {
		if n != 1 {
			t.Errorf("%s was sampled %d times", id, n)
		}
	}
}

// TestADrainEndsTheUnit ends with what is under way, waits for a place, and the wait for
// servers. A second run asks for the rest.
func TestADrainEndsTheUnit(t *testing.T) {
	for _, wait := range []string{"", "place", "servers"} {
		l := newLab(t, 2, 1000)
		drain := make(chan struct{})
		l.drain = drain
		l.answer = func(n int, r vllm.Request) (vllm.Completion, error) {
			if n == 100 {
				close(drain)
			}
			if n >= 100 && wait == "place" {
				return vllm.Completion{}, fmt.Errorf("given up: %w", vllm.ErrStopped)
			}
			return echo(n, r)
		}
		if wait == "servers" {
			l.settings.Servers = func(_ context.Context, _ string, drain <-chan struct{}) (generate.Servers, error) {
				close(l.drain)
				<-drain
				return nil, context.Canceled
			}
		}
		n, err := l.try(false)
		var run *dag.Error
		if !errors.As(err, &run) || !run.Interrupted || len(run.Failures) > 0 || n > 1000 {
			t.Fatalf("%s: after %d requests: %v", wait, n, err)
		}
		if wait == "place" {
			n = 99 // the others had no place
		}
		l.drain, l.answer, l.settings.Servers = nil, echo, l.servers
		l.asks(2000 - n)
		l.wantWhole()
	}
}

func TestAnyStopBetweenJournalAndPartIsHealed(t *testing.T) {
	l := newLab(t, 1, 10)
	l.answer = until(9, echo)
	l.fails(false)
	journals, _ := filepath.Glob(l.file("scratch/generate/quiz/m/*/part-0000.journal"))
	if len(journals) != 1 {
		t.Fatalf("journals %v", journals)
	}
	old := must(os.ReadFile(journals[0]))
	l.answer = echo
	l.asks(1)
	first := l.wantWhole()

	// As if the kill had come after the part was written, before the journal
	// was removed and the manifest written.
	os.MkdirAll(filepath.Dir(journals[0]), 0o777)
	ok(t, errors.Join(os.WriteFile(journals[0], old, 0o666), os.Remove(l.file("manifests/generate/quiz/m.json"))))
	l.asks(0)
	if !reflect.DeepEqual(first, l.wantWhole()) {
		t.Error("the part has changed")
	}
}

// A part whose bytes have changed is sampled again, by the digest in its manifest or in the note
// beside the journals of a run that was cut short.
func TestADamagedPartIsNotKept(t *testing.T) {
	l := newLab(t, 3, 3000) // two parts, of 8192 and 808 rollouts
	l.run()
	first := l.wantWhole()
	part := l.file("generate/benchmark=quiz/model=m/part-0001.parquet")
	damage := func() { // in a way that can be read
		t.Helper()
		rows, footer, err := rowfile.ReadFile[rollout.Rollout](part)
		if err != nil {
			t.Fatal(err)
		}
		rows[7].Text += "?"
		var b bytes.Buffer
		ok(t, rowfile.Write(&b, rows, footer))
		ok(t, os.WriteFile(part, b.Bytes(), 0o666))
	}
	for range 2 { // the second time a damaged one could be taken back
		damage()
		l.asks(808) // of the damaged part
		if !reflect.DeepEqual(first, l.wantWhole()) {
			t.Fatal("rollouts have changed")
		}
	}

	l.settings.Config = map[string]string{"sampling.temperature": "0.7"}
	l.stopAt(first[8999])
	part = l.file("generate/benchmark=quiz/model=m/part-0000.parquet")
	damage()
	for _, log := range must(filepath.Glob(l.file("scratch/generate/quiz/m/*/" + sampler.PartialsName))) { // which has the answers, too
		ok(t, os.Remove(log))
	}
	l.asks(8193) // the first part, and one
	l.wantWhole()
}

// A part of settings that were tried and given up is found again, though its place
// is that of a part that a manifest of other settings has recorded.
func TestAPartOfOtherSettingsIsNotTakenForDamage(t *testing.T) {
	l := newLab(t, 3, 3000)
	l.run()
	first := l.wantWhole()
	l.settings.Config = map[string]string{"sampling.temperature": "0.7"}
	l.stopAt(first[8999])
	l.settings.Config = map[string]string{"sampling.temperature": "0.6"}
	if n, err := l.try(false); n != 0 || err != nil || !reflect.DeepEqual(first, l.rows()) {
		t.Errorf("%d requests for what was there before, %v", n, err)
	}
	l.settings.Config = map[string]string{"sampling.temperature": "0.7"}
	l.asks(1)
	l.wantWhole()
}

func TestACompleteJournalNeedsNoServer(t *testing.T) {
	l := newLab(t, 1, 8200) // its second part is there
	l.run()
	rows := l.rows()
	manifest := must(os.ReadFile(l.file("manifests/generate/quiz/m.json")))
	key := string(manifest[strings.Index(string(manifest), `"key": "`)+8:][:8])
	ok(t, errors.Join(os.Remove(l.file("manifests/generate/quiz/m.json")), os.Remove(l.file(part(0)))))
	dir := l.file("scratch/generate/quiz/m/" + key)
	ok(t, os.MkdirAll(dir, 0o777))
	journal, _, err := rollout.OpenJournal(filepath.Join(dir, "part-0000.journal"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8192 { // in another order, as they may arrive
		ok(t, journal.Append(&rows[8191-i]))
	}
	journal.Close()
	l.settings.Servers = nil // any call would panic
	if n := l.run(); n != 0 || !reflect.DeepEqual(rows, l.wantWhole()) {
		t.Errorf("%d requests", n)
	}
	if moved, _ := os.Stat(l.file("superseded")); moved != nil {
		t.Error("the part that was there made room")
	}
}

func rejected(n int, r vllm.Request) (vllm.Completion, error) {
	if strings.Contains(r.Messages[0].Content, "question 1") {
		return vllm.Completion{}, &vllm.Error{Kind: vllm.Rejected, Status: 400, Message: "the prompt is too long"}
	}
	return echo(n, r)
}

func TestARefusedTaskStopsNoOther(t *testing.T) {
	l := newLab(t, 3, 500)
	l.answer = rejected
	n, err := l.try(false)
	if err == nil || !strings.Contains(err.Error(), "1 of 3 tasks have rollouts missing") || !strings.Contains(err.Error(), "t1 is refused") ||
		!strings.Contains(err.Error(), "the prompt is too long") {
		t.Fatalf("error %v", err)
	}
	if n < 1001 || n > 1000+8+1 {
		t.Errorf("%d requests, want 1000 and a few of the task that is refused", n)
	}
	l.answer = echo
	l.asks(500)
	l.wantWhole()
}

func TestFailuresThatGoOnEndTheUnit(t *testing.T) {
	fault := func(kind vllm.Kind) func(int, vllm.Request) (vllm.Completion, error) {
		return func(n int, r vllm.Request) (vllm.Completion, error) {
			if n <= 50 {
				return echo(n, r)
			}
			return vllm.Completion{}, &vllm.Error{Kind: kind, URL: "http://a:1"}
		}
	}
	for _, tt := range []struct {
		kind vllm.Kind
		most int // of 1,000: answers under way may come late
		want string
	}{
		{vllm.Unauthorized, 100, "key refused"},
		{vllm.UnknownModel, 100, "not found"},
		{vllm.ServerFault, 500, "requests in a row failed"},
		{vllm.Garbage, 500, "requests in a row failed"},
	} {
		l := newLab(t, 2, 500)
		l.answer = fault(tt.kind)
		n, err := l.try(false)
		if err == nil || !strings.Contains(err.Error(), tt.want) || n > tt.most {
			t.Errorf("%s: %d requests, error %v", tt.kind, n, err)
		}
		l.answer = echo
		l.asks(950)
		l.wantWhole()
	}
}

func TestAFewFailuresAreNamed(t *testing.T) {
	l := newLab(t, 3, 100)
	l.answer = func(n int, r vllm.Request) (vllm.Completion, error) {
		c, err := echo(n, r)
		if n%30 == 0 {
			c.Finish = "abort"
		}
		return c, err
	}
	if _, err := l.try(false); err == nil || !strings.Contains(err.Error(), "3 of 3 tasks have rollouts missing") || !strings.Contains(err.Error(), `finish_reason "abort"`) {
		t.Errorf("error %v", err)
	}
	l.answer = func(n int, r vllm.Request) (vllm.Completion, error) {
		c, err := echo(n, r)
		c.Usage = vllm.Usage{Prompt: -1, Completion: -1, Reasoning: -1}
		return c, err
	}
	if _, err := l.try(false); err == nil || !strings.Contains(err.Error(), "without counts of tokens") {
		t.Errorf("answers without counts: %v", err)
	}
	l.answer = echo
	l.asks(10)
	l.wantWhole()
}

func TestManyFailuresAmongSuccessesEndNothing(t *testing.T) {
	l := newLab(t, 2, 600)
	l.answer = func(n int, r vllm.Request) (vllm.Completion, error) {
		switch n % 4 {
		case 0:
			return vllm.Completion{}, &vllm.Error{Kind: vllm.ServerFault, URL: "http://a:1"}
		case 1:
			return vllm.Completion{}, fmt.Errorf("5 attempts: %w", &vllm.Error{Kind: vllm.EngineDead, URL: "http://a:1"})
		}
		return echo(n, r)
	}
	if n, err := l.try(false); n != 1200 || err == nil || !strings.Contains(err.Error(), "2 of 2 tasks have rollouts missing") {
		t.Fatalf("%d requests, error %v", n, err)
	}
	l.answer = echo
	l.asks(600)
	l.wantWhole()
}

func TestSettingsThatComeBackFindTheirRollouts(t *testing.T) {
	l := newLab(t, 3, 3000)
	set := func(temperature string) {
		l.settings.Config = map[string]string{"sampling.temperature": temperature}
		l.answer = func(n int, r vllm.Request) (vllm.Completion, error) {
			c, err := echo(n, r)
			c.Text = temperature
			return c, err
		}
	}
	want := func(temperature string, requests int) {
		t.Helper()
		set(temperature)
		l.asks(requests)
		for _, r := range l.wantWhole() {
			if r.Text != temperature {
				t.Fatalf("%s at %s says %s", r.ID(), temperature, r.Text)
			}
		}
	}
	want("0.6", 9000)

	set("0.7")
	l.answer = until(100, l.answer) // fails before a part is complete
	l.fails(false)
	set("0.6")
	l.asks(0) // nothing has replaced the parts
	os.RemoveAll(l.file("scratch"))
	want("0.7", 9000)
	want("0.6", 0)
	want("0.7", 0)
	l.settings.Config = map[string]string{"sampling.temperature": "0.8"}
	want("0.8", 9000)
	want("0.6", 0)
}

func TestAForcedRunOfManyPartsKeepsNoOldOnes(t *testing.T) {
	l := newLab(t, 3, 3000)
	l.run()
	l.answer = until(8500, func(n int, r vllm.Request) (vllm.Completion, error) {
		c, err := echo(n, r)
		c.Text = "again"
		return c, err
	})
	l.fails(true)
	if n, err := l.try(true); err != nil || n > 600 { // forced: no part may have been complete yet
		t.Errorf("%d requests, %v", n, err)
	}
	for _, r := range l.wantWhole() {
		if r.Text != "again" {
			t.Fatalf("%s is an old one", r.ID())
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestReasoningTokens(t *testing.T) {
	l := newLab(t, 1, 4)
	l.settings.Models[0].Sampling.TemplateArguments = map[string]any{"enable_thinking": true}
	l.settings.Models[0].Sampling.ThinkingBudget = 9
	l.answer = func(n int, r vllm.Request) (vllm.Completion, error) {
		c, err := echo(n, r)
		if !r.TokenIDs || r.ThinkingBudget != 9 {
			t.Errorf("asked %+v", r)
		}
		switch strings.TrimPrefix(r.ID, "quiz/m/t0/") {
		case "0":
			c.TokenIDs = []int32{4, 4, 4, 7, 4}
		case "1":
			c.TokenIDs = []int32{4, 4, 4, 4, 4} // cut within the thinking
		case "2":
			c.Usage.Reasoning = 2
		}
		return c, err
	}
	l.run()
	var got []string
	for _, r := range l.rows() {
		text := "null"
		if r.ReasoningTokens != nil {
			text = fmt.Sprint(*r.ReasoningTokens)
		}
		got = append(got, text)
	}
	if want := []string{"3", "5", "2", "null"}; !slices.Equal(got, want) {
		t.Errorf("reasoning tokens %v, want %v", got, want)
	}
}

func TestTheSimulatedFleetIsMarked(t *testing.T) {
	l := newLab(t, 1, 20)
	l.version = "0.23.0+simulated"
	l.answer = until(10, echo)
	l.try(false)
	l.version, l.answer = "0.23.0", echo // the rest from a real server: the whole is not measured
	l.run()
	_, footer, err := rowfile.ReadFile[rollout.Rollout](l.file(part(0)))
	if err != nil || footer["speceval.vllm"] != "0.23.0 0.23.0+simulated" || footer["speceval.provenance"] != "simulated" {
		t.Errorf("footer %v, %v", footer, err)
	}
	l.wantProvenance("simulated")

	l.settings.Config = map[string]string{"sampling.temperature": "0.7"}
	l.run()
	l.wantProvenance("measured")
	l.settings.Config = map[string]string{"sampling.temperature": "0.6"}
	l.asks(0)
	l.wantProvenance("simulated")
}

func (l *lab) wantProvenance(provenance string) {
	l.t.Helper()
	manifest := string(must(os.ReadFile(l.file("manifests/generate/quiz/m.json"))))
	if !strings.Contains(manifest, `"provenance": "`+provenance+`"`) {
		l.t.Errorf("want %s in the manifest %s", provenance, manifest)
	}
}

func TestPlansSayWhatAUnitTakes(t *testing.T) {
	l := newLab(t, 3, 20)
	l.settings.Models[0].Expect = func(benchmark string, requests int) []dag.Quantity {
		return []dag.Quantity{{Name: "requests of " + benchmark, Amount: float64(requests)}}
	}
	units := generate.Stage(l.settings).Units
	if len(units) != 1 || len(units[0].Expect) != 1 || units[0].Expect[0] != (dag.Quantity{Name: "requests of quiz", Amount: 60}) {
		t.Errorf("units %+v", units)
	}
}
