package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/pipeline/evaluate"
)

// rank ranks models on servers of theirs.
func (l *evaluationLab) rank(words ...string) show.Ranked {
	l.t.Helper()
	return document[show.Ranked](l, l.ranks(words...)...)
}

// ranks are the words that rank models.
func (l *evaluationLab) ranks(words ...string) []string {
	return slices.Concat([]string{"rank", "--benchmark", "own.jsonl"}, l.workers, words)
}

func TestModelsAreRanked(t *testing.T) {
	l := newEvaluationLab(t)
	l.serve("weak")
	l.serve("strong")
	r := l.rank("mine", "weak", "strong", "--budget", "8", "--page", "rank.html")
	sum, spent := 0.0, 0
	for k, p := range r.Chances {
		sum, spent = sum+p, spent+r.Rollouts[k]
	}
	if math.Abs(sum-1) > 1e-9 || spent != 3*8*5 || len(r.Pairs) != 3 || len(slices.Concat(r.Tiers...)) != 3 || !(r.Wrong >= 0 && r.Wrong < 1) || r.Goal != "best" {
		t.Errorf("%+v", r)
	}
	if best := slices.Index(r.Chances, slices.Max(r.Chances)); math.Abs(1-r.Chances[best]-r.Wrong) > 1e-9 && r.Estimates[best] == slices.Max(r.Estimates) {
		t.Errorf("wrong with a probability of %v, and best are %v", r.Wrong, r.Chances)
	}
	want(t, "the page", read("rank.html"), "strong")
	if c := document[show.Ranked](l, append(words("compare"), r.Evaluations...)...); fmt.Sprint(c.Tiers, c.Estimates, c.Pairs[0].Interval) != fmt.Sprint(r.Tiers, r.Estimates, r.Pairs[0].Interval) {
		t.Errorf("compared: %+v", c.Comparison)
	}
	l.says(exitDone, words("show "+r.Evaluations[2]), fmt.Sprintf("%d of 5 tasks", r.Rollouts[2]))

	asked := l.count
	l.says(exitDone, l.ranks(words("mine weak strong --budget 8")...), "P(best)  model", "is not the best with a probability of", "tier  mean", r.Evaluations[1])
	same(t, "requests of a contest that is over", l.count, asked)
	if r := l.rank("strong", "mine", "weak", "--budget", "4", "--goal", "order", "--floor", "4"); fmt.Sprint(r.Rollouts) != "[20 20 20]" || r.Goal != "order" {
		t.Errorf("a floor of the whole budget: %+v", r)
	}
	write("next.jsonl", strings.ReplaceAll(ownBenchmark, "1+1", "2+2"))
	if r := l.rank("mine", "weak", "--budget", "4", "--benchmark", "next.jsonl", "--weight", "3,1"); r.Rollouts[0]+r.Rollouts[1] != 2*4*10 {
		t.Errorf("of a suite: %+v", r)
	}
}

