package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"speceval/drills/evaluated"
	"speceval/drills/timed"
)

// pair is the evaluations at one budget, by HBN-async and by Uniform, in order.
type pair struct {
	budget       int
	hbn, uniform []*evaluated.Result
}

// pairs sorts the runs by budget.
func pairs(runs []*evaluated.Result) (all []pair) {
	for _, budget := range budgets {
		p := pair{budget: budget}
		for _, r := range runs {
			switch {
			case r.Budget != budget:
			case r.Policy == evaluated.Uniform:
				p.uniform = append(p.uniform, r)
			default:
				p.hbn = append(p.hbn, r)
			}
		}
		if len(p.hbn) > 0 {
			all = append(all, p)
		}
	}
	return all
}

func tallyOf(runs []*evaluated.Result, mean float64) *evaluated.Tally {
	var t evaluated.Tally
	for _, r := range runs {
		t.Add(r.Outcome(), mean)
	}
	return &t
}

// times is HBN's time relative to Uniform's: the geometric mean over pairs of runs
// that stood side by side, with its standard error. Runs that were interrupted, and
// those beside them, are left out; it is NaN of fewer than two.
func (p pair) times() (ratio, se float64, n int) {
	var logs []float64
	for i, h := range p.hbn {
		if u := p.uniform[i]; h.Sessions == 1 && u.Sessions == 1 {
			logs = append(logs, math.Log(h.Seconds/u.Seconds))
		}
	}
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

// seconds is the mean time of runs, from the first request to the last reward.
func seconds(runs []*evaluated.Result) float64 {
	sum := 0.0
	for _, r := range runs {
		sum += r.Seconds
	}
	return sum / float64(len(runs))
}

// report prints what came of it, and checks it.
func report(w io.Writer, truth *truth, runs []*evaluated.Result) error {
	all := pairs(runs)
	if err := errorTable(w, truth, all); err != nil {
		return err
	}
	if err := timeTable(w, all, runs); err != nil {
		return err
	}
	return check(w, truth, all)
}

// errorTable prints errors and variances as Markdown.
func errorTable(w io.Writer, truth *truth, all []pair) error {
	var b strings.Builder
	fmt.Fprint(&b, "| b | policy | runs | bias | coverage | √(stated/seen) | interval | variance/Uniform's by the profile | /Uniform's as measured | by the replay |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range all {
		predicted, err := truth.predictions.Of(truth.profile, p.budget)
		if err != nil {
			return err
		}
		hbn, uniform := tallyOf(p.hbn, truth.profile.Mean()), tallyOf(p.uniform, truth.profile.Mean())
		h, hSE := truth.ratio(hbn, p.budget)
		u, uSE := truth.ratio(uniform, p.budget)
		ratio, se := evaluated.Quotient(h, hSE, u, uSE)
		line := func(name string, t *evaluated.Tally, r, rSE float64, rest string) {
			fmt.Fprintf(&b, "| %d | %s | %d | %+.5f (%+.1f s.e.) | %.0f%% ± %.0f | %.2f | %.4f | %.2f ± %.2f | %s |\n", p.budget, name, t.Evaluations,
				t.Bias(), truth.biasScore(t), 100*t.Coverage(), 100*evaluated.ShareError(nominal, t.Evaluations), t.Calibration(), t.Length(), r, rSE, rest)
		}
		line("HBN-async", hbn, h, hSE, fmt.Sprintf("%.2f ± %.2f | %.3f ± %.3f", ratio, se, predicted.VarianceRatio, predicted.RatioSE))
		line("Uniform", uniform, u, uSE, "1 | 1")
	}
	fmt.Fprintf(&b, "\nErrors are to the mean %.5f of the profile, of %d rollouts of each of %d tasks, whose own standard error of %.5f counts in the bias and is taken off the variance. Coverage stands beside the standard deviation of a share of 95%%.\n\n",
		truth.profile.Mean(), truth.profile.TestedK, truth.profile.N(), math.Sqrt(truth.variance()))
	_, err := io.WriteString(w, b.String())
	return err
}

// timeTable prints times as Markdown.
func timeTable(w io.Writer, all []pair, runs []*evaluated.Result) error {
	var b strings.Builder
	fmt.Fprint(&b, "| b | HBN-async, s | Uniform, s | ratio | pairs | surplus rollouts | wasted tokens |\n|---|---|---|---|---|---|---|\n")
	for _, p := range all {
		ratio, se, n := p.times()
		extra, wasted, tokens := 0, int64(0), int64(0)
		for _, r := range p.hbn {
			extra, wasted, tokens = extra+r.Extra, wasted+r.Tokens.Wasted, tokens+r.Tokens.Completion
		}
		fmt.Fprintf(&b, "| %d | %.1f | %.1f | %.3f ± %.3f | %d | %.1f | %.2f%% |\n", p.budget, seconds(p.hbn), seconds(p.uniform), ratio, se, n,
			float64(extra)/float64(len(p.hbn)), 100*float64(wasted)/float64(tokens))
	}
	var startups []float64
	for _, r := range runs {
		startups = append(startups, r.Startup)
	}
	slices.Sort(startups)
	fmt.Fprintf(&b, "\nSeconds are from the first request to the last reward; the ratio is the geometric mean over runs side by side. From the command to the first request it takes %.2f s (median; at most %.2f s).\n\n",
		startups[len(startups)/2], startups[len(startups)-1])
	_, err := io.WriteString(w, b.String())
	return err
}

// nominal is the coverage that intervals claim.
const nominal = 0.95

// Bounds of the checks. Two budgets of two policies make four numbers of a kind, of
// which one is beyond three standard errors in 1 of 100 drills, and a coverage of
// 95% is three standard deviations too low in fewer.
const (
	mostScore     = 3
	leastEvidence = 10 // evaluations from which numbers are judged
)

// check holds the numbers to what they must be.
func check(w io.Writer, truth *truth, all []pair) error {
	var bias, coverage, ratio []error
	judged := 0
	for _, p := range all {
		predicted, err := truth.predictions.Of(truth.profile, p.budget)
		if err != nil {
			return err
		}
		for _, of := range []struct {
			runs      []*evaluated.Result
			want, wSE float64
		}{{p.hbn, predicted.VarianceRatio, predicted.RatioSE}, {p.uniform, 1, 0}} {
			if len(of.runs) < leastEvidence {
				continue
			}
			judged++
			t := tallyOf(of.runs, truth.profile.Mean())
			where := fmt.Sprintf("%s at %d", of.runs[0].Policy, p.budget)
			if z := truth.biasScore(t); math.Abs(z) > mostScore {
				bias = append(bias, fmt.Errorf("%s: %.1f standard errors", where, z))
			}
			if z := (nominal - t.Coverage()) / evaluated.ShareError(nominal, t.Evaluations); z > mostScore {
				coverage = append(coverage, fmt.Errorf("%s: %.0f%%", where, 100*t.Coverage()))
			}
			r, _ := truth.ratio(t, p.budget)
			if z := evaluated.VarianceScore(r, of.want, of.wSE, t.Evaluations); math.Abs(z) > mostScore {
				ratio = append(ratio, fmt.Errorf("%s: %.2f, want %.2f: %.1f standard errors", where, r, of.want, z))
			}
		}
	}
	fmt.Fprintf(w, "%d of %d kinds of runs have the %d evaluations that it takes to judge them\n", judged, 2*len(all), leastEvidence)
	return timed.Print(w, []timed.Check{
		{What: fmt.Sprintf("no bias of more than %d standard errors", mostScore), Fault: errors.Join(bias...)},
		{What: fmt.Sprintf("coverage is 95%%, or not less by more than %d standard deviations", mostScore), Fault: errors.Join(coverage...)},
		{What: fmt.Sprintf("variances are Uniform's and the replay's, within %d standard errors", mostScore), Fault: errors.Join(ratio...)},
	})
}
