package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/seed"
)

func TestPairsDependOnTheSeedAlone(t *testing.T) {
	few, many := pairs(seed.Root(1), kinds, 100), pairs(seed.Root(1), kinds, 1000)
	if !slices.Equal(few, many[:100]) {
		t.Error("more pairs begin with others")
	}
	if slices.Equal(few, pairs(seed.Root(2), kinds, 100)) {
		t.Error("another seed gives the same pairs")
	}
}

func TestPairsAreOfAllSorts(t *testing.T) {
	count := map[string]map[truth]int{}
	for _, p := range pairs(seed.Root(3), kinds, 100*len(kinds)) {
		if count[p.kind] == nil {
			count[p.kind] = map[truth]int{}
		}
		count[p.kind][p.truth]++
		if p.gold == "" || p.prediction == "" || strings.Contains(p.prediction+p.gold, "%!") {
			t.Errorf("malformed: %+v", p)
		}
	}
	for _, k := range kinds { // of 100 pairs 45 are unequal on average; 20 is five standard deviations less
		if n := count[k.name]; n[equal] < 20 || n[unequal] < 20 {
			t.Errorf("%s: %v", k.name, n)
		}
	}
}

// TestFormsOfASample looks at what every generator gives: no text is both a
// form of the answer and a near miss, or left undecided.
func TestFormsOfASample(t *testing.T) {
	for _, k := range kinds {
		for i := range 200 {
			s := k.make(&dice{seed.Root(4).Child(k.name).Index(i).Stream()})
			for _, form := range append(s.same, s.gold) {
				if slices.Contains(s.near, form) || slices.Contains(s.open, form) {
					t.Fatalf("%s: %q is both", k.name, form)
				}
				for _, text := range append(slices.Clone(s.near), form) {
					if strings.Count(text, "{") != strings.Count(text, "}") {
						t.Fatalf("%s: %q has open braces", k.name, text)
					}
				}
			}
			if len(s.same) == 0 || len(s.near) == 0 {
				t.Fatalf("%s: %+v has no other forms, or no near misses", k.name, s)
			}
		}
	}
}

func TestOutcomes(t *testing.T) {
	for _, test := range []struct {
		truth        truth
		ours, theirs bool
		want         outcome
	}{
		{equal, true, true, agree},
		{equal, true, false, oursRight},
		{equal, false, true, theirsRight},
		{equal, false, false, bothWrong},
		{unequal, false, false, agree},
		{unequal, false, true, oursRight},
		{unequal, true, false, theirsRight},
		{unequal, true, true, bothWrong},
		{undecided, true, true, agree},
		{undecided, true, false, undecidable},
	} {
		j := judgement{pair: pair{truth: test.truth}, ours: test.ours, theirs: test.theirs}
		if got := j.outcome(); got != test.want {
			t.Errorf("%s, ours %v, theirs %v: %s", test.truth, test.ours, test.theirs, outcomeNames[got])
		}
	}
}

func TestWhatFails(t *testing.T) {
	all := func(agreeing int, others ...judgement) *report {
		judged := others
		for range agreeing {
			judged = append(judged, judgement{pair: pair{kind: "k", truth: equal}, ours: true, theirs: true})
		}
		return sorted(judged)
	}
	bad := judgement{pair: pair{kind: "k", gold: "1", prediction: "one", truth: equal}}
	worse := bad
	worse.theirs = true
	open := judgement{pair: pair{kind: "k", truth: undecided}, theirs: true}
	for want, r := range map[string]*report{
		"<nil>":                               all(99, bad, open, open),
		"right on 98 of 99":                   all(98, bad),
		"right and our scorer wrong on 1 pai": all(999, worse),
	} {
		if err := r.fault(); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	var b bytes.Buffer
	all(99, worse, open).print(&b, 1, true)
	for _, want := range []string{"k    101      100     99           0             1           0            1", `theirs right, k, equal: gold "1", prediction "one"; ours false`, "on 99 of 100 decided"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestMathematics(t *testing.T) {
	for text, want := range map[string]string{
		`\frac12`:    `$\frac12$`,
		`$x$`:        `$x$`,
		`\boxed{1}`:  `\boxed{1}`,
		`\$5`:        `$\$5$`,
		`\(2\) or 3`: `\(2\) or 3`,
	} {
		if got := mathematics(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestMathVerify needs a Python with math-verify, named by SPECEVAL_PYTHON or
// else python3, and is skipped without one, except under SPECEVAL_CI=1.
func TestMathVerify(t *testing.T) {
	python := os.Getenv("SPECEVAL_PYTHON")
	if python == "" {
		python = "python3"
	}
	if output, err := exec.Command(python, "-c", "import math_verify").CombinedOutput(); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatalf("%s: %v\n%s", python, err, output)
		}
		t.Skipf("%s has no math-verify; name a Python that has in SPECEVAL_PYTHON", python)
	}
	j := &judge{python: python, patience: time.Minute}
	if err := j.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { j.stop() }()
	for _, test := range []struct {
		pair pair
		want bool
	}{
		{pair{gold: `\frac{1}{2}`, prediction: `0.5`}, true},
		{pair{gold: `$\frac{1}{2}$`, prediction: `The answer is $\boxed{2}$.`, prose: true}, false},
		{pair{gold: `\{1, 2\}`, prediction: `\{2, 1\}`}, true},
		{pair{gold: `1`, prediction: "\\boxed{\\frac{1}{"}, false},
	} {
		if got, err := j.says(t.Context(), test.pair); err != nil || got.Equal != test.want {
			t.Errorf("%+v: %+v, %v", test.pair, got, err)
		}
	}
}

// TestJudgeThatMisbehaves puts shell scripts in the place of Python.
func TestJudgeThatMisbehaves(t *testing.T) {
	script := func(body string) string {
		path := filepath.Join(t.TempDir(), "python")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o777); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for want, body := range map[string]string{
		"has math-verify 0.1, want " + pinned: `echo '{"math-verify": "0.1"}'; cat`,
		"No module named":                     `echo "No module named math_verify" >&2; exit 1`,
		"invalid character":                   `echo hello; cat`,
	} {
		j := &judge{python: script(body), patience: time.Minute}
		if err := j.start(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, after := range map[string]string{"no answer": "exec sleep 600", "unexpected EOF": "exit 3"} {
		j := &judge{python: script(`echo '{"math-verify": "` + pinned + `"}'; read line; ` + after), patience: time.Second / 5}
		if err := j.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // it is started again
			if got, err := j.says(t.Context(), pair{gold: "1", prediction: "1"}); err != nil || got.Equal || !strings.Contains(got.Read, want) {
				t.Errorf("%+v, %v, want %q", got, err, want)
			}
		}
		j.stop()
	}
}

func TestRunReadsItsFlags(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-pairs", "many"}, "", &stdout, &stderr); code != 2 {
		t.Errorf("code %d", code)
	}
	if code := run([]string{"-pairs", "3"}, "", &stdout, &stderr); code != 1 || !strings.Contains(stdout.String(), "want 70 or more") {
		t.Errorf("code %d, %s", code, stdout.String())
	}
	if code := run([]string{"-pairs", "70"}, "/nowhere/python", &stdout, &stderr); code != 1 || !strings.Contains(stdout.String(), "SPECEVAL_PYTHON") {
		t.Errorf("code %d, %s", code, stdout.String())
	}
}
