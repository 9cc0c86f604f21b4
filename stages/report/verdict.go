package report

import (
	"math"
)

// Verdict is the outcome of one comparison: with the paper, or of what was
// measured with what was predicted.
type Verdict string

// Verdicts. The first three pass, the last two neither pass nor fail.
const (
	Agrees      Verdict = "agrees"              // rounds to the paper's number, or is within the table's tolerance
	WithinNoise Verdict = "agrees within noise" // no further than 3 standard errors
	Tie         Verdict = "tie within noise"    // another choice, as good as the paper's within 3 standard errors
	Differs     Verdict = "differs"
	Absent      Verdict = "missing" // not among the results, though their stage has run
	NotRun      Verdict = "not run" // the stage that finds it out has not run
	Shown       Verdict = "shown"   // beside the paper's, which it need not equal
)

// Passes reports whether the verdict is one of agreement.
func (v Verdict) Passes() bool { return v == Agrees || v == WithinNoise || v == Tie }

const (
	// sigmas is how many standard errors of a difference count as noise. At
	// 3, noise alone fails 0.3% of the cells whose rounding leaves no slack.
	sigmas = 3

	// table1Tolerance is the accepted difference of a Monte Carlo mean of
	// Table 1, whatever its standard error.
	table1Tolerance = 0.001

	// float is the slack for the rounding of decimal fractions to float64.
	float = 1e-12
)

// Cell is an obtained number beside the paper's or, if Live, a measured one
// beside its prediction.
type Cell struct {
	Table  string `json:"table"`
	Row    string `json:"row"`
	Column string `json:"column"`

	// Obtained and Paper are numbers, or the names beneath where the paper
	// gives a name. Obtained is null when missing.
	Obtained     *float64 `json:"obtained"`
	Paper        *float64 `json:"paper"`
	Predicted    *float64 `json:"predicted,omitempty"` // in the paper's place where Live
	Live         bool     `json:"live,omitempty"`
	ObtainedName string   `json:"obtained_name,omitempty"`
	PaperName    string   `json:"paper_name,omitempty"`

	Difference *float64 `json:"difference"` // obtained − paper, or measured − predicted

	// SE is the Monte Carlo standard error of Difference: √2 times our own,
	// since the paper's run has the same sizes and noise of its own; of a live
	// one it has the errors of both sides. It is null for a number without noise.
	SE *float64 `json:"se"`

	// SEs is the distance from the interval of numbers that print as the
	// paper's, in standard errors; null where there is no noise.
	SEs *float64 `json:"ses"`

	// Tolerance is how far a simulated number may be from the paper's, null
	// for the others. Its SE is by how much the published suite, a single one,
	// differs from the mean over repeats by chance, and SEs counts from the
	// tolerance.
	Tolerance *float64 `json:"tolerance,omitempty"`

	Verdict Verdict `json:"verdict"`
	Note    string  `json:"note,omitempty"` // why, where that is not plain

	decimals int // of the paper's number
}

// rule says how a number of the paper was printed and what counts as equal.
type rule struct {
	decimals  int     // of the printed number: it is exact to half a unit of the last
	tolerance float64 // accepted difference whatever the noise
}

// compare holds an estimate against a printed number. se is ours: the
// difference has √2 times as much.
func compare(obtained Estimate, paper float64, r rule) Cell {
	c := beside(obtained.Value, paper, r.decimals)
	se := math.Sqrt2 * obtained.SE
	beyond := beyondRounding(obtained.Value, paper, r.decimals)
	if se > 0 {
		ses := beyond / se
		c.SE, c.SEs = &se, &ses
	}
	switch {
	case beyond == 0 || math.Abs(*c.Difference) <= r.tolerance+float:
		c.Verdict = Agrees
	case beyond <= sigmas*se:
		c.Verdict = WithinNoise
	default:
		c.Verdict = Differs
	}
	return c
}

// beside is a cell of two numbers without a verdict.
func beside(obtained, paper float64, decimals int) Cell {
	difference := obtained - paper
	return Cell{Obtained: &obtained, Paper: &paper, Difference: &difference, decimals: decimals}
}

// beyondRounding is the distance of v from the interval of numbers that print
// as paper at its decimals: half a unit of the last one on either side.
func beyondRounding(v, paper float64, decimals int) float64 {
	half := 0.5 * math.Pow(10, float64(-decimals))
	beyond := math.Abs(v-paper) - half
	if beyond <= float {
		return 0
	}
	return beyond
}

// absent is the cell of a number that the stored results lack.
func absent(paper float64, decimals int, note string) Cell {
	return Cell{Paper: &paper, Verdict: Absent, Note: note, decimals: decimals}
}

// expected is the paper's number, or the predicted one.
func (c Cell) expected() *float64 {
	if c.Live {
		return c.Predicted
	}
	return c.Paper
}

// in places a cell in the paper.
func (c Cell) in(table, row, column string) Cell {
	c.Table, c.Row, c.Column = table, row, column
	return c
}

// noted adds a reason to a cell.
func (c Cell) noted(note string) Cell { c.Note = note; return c }

// choice is the verdict on another choice than the paper's: a tie if the
// paper's is worse under our numbers by no more than noise. loss is how much
// worse, se the standard error of our loss; the paper chose under noise of
// its own, hence √2.
func choice(c Cell, loss, se float64) Cell {
	total := math.Sqrt2 * se
	c.SE = nil
	if total > 0 {
		ses := loss / total
		c.SEs = &ses
	}
	if loss <= sigmas*total {
		c.Verdict = Tie
	} else {
		c.Verdict = Differs
	}
	return c
}
