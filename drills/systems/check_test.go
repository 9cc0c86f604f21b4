package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"speceval/drills/timed"
	"speceval/internal/policy"
	"speceval/internal/profile"
)

func TestFlags(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-no-such-flag"}, &out, &errs); code != 2 {
		t.Errorf("an unknown flag: exit code %d", code)
	}
	if code := run([]string{"-speceval", "/nowhere", "-short", "-dir", filepath.Join(t.TempDir(), "lab")}, &out, &errs); code != 1 || !strings.Contains(out.String(), "\ndrill-systems: failed\n") {
		t.Errorf("without a program: exit code %d, %s", code, out.String())
	}
}

func TestWhatWasKeptAndVoided(t *testing.T) {
	r := &timed.Results{Setting: timed.Setting{Profile: profile.Profile{Benchmark: "quiz", Model: "m"}, Budget: 8}}
	kept := map[string]string{}
	for _, strategy := range policy.Strategies {
		run := timed.Run{Strategy: strategy.Name, Started: strategy.Name + " began"}
		r.Runs = append(r.Runs, run)
		kept[timed.RunName(r, run)] = run.Started
	}
	last := timed.RunName(r, r.Runs[3])
	all := []*timed.Results{r}
	good := &story{kept: kept, voids: []string{"one"}}
	if err := good.checkKept(all); err == nil {
		t.Error("every run was kept, and that is well")
	}
	delete(kept, last)
	if err := good.checkKept(all); err != nil {
		t.Error(err)
	}
	if err := good.checkVoids(); err != nil {
		t.Error(err)
	}
	kept[timed.RunName(r, r.Runs[0])] = "another time"
	if err := good.checkKept(all); err == nil || !strings.Contains(err.Error(), "uniform, repeat 0 was begun at another time") {
		t.Errorf("a run was made again: %v", err)
	}
	if err := (&story{}).checkVoids(); err == nil {
		t.Error("no run was void, and that is well")
	}
}

func TestTokensOfServers(t *testing.T) {
	sample := func(tokens float64, requests int) []timed.Sample {
		return []timed.Sample{{Tokens: tokens, Requests: requests}}
	}
	var out bytes.Buffer
	for made, good := range map[float64]bool{0: true, replicas * warmUpTokens: true, replicas*warmUpTokens + 1: false} {
		s := &story{before: sample(100, 0), after: sample(100+made, 0)}
		if err := s.checkTokens([]*timed.Results{{}}, &out); (err == nil) != good {
			t.Errorf("%.0f tokens of no run: %v", made, err)
		}
	}
	s := &story{after: sample(100, 0), again: sample(101, 0)}
	if err := s.checkIdle(); err == nil {
		t.Error("another run made a token, and that is well")
	}
	if err := idle(sample(5, 1)); err == nil {
		t.Error("a request is left, and that is well")
	}
}
