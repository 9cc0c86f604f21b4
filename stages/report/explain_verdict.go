package report

import (
	"fmt"
	"math"
)

// reason is why a cell has its verdict, in words.
func (c Cell) reason() string {
	if c.Live {
		return c.liveReason()
	}
	why := ""
	switch {
	case c.Verdict == Agrees && c.Difference == nil:
		why = "it is the paper's"
	case c.Verdict == Agrees && c.Tolerance != nil:
		why = fmt.Sprintf("no further than the %g that a simulated number may be from the paper's", *c.Tolerance)
	case c.Verdict == Agrees && beyondRounding(*c.Obtained, *c.Paper, c.decimals) == 0:
		why = fmt.Sprintf("rounded to the paper's %s it is the paper's number", decimalsInWords(c.decimals))
	case c.Verdict == Agrees:
		why = "no further than the tolerance of this table"
	case c.Verdict == WithinNoise && c.SEs != nil:
		why = fmt.Sprintf("beyond rounding and tolerance by %.2f standard errors of the difference, %.2g each; up to %d are noise", *c.SEs, *c.SE, sigmas)
	case c.Verdict == Tie:
		why = "another choice than the paper's, which would be no better beyond noise"
	case c.Verdict == Differs && c.SEs != nil:
		why = fmt.Sprintf("beyond rounding and tolerance by %.2f standard errors; more than %d are no noise", *c.SEs, sigmas)
	case c.Verdict == Differs && c.Difference != nil:
		why = fmt.Sprintf("further than rounding by %.3g, and it has no noise", math.Abs(beyondRounding(*c.Obtained, *c.Paper, c.decimals)))
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
