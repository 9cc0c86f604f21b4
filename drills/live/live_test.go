package main

import (
	"bytes"
	"strings"
	"testing"

	"speceval/internal/profile"
	"speceval/internal/rollout"
)

func TestFlags(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-no-such-flag"}, nil, &out, &errs); code != 2 {
		t.Errorf("an unknown flag: exit code %d", code)
	}
	if code := run([]string{"-part", "none"}, nil, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "\ndrill-live: failed\n") {
		t.Errorf("an unknown part: exit code %d, %s", code, out.String())
	}
}

func TestWithoutServers(t *testing.T) {
	var out, errs bytes.Buffer
	environment := []string{"VLLM_CPU_DIR=" + t.TempDir(), "PATH=/usr/bin:/bin"}
	if code := run([]string{"-config", "../../experiments-live.toml", "-serve", "../../vllm-cpu/serve.sh"}, environment, &out, &errs); code != 1 || !strings.Contains(out.String(), "make vllm-cpu") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}

func TestWhatIsWhole(t *testing.T) {
	l := &lab{options: options{rollouts: 3}, profile: profile.Profile{TaskIDs: []string{"a", "b"}}}
	var all []rollout.Place
	for task := range 2 {
		for r := range 3 {
			all = append(all, l.place(task, r))
		}
	}
	if err := l.whole(all, all[:2]); err != nil {
		t.Error(err)
	}
	other := append([]rollout.Place{}, all...)
	other[4].Seed++
	gone := rollout.Place{Benchmark: quiz, Model: modelID, Rollout: 9}
	tests := map[string]struct {
		final, before []rollout.Place
	}{
		"one is missing":             {all[1:], nil},
		"one is there twice":         {append(append([]rollout.Place{}, all...), all[0]), nil},
		"one has another seed":       {other, nil},
		"one of before is not there": {all, []rollout.Place{gone}},
	}
	for name, test := range tests {
		if err := l.whole(test.final, test.before); err == nil {
			t.Errorf("%s, and that is well", name)
		}
	}
}

func TestRunsThatAreMadeAgainAlone(t *testing.T) {
	all := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
	if err := alone(map[string]string{"a": "1", "b": "2"}, all); err != nil {
		t.Error(err)
	}
	if err := alone(map[string]string{"a": "0"}, all); err == nil {
		t.Error("a kept run was made again, and that is well")
	}
	delete(all, "d")
	if err := alone(map[string]string{"a": "1"}, all); err == nil {
		t.Error("a run is missing, and that is well")
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	wrong, err := write(&out, []row{{"a fault", "this", "nothing", 1.25, false}, {"another", "that", "?", 2, true}})
	if err != nil || wrong != 1 || !strings.Contains(out.String(), "a fault  this  nothing  1.2\n") {
		t.Errorf("%d wrong, %v:\n%s", wrong, err, out.String())
	}
}
