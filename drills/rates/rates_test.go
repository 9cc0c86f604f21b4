package main

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"speceval/internal/benchmark"
	"speceval/pipeline/config"
)

func TestJudge(t *testing.T) {
	tests := []struct {
		speceval, inspect float64
		passes            bool
	}{{91, 10, true}, {89, 10, false}, {100, 21, false}, {100, 20, true}}
	for _, test := range tests {
		var out bytes.Buffer
		rates := [][]float64{{90, 110}, {test.speceval, test.speceval}, {test.inspect, test.inspect}}
		if err := judge(&out, rates); (err == nil) != test.passes {
			t.Errorf("%g and %g: %v\n%s", test.speceval, test.inspect, err, out.String())
		}
	}
	var out bytes.Buffer
	_ = judge(&out, [][]float64{{90, 110}, {99, 99}, {11, 9}}) // only what it prints
	for _, want := range []string{"bare loop   100.0       90.0   110.0", "0.990 of the bare loop's rate (0.90 to 1.10 a round)", "9.90 times inspect_ai's rate (9.00 to 11.00 a round)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestRateOfHalves(t *testing.T) {
	got := rate([]evaluation{{Begin: 10, End: 18, Samples: 30}, {Begin: 11, End: 20, Samples: 20}})
	if math.Abs(got-5) > 1e-12 {
		t.Errorf("%g a second, want 5", got)
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
		defer func() { mu.Lock(); now--; mu.Unlock() }()
		if strings.Contains(body.String(), "refuse me") {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	shipped := &config.Config{Models: []config.Model{{ID: "small"}}}
	shipped.Systems.Window = 3
	b := &bench{options: options{shipped: shipped, rollouts: 5}, urls: []string{server.URL, server.URL},
		all: []benchmark.Task{{UserPrompt: "one"}, {UserPrompt: "two", SystemPrompt: "be brief"}}}
	if r, err := b.bare(context.Background(), 0); err != nil || !(r > 0) {
		t.Errorf("%g a second, %v", r, err)
	}
	if len(asked) != 10 || most > 6 {
		t.Errorf("%d different requests, at most %d at a time", len(asked), most)
	}
	b.all[1].UserPrompt = "refuse me"
	if _, err := b.bare(context.Background(), 0); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("a refusal: %v", err)
	}
}

func TestFlags(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-no-such-flag"}, nil, &out, &errs); code != 2 {
		t.Errorf("an unknown flag: exit code %d", code)
	}
	if code := run([]string{"-tasks", "/nowhere"}, nil, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "\ndrill-rates: failed\n") {
		t.Errorf("without tasks: exit code %d, %s", code, out.String())
	}
	out.Reset()
	if code := run([]string{"-tasks", "../../data/smallmodel/primer.jsonl", "-config", "/nowhere.toml"}, nil, &out, &errs); code != 1 || !strings.Contains(out.String(), "/nowhere.toml") {
		t.Errorf("without a configuration: exit code %d, %s", code, out.String())
	}
}
