package agreement

import (
	"fmt"
	"math"
	"strconv"

	"speceval/internal/table"
)

// line is a cell as a row of text. A cell has its own decimals, those of the
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
	obtained, paper := Rounded(c.Obtained, more, ""), Rounded(c.Expected(), c.Decimals, "")
	if c.PaperName != "" {
		paper = table.Text(c.PaperName)
		obtained = table.Text(c.ObtainedName)
		if c.ObtainedName == "" {
			obtained = table.Missing()
		}
	}
	return []table.Cell{table.Text(c.Row), table.Text(c.Column), obtained, paper,
		Rounded(c.Difference, more, "+"), Rounded(c.SE, errors, ""), Rounded(c.SEs, 1, ""),
		table.Text(verdict)}
}

// rounded is a number with its own decimals, with a plus sign if asked for.
func Rounded(v *float64, decimals int, plus string) table.Cell {
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

// sides are what the two numbers of a cell are called.
func (c Comparison) Sides() (obtained, expected string) {
	if c.Live {
		return "measured", "predicted"
	}
	return "obtained", "paper"
}

// wanted says what a measured number should have been.
func (c Comparison) Wanted() string {
	switch expected := c.Line()[3]; {
	case !expected.IsMissing():
		return expected.Exact() + " was predicted"
	case c.Tolerance != nil:
		return fmt.Sprintf("less than %g was claimed", *c.Tolerance)
	}
	return "nothing was predicted"
}

// liveReason is why a measured cell has its verdict, in words.
func (c Comparison) LiveReason() string {
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
		return "by exact tests at the stated rate of false alarms"
	}
	return "nothing stored to compare"
}

// reason is why a cell has its verdict, in words.
func (c Comparison) Reason() string {
	if c.Live {
		return c.LiveReason()
	}
	why := ""
	switch {
	case c.Verdict == Agrees && c.Difference == nil:
		why = "it is the paper's"
	case c.Score != nil && c.SEs != nil:
		why = fmt.Sprintf("%.1f standard deviations of one suite, %.2g each with the Monte Carlo error of the mean; more than %d differ", *c.SEs, *c.SE, Deviations)
	case c.Verdict == Agrees && BeyondRounding(*c.Obtained, *c.Paper, c.Decimals) == 0:
		why = fmt.Sprintf("rounded to the paper's %s it is the paper's number", decimalsInWords(c.Decimals))
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
	switch {
	case c.Note == "":
		return why
	case why == "":
		return c.Note
	}
	return why + "; " + c.Note
}

func decimalsInWords(n int) string {
	switch n {
	case 0:
		return "whole number"
	case 1:
		return "1 decimal"
	}
	return fmt.Sprintf("%d decimals", n)
}

// Sentence is what a number is compared with, the difference, the verdict and why.
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
