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

// Verdicts is the comparison of stored results with the paper, and of what was
// measured with what was predicted.
type Verdicts struct {
	// Published says that the results are of the paper's own profiles. Where
	// it is false no cell is about a number of the paper's.
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
	live          []Sheet              // what was measured, beside what was predicted
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

// judge makes all cells: those of the paper's tables, where its numbers apply,
// and those of what was measured here.
func judge(s stored, paper Targets) (Verdicts, error) {
	v := Verdicts{Published: s.Published}
	if s.Published {
		if err := v.judgePaper(s, paper); err != nil {
			return v, fmt.Errorf("verify: %w", err)
		}
	}
	live, err := judgeLive(s.live)
	if err != nil {
		return v, fmt.Errorf("verify: %w", err)
	}
	v.Cells = append(v.Cells, live...)
	return v, nil
}

// judgePaper makes the cells of the paper's tables, in their order.
func (v *Verdicts) judgePaper(s stored, paper Targets) error {
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
		return failed
	}
	s.excuse(v.Cells)
	v.Skipped = skipped(s.Experiment, paper)
	return nil
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
// is true where there are no cells.
func (v Verdicts) Passed() bool { return v.Agreeing() == v.Judged() }

// Summary is the verdict in one line.
func (v Verdicts) Summary() string {
	paper, live := v.sides()
	var parts []string
	if v.Published {
		parts = append(parts, paper.tally("cells agree with the paper"))
	}
	if len(live.Cells) > 0 {
		parts = append(parts, live.tally("measurements agree with their predictions"))
	}
	if len(parts) == 0 {
		return "verify: no verdict: the profiles are not the paper's, so its numbers do not apply"
	}
	return "verify: " + strings.Join(parts, "; ")
}

// tally says how many of the judged cells do what is said.
func (v Verdicts) tally(what string) string {
	text := fmt.Sprintf("%d of %d %s", v.Agreeing(), v.Judged(), what)
	if n := v.Missing(); n > 0 {
		text += fmt.Sprintf("; %d more are of stages that have not run", n)
	}
	return text
}

// sides are the cells about the paper's numbers, and those about what was
// measured here.
func (v Verdicts) sides() (paper, live Verdicts) {
	of := func(isLive bool) Verdicts {
		return Verdicts{Published: v.Published, Cells: slices.DeleteFunc(slices.Clone(v.Cells), func(c Cell) bool { return c.Live != isLive })}
	}
	return of(false), of(true)
}
