package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/seed"
	"speceval/internal/vllm"
)

func TestPermuted(t *testing.T) {
	random := seed.Root(1).Stream()
	groups := func(p, q float64) (a, b []sample) {
		for range 400 {
			a = append(a, sample{concluded: map[bool]string{true: "x", false: "y"}[random.Float64() < p]})
			b = append(b, sample{concluded: map[bool]string{true: "x", false: "y"}[random.Float64() < q]})
		}
		return a, b
	}
	concluded := func(s sample) string { return s.concluded }
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
	if _, err := primer(t.TempDir()); err == nil {
		t.Error("tasks of an empty folder")
	}
	if got := conclusion(`\boxed{1} and then \boxed{2}`); got != "2" || conclusion("Answer: B\n") != "B" || conclusion("?") != "" {
		t.Errorf("%q", got)
	}
}
