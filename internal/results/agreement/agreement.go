// Package agreement says whether what was measured is what was predicted: a
// time, a variance relative to another, a mean, a share of a processor. Every
// comparison has a stated tolerance and a standard error, and a stated rate of
// false alarms.
package agreement

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/terminal/table"
)

// Verdict is the outcome of one comparison: with the paper, or of what was
// measured with what was predicted, in words that tables show.
type Verdict string

// Verdicts. The first four pass, Differs and Absent fail, the others do neither.
const (
	Agrees  Verdict = "agrees"              // rounds to the expected number, or is within the tolerance
	Within  Verdict = "agrees within noise" // no further than Sigmas standard errors
	Tie     Verdict = "tie within noise"    // another choice, as good as the expected one within Sigmas standard errors
	Near    Verdict = "within 2 s.d."       // of a forecast: no further than Deviations of its standard deviations
	Differs Verdict = "differs"
	Absent  Verdict = "missing"         // not among the results, though their stage has run
	NotRun  Verdict = "not run"         // the stage that finds it out has not run
	Shown   Verdict = "shown"           // no claim is made about it
	Fitted  Verdict = "fitted"          // shown: the prediction has seen the measurement
	TooFew  Verdict = "not enough runs" // shown: fewer than LeastRuns
)

var passing = []Verdict{Agrees, Within, Tie, Near}

// Passes reports whether the verdict is one of agreement.
func (v Verdict) Passes() bool { return slices.Contains(passing, v) }

const (
	// Sigmas is how many standard errors count as noise: chance alone exceeds it
	// in 0.3% of comparisons.
	Sigmas = 3

	// Float is the slack for the rounding of decimal fractions to float64.
	Float = 1e-12

	// TimeTolerance is how far a predicted time may be from the measured one,
	// relative to that, whatever its error.
	TimeTolerance = 0.05

	// LeastRuns is how many runs a variance is estimated from at least. From 10
	// runs its standard error is half of it.
	LeastRuns = 10

	// FalseAlarms is the probability that two profiles that count rollouts of the
	// same success probabilities are said to differ, by all tests together.
	FalseAlarms = 0.01

	// MostCPU is the share of the processors of its machine that the orchestrator
	// takes less than during a timed run.
	MostCPU = 0.05
)

// Estimate is a number with its standard error: 0 when exact, NaN when unknown.
type Estimate struct{ Value, SE float64 }

// Time compares a measured time with a predicted one, by the standard error of
// their difference. An unknown error leaves the tolerance alone to judge by.
func Time(measured, predicted, se float64) Comparison {
	d, most := measured-predicted, TimeTolerance*measured
	return Against(measured, predicted, se, d/se, 2).within(most, math.Abs(d) <= most)
}

// Mean compares the mean of a sample with the number that it estimates. That of a
// single run has an unknown error.
func Mean(s Sample, truth Estimate) Comparison {
	se := math.NaN()
	if s.Runs > 1 {
		se = math.Hypot(math.Sqrt(s.Variance/float64(s.Runs)), truth.SE)
	}
	return Against(s.Mean, truth.Value, se, (s.Mean-truth.Value)/se, 4).of(s.Runs)
}

// CPU judges the orchestrator's share of the processors.
func CPU(share float64) Comparison {
	return Against(share, math.NaN(), 0, math.NaN(), 4).within(MostCPU, share < MostCPU)
}

// Class says where a number that is compared comes from, and so what it is worth
// that it agrees.
type Class string

// Classes of numbers. The numbers of the first two are evidence for the paper, and
// decide; so are those that were measured here for what was predicted of them.
const (
	Computed     Class = "computed"      // by our own computation, from profiles and seeds
	Reaggregated Class = "re-aggregated" // sums of the authors' own measurements
	Copied       Class = "copied"        // constants of the authors, and counts of what was imported of theirs
	Predicted    Class = "predicted"     // of the simulated fleet, whose fit has not seen it
	InFit        Class = "fitted"        // of the simulated fleet, whose fit has seen it
	Measured     Class = "measured"      // on servers other than the paper's
)

// Classes are all of them, in the order in which they are counted.
var Classes = []Class{Computed, Reaggregated, Copied, Predicted, InFit, Measured}

// Decides reports whether a number of the class that does not agree makes the whole
// comparison fail. A prediction tells how good the simulated fleet is and a copy
// that it was copied; neither tells anything of the method.
func (c Class) Decides() bool { return c == Computed || c == Reaggregated || c == Measured }

// Line is a cell as a row of text. A cell has its own decimals, those of the
// paper's number and two more, so it is rounded here, at the edge.
func (c Comparison) Line() []table.Cell {
	verdict := string(c.Verdict)
	if c.Note != "" {
		verdict += ": " + c.Note
	}
	more := c.Decimals
	if c.Decimals >= 3 || c.Decimals > 0 && c.SE != nil {
		more += 2
	}
	errors := c.Decimals + 2
	if c.Live {
		more, errors = c.Decimals, c.Decimals
	}
	obtained, paper := rounded(c.Obtained, more, ""), rounded(c.Expected(), c.Decimals, "")
	if c.PaperName != "" {
		obtained, paper = table.Missing(), table.Text(c.PaperName)
		if c.ObtainedName != "" {
			obtained = table.Text(c.ObtainedName)
		}
	}
	return []table.Cell{table.Text(c.Row), table.Text(c.Column), obtained, paper,
		rounded(c.Difference, more, "+"), rounded(c.SE, errors, ""), rounded(c.SEs, 1, ""),
		table.Text(verdict)}
}

