package agreement

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"speceval/internal/store/group"
	"speceval/internal/terminal/table"
)

// Comparison compares an obtained number with the paper's or, if Live, a measured
// one with its prediction.
type Comparison struct {
	Table  string `json:"table"`
	Row    string `json:"row"`
	Column string `json:"column"`
	Class  Class  `json:"class"`

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
	// one it has the errors of both sides. Of a forecast it is the standard
	// deviation of that. It is null for a number without noise.
	SE *float64 `json:"se"`

	// SEs is the distance from the interval of numbers that print as the
	// paper's, in standard errors; of a forecast, from the paper's number. It is
	// null where there is no noise.
	SEs *float64 `json:"ses"`

	Z float64 `json:"-"` // the same with its sign, of a measured number; NaN where it is not known

	// Tolerance is how far a measured number may be from the predicted one, null
	// for the others.
	Tolerance *float64 `json:"tolerance,omitempty"`

	// Naive is the forecast of a naive fleet. Score is the CRPS of a forecast, in
	// the unit of the number, and NaiveScore the naive one's.
	Naive      *float64 `json:"naive,omitempty"`
	Score      *float64 `json:"score,omitempty"`
	NaiveScore *float64 `json:"naive_score,omitempty"`

	Verdict Verdict `json:"verdict"`
	Note    string  `json:"note,omitempty"` // why, where that is not plain

	Decimals int `json:"-"` // of the paper's number
}

// Compare holds an estimate against a number of the paper, printed with so many
// decimals. The estimate's error is ours: the difference has √2 times as much. A
// difference within the tolerance agrees whatever the noise.
func Compare(obtained Estimate, paper float64, decimals int, tolerance float64) Comparison {
	c := Beside(obtained.Value, paper, decimals)
	se := math.Sqrt2 * obtained.SE
	beyond := BeyondRounding(obtained.Value, paper, decimals)
	if se > 0 {
		c.SE, c.SEs = &se, new(beyond/se)
	}
	switch {
	case beyond == 0 || math.Abs(*c.Difference) <= tolerance+Float:
		c.Verdict = Agrees
	case beyond <= Sigmas*se:
		c.Verdict = Within
	default:
		c.Verdict = Differs
	}
	return c
}

// Beside compares two numbers without a verdict.
func Beside(obtained, paper float64, decimals int) Comparison {
	return Comparison{Obtained: &obtained, Paper: &paper, Difference: new(obtained - paper), Decimals: decimals}
}

// BeyondRounding is the distance of v from the interval of numbers that print
// as paper at its decimals: half a unit of the last one on either side.
func BeyondRounding(v, paper float64, decimals int) float64 {
	half := 0.5 * math.Pow(10, float64(-decimals))
	beyond := math.Abs(v-paper) - half
	if beyond <= Float {
		return 0
	}
	return beyond
}

// Lacking is the comparison of a number that the stored results lack.
func Lacking(paper float64, decimals int, note string) Comparison {
	return Comparison{Paper: &paper, Verdict: Absent, Note: note, Decimals: decimals}
}

// Against compares a measured number with a predicted one; NaN stands for a number that is not
// there. se is the standard error of the difference, and z the difference in such errors: an
// unknown one excuses nothing. They are shown with some decimals.
func Against(obtained, predicted, se, z float64, decimals int) Comparison {
	c := Comparison{Live: true, Class: Measured, Obtained: finite(obtained), Predicted: finite(predicted), Z: z, Verdict: Differs, Decimals: decimals}
	if c.Obtained == nil || c.Predicted == nil {
		return c
	}
	c.Difference = new(obtained - predicted)
	if math.Abs(z) <= Sigmas || *c.Difference == 0 {
		c.Verdict = Within
	}
	if se > 0 && finite(se) != nil {
		c.SE, c.SEs = &se, new(math.Abs(z))
	}
	return c
}

// finite is a number, nil where it is not finite.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// within gives a measured number a tolerance: of its difference or, where nothing is
// predicted, of itself.
func (c Comparison) within(tolerance float64, agrees bool) Comparison {
	c.Tolerance = &tolerance
	if agrees {
		c.Verdict = Agrees
	}
	return c
}

// of has a measured number judged only if it is of enough runs, and something is predicted.
func (c Comparison) of(runs int) Comparison {
	switch {
	case runs < LeastRuns:
		c.Verdict = TooFew
	case c.Predicted == nil:
		c.Verdict = Shown
	}
	return c
}

// Expected is the paper's number, or the predicted one.
func (c Comparison) Expected() *float64 {
	if c.Live {
		return c.Predicted
	}
	return c.Paper
}

// In places a comparison.
func (c Comparison) In(table, row, column string) Comparison {
	c.Table, c.Row, c.Column = table, row, column
	return c
}

// As gives the number its class.
func (c Comparison) As(class Class) Comparison { c.Class = class; return c }

// Shown makes it one without a verdict, for a reason.
func (c Comparison) Shown(note string) Comparison {
	c.Verdict, c.Note = Shown, note
	return c
}

// Noted adds a reason.
func (c Comparison) Noted(note string) Comparison { c.Note = note; return c }

// Choice is the verdict on another choice than the paper's: a tie if the
// paper's is worse under our numbers by no more than noise. loss is how much
// worse, se the standard error of our loss; the paper chose under noise of
// its own, hence √2.
func Choice(c Comparison, loss, se float64) Comparison {
	total := math.Sqrt2 * se
	c.SE = nil
	if total > 0 {
		c.SEs = new(loss / total)
	}
	if loss <= Sigmas*total {
		c.Verdict = Tie
	} else {
		c.Verdict = Differs
	}
	return c
}

