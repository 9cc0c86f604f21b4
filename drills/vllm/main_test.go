package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"speceval/internal/conformance"
)

func TestWithoutServers(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-dir", t.TempDir()}, nil, &out, &errs); code != 1 {
		t.Errorf("exit code %d", code)
	}
	text := out.String()
	if !strings.Contains(text, "make vllm-cpu") || !strings.HasSuffix(text, "\ndrill-vllm: failed\n") {
		t.Errorf("it says: %s", text)
	}
	if code := run([]string{"-no-such-flag"}, nil, &out, &errs); code != 2 {
		t.Errorf("an unknown flag: exit code %d", code)
	}
}

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
		err := compare(&out, map[string][]conformance.Result{"dense": {test.real}}, map[string][]conformance.Result{"dense": {test.fake}})
		if (err != nil) != test.wrong || !strings.Contains(out.String(), test.verdict) {
			t.Errorf("%q and %q: %v\n%s", test.real.Text(), test.fake.Text(), err, out.String())
		}
	}
}