// rounded is a number with its own decimals, with a plus sign if asked for.
func rounded(v *float64, decimals int, plus string) table.Cell {
	if v == nil {
		return table.Missing()
	}
	// Half a unit below zero prints as 0, not −0.
	if math.Abs(*v) < 0.5*math.Pow(10, float64(-decimals)) {
		plus = ""
		v = new(float64)
	}
	return table.Text(fmt.Sprintf("%"+plus+".*f", decimals, *v))
}

// Sides are the names of the two numbers of a cell.
func (c Comparison) Sides() (obtained, expected string) {
	if c.Live {
		return "measured", "predicted"
	}
	return "obtained", "paper"
}

// Wanted says what a measured number should have been.
func (c Comparison) Wanted() string {
	switch expected := c.Line()[3]; {
	case !expected.IsMissing():
		return expected.Exact() + " was predicted"
	case c.Tolerance != nil:
		return fmt.Sprintf("less than %g was claimed", *c.Tolerance)
	}
	return "nothing was predicted"
}

// Reason is why a cell has its verdict, in words.
func (c Comparison) Reason() string {
	why := ""
	switch {
	case c.Live:
		return c.liveReason()
	case c.Verdict == Agrees && c.Difference == nil:
		why = "it is the paper's"
	case c.Score != nil && c.SEs != nil:
		why = fmt.Sprintf("%.1f standard deviations of one suite, %.2g each with the Monte Carlo error of the mean; more than %d differ", *c.SEs, *c.SE, Deviations)
	case c.Verdict == Agrees && BeyondRounding(*c.Obtained, *c.Paper, c.Decimals) == 0:
		decimals := [...]string{"whole number", "1 decimal", fmt.Sprintf("%d decimals", c.Decimals)}[min(2, c.Decimals)]
		why = fmt.Sprintf("rounded to the paper's %s it is the paper's number", decimals)
	case c.Verdict == Agrees:
		why = "no further than the tolerance of this table"
	case c.Verdict == Within && c.SEs != nil:
		why = fmt.Sprintf("beyond rounding and tolerance by %.2f standard errors of the difference, %.2g each; up to %d are noise", *c.SEs, *c.SE, Sigmas)
	case c.Verdict == Tie:
		why = "another choice than the paper's, which would be no better beyond noise"
	case c.Verdict == Differs && c.SEs != nil:
		why = fmt.Sprintf("beyond rounding and tolerance by %.2f standard errors; more than %d are no noise", *c.SEs, Sigmas)
	case c.Verdict == Differs && c.Difference != nil:
		why = fmt.Sprintf("further than rounding by %.3g, and it has no noise", math.Abs(BeyondRounding(*c.Obtained, *c.Paper, c.Decimals)))
	case c.Verdict == Shown:
		why = "beside the paper's, which it need not equal"
	case c.Verdict == Absent, c.Verdict == NotRun:
		why = "nothing stored to compare"
	}
	return strings.Trim(why+"; "+c.Note, "; ")
}

// liveReason is why a measured cell has its verdict, in words.
func (c Comparison) liveReason() string {
	switch {
	case c.Note != "":
		return c.Note
	case c.Predicted == nil && c.Tolerance != nil:
		return fmt.Sprintf("less than %g is the claim", *c.Tolerance)
	case c.Verdict == Agrees && c.Tolerance != nil:
		return fmt.Sprintf("no further than the %.3g that are %g%% of the measured time", *c.Tolerance, 100*TimeTolerance)
	case c.SEs != nil:
		return fmt.Sprintf("%.2f standard errors of the difference, %.2g each; up to %d are noise", *c.SEs, *c.SE, Sigmas)
	case c.Difference != nil:
		return "beyond the tolerance, and its error is not known"
	}
	return "nothing stored to compare"
}

// Sentence names the number to compare with, the difference, the verdict and why.
func (c Comparison) Sentence() string {
	text := "paper: "
	if c.Live {
		text = "predicted: "
	}
	switch expected := c.Expected(); {
	case c.PaperName != "":
		text += c.PaperName
	case expected != nil:
		text += strconv.FormatFloat(*expected, 'g', -1, 64)
	case c.Live:
		text = "verdict"
	}
	if c.Difference != nil {
		text += fmt.Sprintf("; difference %+.6g", *c.Difference)
		if c.SE != nil {
			text += fmt.Sprintf(" ± %.2g", *c.SE)
		}
	}
	return fmt.Sprintf("%s: %s (%s)", text, c.Verdict, c.Reason())
}