// Exactly holds a noisy number against an exact one: within noise up to 3
// standard errors. Noise alone makes 0.3% of such cells differ.
func Exactly(obtained, exact, se float64) Comparison {
	c := Beside(obtained, exact, 4)
	c.SE, c.Verdict = &se, Agrees
	d := math.Abs(*c.Difference)
	if se > 0 {
		c.SEs = new(d / se)
	}
	if d > Sigmas*se && d > Float {
		c.Verdict = Differs
	}
	return c
}

// Claimed is a measured number as comparisons count it: one that is not judged is shown, and
// says why.
func (c Comparison) Claimed() Comparison {
	switch c.Verdict {
	case Fitted:
		return c.Shown("the prediction was fitted to it")
	case TooFew:
		return c.Shown(fmt.Sprintf("fewer than %d runs", LeastRuns))
	case Shown:
		return c.Shown("no claim is made about it")
	}
	return c
}

// Comparisons are compared cells, in the order of their tables.
type Comparisons []Comparison

// Of is the cells of a table.
func (all Comparisons) Of(table string) Comparisons {
	return all.where(func(c Comparison) bool { return c.Table == table })
}

// InClass is the cells of a class.
func (all Comparisons) InClass(class Class) Comparisons {
	return all.where(func(c Comparison) bool { return c.Class == class })
}

// Deciding is the cells of the classes by which the whole passes or fails.
func (all Comparisons) Deciding() Comparisons {
	return all.where(func(c Comparison) bool { return c.Class.Decides() })
}

// Sides are the cells about the paper's numbers, and those about what was
// measured here.
func (all Comparisons) Sides() (paper, live Comparisons) {
	return all.where(func(c Comparison) bool { return !c.Live }), all.where(func(c Comparison) bool { return c.Live })
}

func (all Comparisons) where(holds func(Comparison) bool) Comparisons {
	return slices.DeleteFunc(slices.Clone(all), func(c Comparison) bool { return !holds(c) })
}

// ByTable is the cells of each table, in the order of the tables.
func (all Comparisons) ByTable() []Comparisons {
	return group.By(all, func(c Comparison) string { return c.Table })
}

// Passed reports that no cell of a deciding class differs, or is missing though its
// stage has run.
func (all Comparisons) Passed() bool {
	deciding := all.Deciding()
	return deciding.Agreeing() == deciding.Judged()
}

// Agreeing counts the cells that pass.
func (all Comparisons) Agreeing() int { return all.count(passing...) }

// Judged counts the cells that pass or fail.
func (all Comparisons) Judged() int { return len(all) - all.count(Shown, NotRun) }

// Missing counts the cells of numbers whose stage has not run.
func (all Comparisons) Missing() int { return all.count(NotRun) }

// count counts the cells that have one of the verdicts.
func (all Comparisons) count(verdicts ...Verdict) int {
	return len(all.where(func(c Comparison) bool { return slices.Contains(verdicts, c.Verdict) }))
}

// Tally counts the cells by class, and says how many of each agree. It is empty
// where there is nothing to count.
func (all Comparisons) Tally() string {
	var parts []string
	for _, class := range Classes {
		if part := all.InClass(class).tally(class); part != "" {
			parts = append(parts, part)
		}
	}
	if n := all.Missing(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of stages that have not run", n))
	}
	return strings.Join(parts, "; ")
}

// tally counts cells of one class.
func (all Comparisons) tally(class Class) string {
	judged, shown := all.Judged(), all.count(Shown)
	switch {
	case class == InFit && judged+shown > 0:
		return fmt.Sprintf("%s %d", class, judged+shown)
	case class == Predicted && judged == 0 && shown > 0:
		return fmt.Sprintf("%s %d, not judged: the suite was executed once", class, shown)
	case judged == 0:
		return ""
	case class == Predicted:
		return all.foretold(judged)
	case class == Measured:
		return fmt.Sprintf("%s %d of %d agree with their predictions", class, all.Agreeing(), judged)
	}
	return fmt.Sprintf("%s %d of %d agree", class, all.Agreeing(), judged)
}

// foretold counts forecasts, and scores them.
func (all Comparisons) foretold(judged int) string {
	text := fmt.Sprintf("%s %d: %d within %d s.d.", Predicted, judged, all.Agreeing(), Deviations)
	if n := all.count(Differs); n > 0 {
		text += fmt.Sprintf(", %d %s", n, map[bool]string{true: "differs", false: "differ"}[n == 1])
	}
	if n := all.count(Absent); n > 0 {
		text += fmt.Sprintf(", %d missing", n)
	}
	if s := all.Score(); s.Cells > 0 {
		text += fmt.Sprintf(", score %.2f points, naive fleet %.2f", 100*s.CRPS, 100*s.Naive)
	}
	return text
}

// Block is the cells of one table as a table for people, with its tally.
func (all Comparisons) Block() table.Table {
	t := table.Table{Title: all[0].Table}
	if tally := all.Tally(); tally != "" {
		t.Title += " (" + tally + ")"
	}
	obtained, expected := all[0].Sides()
	t.Columns = table.Named("<row", "<column", obtained, expected, "difference", "s.e.", "SEs", "<verdict")
	for _, c := range all {
		t.Rows = append(t.Rows, c.Line())
	}
	if all[0].Live { // all are measured
		return t
	}
	t.Columns = slices.Insert(t.Columns, 2, table.Named("<class")...)
	for i, c := range all {
		t.Rows[i] = slices.Insert(t.Rows[i], 2, table.Text(string(c.Class)))
	}
	return t
}
