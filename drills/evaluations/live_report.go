package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"speceval/drills/evaluated"
)

// group is the evaluations of an arm at a budget, by round, and Uniform's.
type group struct {
	arm     arm
	budget  int
	runs    map[int]made
	uniform map[int]made
	tally   *evaluated.Tally
}

// groups sorts the runs by budget and arm.
func groups(truth *truth, runs []made) (all []group) {
	for _, budget := range budgets {
		uniform := map[int]made{}
		for _, a := range arms {
			g := group{a, budget, map[int]made{}, uniform, &evaluated.Tally{}}
			if a.policy == evaluated.Uniform {
				g.runs = uniform
			}
			for _, r := range runs {
				if r.arm == a && r.Result.Budget == budget {
					g.runs[r.round] = r
					g.tally.Add(r.Outcome(), truth.profile.Mean())
				}
			}
			if len(g.runs) > 0 {
				all = append(all, g)
			}
		}
	}
	return all
}

// resumed is the number of evaluations that took more than one process.
func (g group) resumed() (n int) {
	for _, r := range g.runs {
		if r.Sessions > 1 {
			n++
		}
	}
	return n
}

// seconds is the mean time of the runs that were not interrupted, from the first
// request to the last reward; NaN if all were.
func (g group) seconds() float64 {
	sum, n := 0.0, 0.0
	for _, r := range g.runs {
		if r.Sessions == 1 {
			sum, n = sum+r.Seconds, n+1
		}
	}
	return sum / n
}

// times is the time relative to Uniform's: the geometric mean over rounds, of runs that
// were not interrupted, with its standard error. It is NaN of fewer than two rounds.
func (g group) times() (ratio, se float64, n int) {
	var logs []float64
	for round, r := range g.runs {
		if u, there := g.uniform[round]; there && r.Sessions == 1 && u.Sessions == 1 {
			logs = append(logs, math.Log(r.Seconds/u.Seconds))
		}
	}
	slices.Sort(logs) // the order of a map is none, and sums depend on it
	mean, se := meanOf(logs)
	return math.Exp(mean), math.Exp(mean) * se, len(logs)
}

// meanOf is the mean of some numbers with its standard error.
func meanOf(xs []float64) (mean, se float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}

// report prints the results and checks them.
func report(w io.Writer, truth *truth, runs []made) error {
	all := groups(truth, runs)
	if err := errorTable(w, truth, all); err != nil {
		return err
	}
	if err := timeTable(w, all, runs); err != nil {
		return err
	}
	return check(w, truth, all)
}

// errorTable prints errors and variances as Markdown.
func errorTable(w io.Writer, truth *truth, all []group) error {
	var b strings.Builder
	fmt.Fprint(&b, "| b | arm | runs | bias | coverage | √(stated/seen) | interval | variance | by the replay |\n|---:|---|---:|---|---|---:|---:|---|---|\n")
	var tallies []*evaluated.Tally
	for _, g := range all {
		t := g.tally
		tallies = append(tallies, t)
		r, se := truth.ratio(t, g.budget)
		fmt.Fprintf(&b, "| %d | %s | %d | %+.5f (%+.1f s.e.) | %.0f%% ± %.0f | %.2f | %.4f | %.2f ± %.2f | %s |\n", g.budget, g.arm.name, t.Evaluations,
			t.Bias(), truth.biasScore(t), 100*t.Coverage(), 100*evaluated.ShareError(nominal, t.Evaluations), t.Calibration(), t.Length(), r, se, truth.of(g.arm, g.budget))
	}
	bias, score := truth.pooled(tallies)
	fmt.Fprintf(&b, "\nVariances are relative to Uniform's by the profile. Errors are to the mean %.5f of the profile, of %d rollouts of each of %d tasks, whose own standard error of %.5f counts in the bias and is taken off the variance. Coverage stands beside the standard deviation of a share of 95%%. The bias of all runs together is %+.5f (%+.1f s.e.).\n\n",
		truth.profile.Mean(), truth.profile.TestedK, truth.profile.N(), math.Sqrt(truth.variance()), bias, score)
	_, err := io.WriteString(w, b.String())
	return err
}

// timeTable prints times as Markdown.
func timeTable(w io.Writer, all []group, runs []made) error {
	var b strings.Builder
	fmt.Fprint(&b, "| b | arm | seconds | /Uniform's | rounds | resumed | continued | asked again | surplus | wasted tokens |\n|---:|---|---:|---|---:|---:|---:|---:|---:|---:|\n")
	for _, g := range all {
		ratio, se, n := g.times()
		seconds, times := fmt.Sprintf("%.1f", g.seconds()), fmt.Sprintf("%.3f ± %.3f", ratio, se)
		switch {
		case g.arm.killed: // those that end before their kill are the short ones
			seconds, times, n = "–", "–", 0
		case n < 2:
			times = "–"
		}
		extra, continued, again, wasted, tokens := 0, 0, 0, int64(0), int64(0)
		for _, r := range g.runs {
			extra, continued, again = extra+r.Extra, continued+r.Losses.Continued, again+r.Losses.AskedAgain
			wasted, tokens = wasted+r.Tokens.Wasted, tokens+r.Tokens.Completion
		}
		each := float64(len(g.runs))
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %d | %d | %.1f | %.1f | %.1f | %.2f%% |\n", g.budget, g.arm.name, seconds, times, n, g.resumed(),
			float64(continued)/each, float64(again)/each, float64(extra)/each, 100*float64(wasted)/float64(tokens))
	}
	var startups []float64
	for _, r := range runs {
		startups = append(startups, r.Startup)
	}
	slices.Sort(startups)
	fmt.Fprintf(&b, "\nSeconds are from the first request to the last reward; the ratio is the geometric mean over rounds. Arms that are killed, and runs that were resumed, are left out of both. Rollouts that were lost in flight and count were continued from their prefix or asked again; these, and surplus ones, are means. From the command to the first request it takes %.2f s (median; at most %.2f s).\n\n",
		startups[len(startups)/2], startups[len(startups)-1])
	_, err := io.WriteString(w, b.String())
	return err
}
