package report

import (
	"errors"
	"fmt"
	"io/fs"

	"speceval/internal/flops"
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
// experiment's budgets cover gets a cell. Missing or unreadable files are
// errors.
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
}

// judge makes all cells, in the order of the paper's tables.
func judge(s stored, paper Targets) (Verdicts, error) {
	v := Verdicts{Published: s.Published}
	if !s.Published {
		return v, nil
	}
	cells, err := judgeVariance(s, paper)
	if err != nil {
		return v, fmt.Errorf("verify: %w", err)
	}
	v.Cells = append(v.Cells, cells...)
	for _, kind := range costKinds {
		v.Cells = append(v.Cells, judgeCosts(kind, s, paper)...)
	}
	v.Cells = append(v.Cells, judgeSchedules(hbnSchedule, s, paper)...)
	v.Cells = append(v.Cells, judgeSchedules(enSchedule, s, paper)...)
	v.Cells = append(v.Cells, judgeFLOPs(s.architectures, paper)...)
	if cells, err = judgeRobustness(s, paper); err != nil {
		return v, fmt.Errorf("verify: %w", err)
	}
	v.Cells = append(v.Cells, cells...)
	v.Skipped = skipped(s.Experiment, paper)
	return v, nil
}

// skipped names the paper's budgets that the experiment does not have.
func skipped(e Experiment, paper Targets) string {
	var lack []int32
	for _, b := range paper.Table1.Budget {
		if !e.has(b) {
			lack = append(lack, b)
		}
	}
	if len(lack) == 0 {
		return ""
	}
	return fmt.Sprintf("not compared: budgets %v of the paper are not part of this experiment", lack)
}

// Agreeing counts the cells that pass.
func (v Verdicts) Agreeing() int {
	n := 0
	for _, c := range v.Cells {
		if c.Verdict.Passes() {
			n++
		}
	}
	return n
}

// Judged counts the cells that pass or fail.
func (v Verdicts) Judged() int {
	n := 0
	for _, c := range v.Cells {
		if c.Verdict != Shown {
			n++
		}
	}
	return n
}

// Passed reports that no cell differs or is missing. It is true, with no
// cells, for results that are not of the paper's profiles.
func (v Verdicts) Passed() bool { return v.Agreeing() == v.Judged() }

// Summary is the verdict in one line.
func (v Verdicts) Summary() string {
	if !v.Published {
		return "verify: no verdict: the profiles are not the paper's, so its numbers do not apply"
	}
	return fmt.Sprintf("verify: %d of %d cells agree with the paper", v.Agreeing(), v.Judged())
}
