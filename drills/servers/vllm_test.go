package servers

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/drills/lab"
	"speceval/internal/benchmark"
	"speceval/internal/conformance"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/seed"
	"speceval/internal/vllm"
	"speceval/pipeline/config"
)

func TestCompare(t *testing.T) {
	check := conformance.Checks()[0]
	saw := func(text string) conformance.Result {
		return conformance.Result{Check: check, Seen: conformance.Observation(text)}
	}
	failed := conformance.Result{Check: check, Err: errors.New("broken")}
	skipped := conformance.Result{Check: check, Err: conformance.ErrSkipped}
	tests := []struct {
		real, fake conformance.Result
		verdict    string
		wrong      bool
	}{
		{saw("a"), saw("a"), "yes", false},
		{saw("a"), saw("b"), "NO", true},
		{saw("a"), skipped, "NO", true},
		{skipped, skipped, "skipped  skipped  skipped", false},
		{failed, failed, "FAILED", true},
		{saw("a"), failed, "FAILED", true},
	}
	for _, test := range tests {
		var out bytes.Buffer
		err := compareResults(&out, map[string][]conformance.Result{"dense": {test.real}}, map[string][]conformance.Result{"dense": {test.fake}})
		if (err != nil) != test.wrong || !strings.Contains(out.String(), test.verdict) {
			t.Errorf("%q and %q: %v\n%s", test.real.Text(), test.fake.Text(), err, out.String())
		}
	}
}

func TestPermuted(t *testing.T) {
	random := seed.Root(1).Stream()
	groups := func(p, q float64) (a, b []answered) {
		for range 400 {
			a = append(a, answered{concluded: map[bool]string{true: "x", false: "y"}[random.Float64() < p]})
			b = append(b, answered{concluded: map[bool]string{true: "x", false: "y"}[random.Float64() < q]})
		}
		return a, b
	}
	concluded := func(s answered) string { return s.concluded }
	small := 0
	for range 40 {
		a, b := groups(0.4, 0.4)
		if permuted(&random, a, b, concluded) < 0.05 {
			small++
		}
	}
	if small > 8 { // 2 on average
		t.Errorf("%d of 40 groups of one law have p below 0.05", small)
	}
	if a, b := groups(0.4, 0.6); permuted(&random, a, b, concluded) > 0.001 {
		t.Error("two laws are taken for one")
	}
}

// TestLaws compares answers of an imitated model, which continues them by its law.
func TestLaws(t *testing.T) {
	tasks, err := primer("../../data/smallmodel")
	if err != nil {
		t.Fatal(err)
	}
	passes := map[fleet.TaskKey]float64{{Benchmark: tasks[0].Benchmark, ID: tasks[0].ID}: 0.5}
	author := fleet.MustAuthor(fleet.AuthorSettings{Model: "m", Tasks: tasks, Passes: passes, AnswerTokens: 90, SlowWrong: 3})
	server := httptest.NewServer(imitation.New(imitation.Settings{Model: "small", Author: author, Timing: fleet.Timing{Base: time.Nanosecond}}))
	defer server.Close()
	c, err := vllm.New(server.URL, vllm.Options{Connections: lawOutstanding})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out bytes.Buffer
	if err := laws(t.Context(), c, tasks[:1], &out); err != nil || !strings.Contains(out.String(), "500 whole and 500 continued answers") {
		t.Errorf("%v\n%s", err, out.String())
	}
	part := t.TempDir()
	text, err := os.ReadFile("../../data/smallmodel/primer.jsonl")
	if err == nil {
		err = os.WriteFile(filepath.Join(part, "primer.jsonl"), text[:bytes.IndexByte(text, '\n')+1], 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{t.TempDir(), part} {
		if _, err := primer(folder); err == nil {
			t.Errorf("%s has all tasks", folder)
		}
	}
	if got := conclusion(`\boxed{1} and then \boxed{2}`); got != "2" || conclusion("Answer: B\n") != "B" || conclusion("?") != "" {
		t.Errorf("%q", got)
	}
}

func TestSpecevalIsFastEnough(t *testing.T) {
	for _, test := range []struct {
		speceval, inspect float64
		passes            bool
	}{{91, 10, true}, {89, 10, false}, {100, 21, false}, {100, 20, true}} {
		var out bytes.Buffer
		if err := lab.Report(&out, rateChecks(100, test.speceval, test.inspect)); (err == nil) != test.passes {
			t.Errorf("%g and %g: %v\n%s", test.speceval, test.inspect, err, out.String())
		}
	}
}

// The loop asks for every rollout once, and never has more requests outstanding
// than places.
func TestBareLoop(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	now, most := 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		body.ReadFrom(r.Body)
		mu.Lock()
		now++
		most = max(most, now)
		asked[body.String()]++
		mu.Unlock()
		time.Sleep(2 * time.Millisecond) // so that all places are in use at some time
		defer func() { mu.Lock(); now--; mu.Unlock() }()
		if strings.Contains(body.String(), "refuse me") {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	b := &rates{Config: &config.Config{Models: []config.Model{{ID: "small"}}}, urls: []string{server.URL, server.URL},
		tasks: []benchmark.Task{{UserPrompt: "one"}, {UserPrompt: "two", SystemPrompt: "be brief"}}}
	b.Systems.Window = 3
	if r, err := b.bare(context.Background(), 0); err != nil || !(r > 0) {
		t.Errorf("%g a second, %v", r, err)
	}
	if len(asked) != 2*rateRollouts || most > 6 {
		t.Errorf("%d different requests, at most %d at a time", len(asked), most)
	}
	b.tasks[1].UserPrompt = "refuse me"
	if _, err := b.bare(context.Background(), 0); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("a refusal: %v", err)
	}
}

// TestFlags checks the exit codes and the last lines of all drills, where there are no
// servers, no program or no input.
func TestFlags(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	t.Setenv("VLLM_CPU_DIR", nowhere)
	for _, test := range []struct {
		drill lab.Drill
		words string
		code  int
		want  string // in what it prints
	}{
		{Systems, "-no-such-flag", 2, "flag provided but not defined"},
		{Systems, "-speceval /nowhere -short -dir " + nowhere, 1, "\ndrill-systems: failed\n"},
		{Live, "-no-such-flag", 2, "flag provided but not defined"},
		{Live, "-part none", 1, "the drill has no part \"none\"\ndrill-live: failed\n"},
		{Live, "-config ../../experiments-live.toml -serve ../../vllm-cpu/serve.sh", 1, "make vllm-cpu"},
		{VLLM, "-no-such-flag", 2, "flag provided but not defined"},
		{VLLM, "-dir " + nowhere, 1, "make vllm-cpu\ndrill-vllm: failed\n"},
	} {
		var out bytes.Buffer
		if code := test.drill.Main(strings.Fields(test.words), os.Getenv, &out, &out); code != test.code || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s %s: exit code %d, want %d and %q:\n%s", test.drill.Name, test.words, code, test.code, test.want, out.String())
		}
	}
}
