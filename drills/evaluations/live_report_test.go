//go:build drill

package evaluations_test

import (
	"fmt"
	"math"
	"strings"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/profile"
)

// leastEvidence is the number of evaluations from which rows are judged.
const leastEvidence = 10

// liveRow is the evaluations of an arm at a budget, by round.
type liveRow struct {
	*row
	arm     liveArm
	uniform []*evaluation.Result // by round; none where Uniform was not evaluated
}

// rows are the runs by budget and arm, each in the order of its rounds.
func (p *live) rows(truth profile.Profile, turns []*turn) (all []liveRow) {
	for _, at := range liveBudgets {
		var byUniform []*evaluation.Result
		for _, a := range liveArms {
			var results []*evaluation.Result
			var last *turn
			for _, t := range turns {
				if t.arm == a && t.budget == at.budget {
					results, last = append(results, t.Result), t
				}
			}
			if last == nil {
				continue
			}
			if a.policy == uniform {
				byUniform = results
			}
			r := newRow(a.name, at.budget, truth, results, uniformVariance(truth, float64(truth.TestedK)))
			r.predicted = p.predict(truth, last.order)
			for _, one := range results {
				if one.Sessions == 1 {
					r.startups = append(r.startups, one.Startup)
				}
			}
			all = append(all, liveRow{r, a, byUniform})
		}
	}
	return all
}

// times is the time relative to Uniform's: the geometric mean over rounds, of runs that
// were not interrupted, with its standard error. It is NaN of fewer than two rounds.
func (g liveRow) times() (ratio, se float64, n int) {
	var logs []float64
	for round, r := range g.results {
		if round < len(g.uniform) && r.Sessions == 1 && g.uniform[round].Sessions == 1 {
			logs = append(logs, math.Log(r.Seconds/g.uniform[round].Seconds))
		}
	}
	mean, se := meanOf(logs)
	return math.Exp(mean), math.Exp(mean) * se, len(logs)
}

// pooled is the bias of all rows together, each by the inverse of its variance, in
// standard errors. The profile's error is the same in all of them.
func pooled(rows []liveRow) (bias, score float64) {
	weights, sum := 0.0, 0.0
	for _, r := range rows {
		se := r.biasError()
		weights, sum = weights+1/(se*se), sum+r.bias()/(se*se)
	}
	bias = sum / weights
	return bias, bias / math.Sqrt(1/weights+rows[0].truthVar)
}

// liveReport prints the results and checks them.
func liveReport(l *drill.Lab, rows []liveRow) {
	var all, evident, killed []*row
	for _, r := range rows {
		all = append(all, r.row)
		if r.Evaluations >= leastEvidence {
			evident = append(evident, r.row)
		}
		if r.arm.killed {
			killed = append(killed, r.row)
		}
	}
	table(all)
	timeTable(rows)
	bias, score := pooled(rows)
	l.Logf("The profile's mean is %.5f ± %.5f. The bias of all runs together is %+.5f (%+.1f s.e.).",
		all[0].profile.Mean(), math.Sqrt(all[0].truthVar), bias, score)
	l.Logf("%d of %d rows have the %d evaluations that it takes to judge them", len(evident), len(rows), leastEvidence)
	most := bonferroni(3*len(evident), falseAlarms) // bias, coverage and variance of each
	unbiased(l, evident, most)
	covered(l, evident, nominal, 1, most)
	asPredicted(l, evident, most)
	killedAndResumed(l, killed, 0.5)
}

// timeTable prints times as Markdown: seconds from the first request to the last reward,
// without runs that were resumed, and their geometric mean ratio over rounds.
func timeTable(rows []liveRow) {
	var cells [][]any
	for _, r := range rows {
		ratio, se, n := r.times()
		var undisturbed []float64
		for _, one := range r.results {
			if one.Sessions == 1 {
				undisturbed = append(undisturbed, one.Seconds)
			}
		}
		mean, _ := meanOf(undisturbed)
		seconds, times := fmt.Sprintf("%.1f", mean), fmt.Sprintf("%.3f ± %.3f", ratio, se)
		if r.arm.killed { // those that end before their kill are the short ones
			seconds, times, n = "–", "–", 0
		}
		cells = append(cells, []any{r.budget, r.what, seconds, times, n, r.resumed})
	}
	drill.Table(strings.Split("b:|arm|seconds:|/Uniform's|rounds:|resumed:", "|"), cells)
}
