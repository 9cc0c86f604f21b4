package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"speceval/internal/flops"
	"speceval/internal/variance"
)

// Verdicts is the comparison of stored results with the paper.
type Verdicts struct {
	// Published says that the results are of the paper's own profiles. Where
	// it is false there is nothing to compare, and no cells.
	Published bool   `json:"published"`
	Cells     []Cell `json:"cells"`
	Skipped   string `json:"skipped,omitempty"` // numbers of the paper that this experiment does not ask for
}

// Verify compares the results stored in the output folder with the paper's
// numbers, cell by cell. Every number of the paper's tables that this
// experiment's budgets cover gets a cell, which says so where the stage that
// makes the number has not run. An output folder without a report, or files that
// cannot be read, are errors.
func Verify(outDir string, targets []byte) (Verdicts, error) {
	paper, err := ParseTargets(targets)
	if err != nil {
		return Verdicts{}, err
	}
	stored, err := load(outDir)
	if errors.Is(err, fs.ErrNotExist) {
		return Verdicts{}, fmt.Errorf("verify: the results in %s are not complete (%w): run `speceval run` first", outDir, err)
	}
	if err != nil {
		return Verdicts{}, fmt.Errorf("verify: %w", err)
	}
	return judge(stored, paper)
}

// stored is everything that verdicts are made from.
type stored struct {
	Experiment
	Results
	architectures []flops.Architecture
	costs         map[string][]costRow // Tables 2 to 4, by base name
	estimates     []variance.Estimates // of the case study
	lacking       []string             // stages that have not run
}

// sourceOf is the stage whose results a table's numbers are judged by.
func sourceOf(table string) string {
	switch table {
	case computeTable.base, timeTable.base, "table7_flop_coefficients":
		return "report"
	}
	return "replay"
}

// excuse turns missing numbers of stages that have not run into such.
func (s stored) excuse(cells []Cell) {
	for i := range cells {
		if stage := sourceOf(cells[i].Table); cells[i].Verdict == Absent && slices.Contains(s.lacking, stage) {
			cells[i].Verdict, cells[i].Note = NotRun, fmt.Sprintf("the %s stage has not run", stage)
		}
	}
}

// judge makes all cells, in the order of the paper's tables.
func judge(s stored, paper Targets) (Verdicts, error) {
	v := Verdicts{Published: s.Published}
	if !s.Published {
		return v, nil
	}
	var failed error
	add := func(cells []Cell, err error) { v.Cells, failed = append(v.Cells, cells...), cmp.Or(failed, err) }
	add(judgeVariance(s, paper))
	for _, kind := range costKinds {
		add(judgeCosts(kind, s, paper), nil)
	}
	add(judgeSchedules(hbnSchedule, s, paper), nil)
	add(judgeSchedules(enSchedule, s, paper), nil)
	add(judgeFLOPs(s.architectures, paper), nil)
	add(judgeTS(s, paper))
	add(judgeRobustness(s, paper))
	add(judgeCorpus(s, paper), nil)
	add(judgeCase(s, paper))
	if failed != nil {
		return v, fmt.Errorf("verify: %w", failed)
	}
	s.excuse(v.Cells)
	v.Skipped = skipped(s.Experiment, paper)
	return v, nil
}

// skipped names what of the paper the experiment does not have: budgets, and the
// profile of the case study.
func skipped(e Experiment, paper Targets) string {
	var lack []int32
	for _, b := range paper.Table1.Budget {
		if !e.has(b) {
			lack = append(lack, b)
		}
	}
	var parts []string
	if len(lack) > 0 {
		parts = append(parts, fmt.Sprintf("not compared: budgets %v of the paper are not part of this experiment", lack))
	}
	if e.CaseStudy == nil || e.CaseStudy.profile().Name() != paperCase {
		parts = append(parts, fmt.Sprintf("not compared: the case study of %s is not part of this experiment", paperCase))
	}
	return strings.Join(parts, "; ")
}

// of is the verdicts on a table.
func (v Verdicts) of(table string) []Cell {
	return slices.DeleteFunc(slices.Clone(v.Cells), func(c Cell) bool { return c.Table != table })
}

// Agreeing counts the cells that pass.
func (v Verdicts) Agreeing() int { return v.count(Verdict.Passes) }

// Judged counts the cells that pass or fail.
func (v Verdicts) Judged() int {
	return v.count(func(one Verdict) bool { return one != Shown && one != NotRun })
}

// Missing counts the cells of numbers whose stage has not run.
func (v Verdicts) Missing() int { return v.count(func(one Verdict) bool { return one == NotRun }) }

func (v Verdicts) count(holds func(Verdict) bool) (n int) {
	for _, c := range v.Cells {
		if holds(c.Verdict) {
			n++
		}
	}
	return n
}

// Passed reports that no cell differs, or is missing though its stage has run. It
// is true, with no cells, for results that are not of the paper's profiles.
func (v Verdicts) Passed() bool { return v.Agreeing() == v.Judged() }

// Summary is the verdict in one line.
func (v Verdicts) Summary() string {
	if !v.Published {
		return "verify: no verdict: the profiles are not the paper's, so its numbers do not apply"
	}
	summary := fmt.Sprintf("verify: %d of %d cells agree with the paper", v.Agreeing(), v.Judged())
	if n := v.Missing(); n > 0 {
		summary += fmt.Sprintf("; %d more are of stages that have not run", n)
	}
	return summary
}
