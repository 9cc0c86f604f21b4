package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"speceval/drills/evaluated"
	"speceval/drills/timed"
)

// seenBias is how many standard errors the bias of asking again must have, or the
// drill would not see what it is for.
const seenBias = 4

// lossTable prints arms as Markdown.
func lossTable(w io.Writer, arms ...*arm) error {
	var b strings.Builder
	fmt.Fprint(&b, "\n| | evaluations | kills | lost rollouts that count: continued | asked again | bias | stated: too high by at most | too low by at most | coverage | s |\n|---|---:|---:|---:|---:|---|---:|---:|---:|---:|\n")
	for _, a := range arms {
		t := a.tally()
		fmt.Fprintf(&b, "| %s | %d | %d | %.1f | %.1f | %+.4f ± %.4f (%+.1f s.e.) | %.4f | %.4f | %.1f%% ± %.1f | %.2f |\n",
			a.what, t.Evaluations, a.hits, a.continued, a.again, t.Bias(), t.BiasError(), t.BiasScore(), a.tooHigh, a.tooLow,
			100*t.Coverage(), 100*evaluated.ShareError(nominal, t.Evaluations), a.seconds)
	}
	fmt.Fprintf(&b, "\nMeans over evaluations, each of %d rollouts that count.\n\n", arms[0].results[0].Rollouts)
	_, err := io.WriteString(w, b.String())
	return err
}

// checkLosses holds the arms to what they must be.
func checkLosses(w io.Writer, before, after *arm) error {
	was, is := before.tally(), after.tally()
	bound := bonferroni(1, falseAlarms)
	var visible, stated, unbiased, coverage error
	if was.BiasScore() < seenBias {
		visible = fmt.Errorf("%.1f standard errors", was.BiasScore())
	}
	slack := bound * was.BiasError()
	if was.Bias() > before.tooHigh+slack || -was.Bias() > before.tooLow+slack {
		stated = fmt.Errorf("a bias of %+.4f, stated are +%.4f and −%.4f", was.Bias(), before.tooHigh, before.tooLow)
	}
	if z := math.Abs(is.BiasScore()); z > bound {
		unbiased = fmt.Errorf("%.1f standard errors", z)
	}
	if out := outside(is.Coverage(), lowest, highest, is.Evaluations); out > mostOutside {
		coverage = fmt.Errorf("%.1f%%", 100*is.Coverage())
	}
	return timed.Print(w, []timed.Check{
		{What: "every killed evaluation went on to N·b rollouts, and its files recount to its result"}, // or it would have ended the drill
		{What: fmt.Sprintf("asked again, the mean is biased: by more than %d standard errors", seenBias), Fault: visible},
		{What: "and by no more than the results state", Fault: stated},
		{What: "servers that continue have no rollout asked again, and continue some", Fault: errors.Join(after.counts(false), before.counts(true))},
		{What: fmt.Sprintf("continued, the mean has no bias of more than %.2f standard errors", bound), Fault: unbiased},
		{What: fmt.Sprintf("and its coverage is 93–97%%, or not outside by more than %d standard deviations", mostOutside), Fault: coverage},
	})
}

// counts says which counts of lost rollouts cannot be, where they are asked again or
// continued.
func (a *arm) counts(again bool) error {
	if min(a.continued, a.again) > 0 || again && a.again < 1 || !again && a.continued < 1 {
		return fmt.Errorf("%s: %.2f rollouts of an evaluation were continued and %.2f asked again", a.what, a.continued, a.again)
	}
	return nil
}
