// Package verify stands in for the package of that name, which is written elsewhere.
package verify

import (
	"fmt"
	"slices"
	"strings"

	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Verdicts is the comparison of stored results with the paper and with predictions.
type Verdicts struct {
	Published bool               `json:"published"`
	Cells     []model.Comparison `json:"cells"`
	Skipped   string             `json:"skipped,omitempty"`
}

// Of is the verdicts on a source.
func Of(*stored.Source) (Verdicts, error) { return Verdicts{}, nil }

// Of is the verdicts on a table.
func (v Verdicts) Of(table string) []model.Comparison {
	return slices.DeleteFunc(slices.Clone(v.Cells), func(c model.Comparison) bool { return c.Table != table })
}

func (v Verdicts) count(holds func(model.Verdict) bool) (n int) {
	for _, c := range v.Cells {
		if holds(c.Verdict) {
			n++
		}
	}
	return n
}

// Count counts the cells of a verdict.
func (v Verdicts) Count(of model.Verdict) int {
	return v.count(func(one model.Verdict) bool { return one == of })
}

// Agreeing counts the cells that pass.
func (v Verdicts) Agreeing() int { return v.count(model.Verdict.Passes) }

// Judged counts the cells that pass or fail.
func (v Verdicts) Judged() int {
	return len(v.Cells) - v.Count(model.Shown) - v.Count(model.NotRun)
}

// Missing counts the cells of numbers whose stage has not run.
func (v Verdicts) Missing() int { return v.Count(model.NotRun) }

// Passed reports that no cell differs.
func (v Verdicts) Passed() bool { return v.Agreeing() == v.Judged() }

// Summary is the verdict in one line.
func (v Verdicts) Summary() string {
	return fmt.Sprintf("verify: %d of %d", v.Agreeing(), v.Judged())
}

// Sides are the cells about the paper, and those about what was measured.
func (v Verdicts) Sides() (paper, live Verdicts) {
	of := func(isLive bool) Verdicts {
		return Verdicts{Published: v.Published, Cells: slices.DeleteFunc(slices.Clone(v.Cells), func(c model.Comparison) bool { return c.Live != isLive })}
	}
	return of(false), of(true)
}

// Legend says what the columns mean.
func (v Verdicts) Legend() string {
	text := ""
	if v.Published {
		text = legend
	}
	if strings.Contains(fmt.Sprint(v.Cells), "live") {
		text += "live\n\n"
	}
	return text
}

const legend = `s.e.: Monte Carlo standard error of the difference; the paper's run has noise
of the same size. SEs: distance from what prints as the paper's number, in such
standard errors; up to 3 agree within noise. Means of Table 1 agree within
0.001 whatever the noise. A tie is another choice of ours (m, alpha, profile)
than the paper's, which under our own numbers is no worse beyond noise.
Published rows of Tables 2 to 4 must print as the paper's. Simulated rows agree
within 4 percentage points of time at b = 8 and 1.5 above, 0.55 and 0.05 of
wasted FLOPs, 0.5 of useful FLOPs, and 0.1 extra rollouts a task; there s.e. is
by how much one suite, as the published one is, differs from our mean by chance,
and SEs counts from the tolerance. Measured rows are of other machines: they are
shown, not judged.

`