// Coupled models have as many rollouts of each task, under the same seeds, so that the
// difference of a model and its twin has no error but doubt.
func TestPairsShareSeeds(t *testing.T) {
	l := newEvaluationLab(t)
	l.serve("weak")
	l.serveAs("twin", "mine")
	shown := func(name string) evaluation.Result { return document[evaluation.Result](l, "show", name) }
	compare := func(names ...string) show.Comparison {
		return document[show.Comparison](l, append(words("compare"), names...)...)
	}
	r, other := l.rank("mine", "twin", "--budget", "8", "--coupled"), l.rank("mine", "weak", "--budget", "8", "--coupled")
	if c := r.Coupled; c == nil || c.Correlation != 1 || c.Factor != 0 || r.Difference != 0 || r.StandardError >= r.Errors[0] || math.Abs(r.Chances[0]-0.5) > 1e-9 {
		t.Errorf("a twin: %+v, %+v, %v ± %v", r, r.Coupled, r.Difference, r.StandardError)
	}
	if c := other.Coupled; c == nil || math.Abs(c.Correlation) > 0.6 || other.Difference == 0 {
		t.Errorf("another model: %+v, %+v", other, other.Coupled)
	}
	for _, r := range []show.Ranked{r, other} {
		a, b := shown(r.Evaluations[0]), shown(r.Evaluations[1])
		for i := range a.Rows {
			same(t, "rollouts of a pair", a.Rows[i].Rollouts(), b.Rows[i].Rollouts())
		}
		if c := compare(r.Evaluations...); a.Rollouts != 8*5 || c.StandardError != r.StandardError || *c.Coupled != *r.Coupled {
			t.Errorf("compared: %+v, %+v", c, c.Coupled)
		}
	}
	if r := l.rank("mine", "twin", "--budget", "4", "--coupled", "--goal", "order"); fmt.Sprint(r.Rollouts) != "[20 20]" || r.Coupled == nil || r.Difference != 0 {
		t.Errorf("the least budget: %+v", r)
	}
	one := func(line string) string {
		r := l.evaluate(words("--budget 6 --coupled " + line)...)
		return fmt.Sprintf("own/%s/%s-b%d-coupled-seed42", r.Model, r.Policy, r.Budget)
	}
	uniform, twin := one("--policy uniform"), one("--policy uniform --model twin --worker "+l.workers[5])
	if c := compare(uniform, twin); c.Coupled == nil || c.Difference != 0 || c.Coupled.Correlation != 1 {
		t.Errorf("%+v", c)
	}
	if gated := document[evaluate.Gated](l, words("gate "+uniform+" "+twin+" --no-worse-than 0.1")...); !gated.Passed() {
		t.Errorf("a gate for a twin: %+v", gated)
	}
	if c := compare(uniform, one("--model weak --worker "+l.workers[3])); c.Coupled != nil || !strings.Contains(l.stderr, "share seeds, but not as pairs: ") {
		t.Errorf("of unlike stages: %+v\n%s", c, l.stderr)
	}
	if r := l.evaluate(words(`--budget 6 --coupled --set sampling.leave_out=["seed"] --seed 7`)...); r.Coupled || !strings.Contains(l.stderr, "--coupled is off: servers are given no seed") {
		t.Errorf("without seeds: %v\n%s", r.Coupled, l.stderr)
	}
	known := "--benchmark own.jsonl --model twin --worker " + l.workers[5] + " --budget 6 --coupled --prior " + uniform
	l.says(exitUsage, words(known), "its rollouts share seeds with this evaluation")
	l.says(exitDone, words(known+" --seed 9"))
	for _, line := range []string{"mine twin weak --budget 8 --coupled", "mine twin --budget 8 --coupled --floor 4"} {
		l.says(exitUsage, l.ranks(words(line)...), "--coupled is of two models")
	}
}

// A contest that is stopped in any of its stages goes on to what it would have come to.
func TestAStoppedContestGoesOn(t *testing.T) {
	for name, how := range map[string]string{"models": "--budget 6", "pairs": "--budget 6 --coupled"} {
		t.Run(name, func(t *testing.T) {
			l := newEvaluationLab(t)
			l.serve("weak")
			asked := words("mine weak --set systems.window=2 " + how)
			stops := 0
			for _, after := range []int{12, 10, 10} {
				interrupts, from := make(chan os.Signal, 1), l.count
				l.asked = func(n int) {
					if n == from+after {
						interrupts <- os.Interrupt
					}
				}
				if code, _ := l.do(interrupts, l.ranks(asked...)...); code == exitInterrupted {
					stops++
					want(t, "pause", l.stderr, "the evaluation is paused: stopped", "are kept in out/evaluate", "stage ")
				} else if code != 0 {
					t.Fatalf("exit code %d\n%s", code, l.stderr)
				}
			}
			l.asked = nil
			r, whole := l.rank(asked...), l.rank(append(asked, "--out", "undisturbed")...)
			if stops < 2 || fmt.Sprint(r.Estimates, r.Rollouts, r.Chances) != fmt.Sprint(whole.Estimates, whole.Rollouts, whole.Chances) {
				t.Errorf("stopped %d times: %+v\nundisturbed %+v", stops, r, whole)
			}
		})
	}
}

func TestContestsThatCannotBe(t *testing.T) {
	l := newEvaluationLab(t)
	l.serve("weak")
	for want, line := range map[string]string{
		"a rank is of two models or more: name them": "mine --budget 8",
		"model weak is there twice":                  "weak mine weak --budget 8",
		"say what to spend: --budget":                "mine weak",
		"--budget 3: want 4 rollouts per task":       "mine weak --budget 3",
		"--budget 2049: want 4 rollouts per task":    "mine weak --budget 2049",
		"--floor 9: want 0 to the budget, 8":         "mine weak --budget 8 --floor 9",
		"--goal worst: want best or order":           "mine weak --budget 8 --goal worst",
		"--weight -1: want a positive number":        "mine weak --budget 8 --weight=-1",
		"--weight 0: want a positive number":         "mine weak --budget 8 --weight=0",
		`--on-loss "never": want one of continue`:    "mine weak --budget 8 --on-loss never",
	} {
		l.says(exitUsage, l.ranks(words(line)...), want)
	}
	l.says(exitFailed, l.ranks(words("mine absent --budget 8")...), `no server serves "absent"`)
	if l.count > 3*5*2 {
		t.Errorf("%d requests for contests that cannot be", l.count)
	}
}
