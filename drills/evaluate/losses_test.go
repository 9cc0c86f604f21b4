package main

import (
	"bytes"
	"strings"
	"testing"

	"speceval/drills/evaluated"
)

// madeArm is evaluations of the uncertain benchmark with a bias, of which so many
// intervals miss the truth, whose losses state so much.
func madeArm(n int, bias float64, missed int, continued, again float64, tooHigh float64) *arm {
	a := &arm{series: series{profile: uncertain(), policy: evaluated.Async, budget: lossBudget}, what: "made", continued: continued, again: again, tooHigh: tooHigh, tooLow: tooHigh}
	truth := a.profile.Mean()
	for i := range n {
		estimate := truth + bias + 0.05*float64(2*(i%2)-1)
		r := &evaluated.Result{Estimate: estimate, StandardError: 0.05, Interval: [2]float64{truth - 0.1, truth + 0.1}}
		if i < missed {
			r.Interval[0] = truth + 0.001
		}
		a.results = append(a.results, r)
	}
	return a
}

func TestChecksOfLosses(t *testing.T) {
	const n = 500
	for _, c := range []struct {
		before, after *arm
		want          string // "": all is well
	}{
		{madeArm(n, 0.04, 100, 0, 30, 0.1), madeArm(n, 0.001, 26, 25, 0, 0), ""},
		{madeArm(n, 0.004, 100, 0, 30, 0.1), madeArm(n, 0.001, 26, 25, 0, 0), "asked again, the mean is biased"},
		{madeArm(n, 0.04, 100, 0, 30, 0.02), madeArm(n, 0.001, 26, 25, 0, 0), "no more than the results state"},
		{madeArm(n, 0.04, 100, 0, 30, 0.1), madeArm(n, 0.01, 26, 25, 0, 0), "continued, the mean has no bias"},
		{madeArm(n, 0.04, 100, 0, 30, 0.1), madeArm(n, 0.001, 60, 25, 0, 0), "its coverage"},
		{madeArm(n, 0.04, 100, 0, 30, 0.1), madeArm(n, 0.001, 26, 25, 0.1, 0), "have no rollout asked again"},
		{madeArm(n, 0.04, 100, 0, 30, 0.1), madeArm(n, 0.001, 26, 0, 0, 0), "have no rollout asked again"},
		{madeArm(n, 0.04, 100, 0, 0, 0.1), madeArm(n, 0.001, 26, 25, 0, 0), "have no rollout asked again"},
	} {
		var out bytes.Buffer
		if err := lossTable(&out, c.before, c.after); err != nil {
			t.Fatal(err)
		}
		err := checkLosses(&out, c.before, c.after)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "not so") != 1) {
			t.Errorf("want %q: %v\n%s", c.want, err, out.String())
		}
	}
}
