package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/store/atomicfile"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// Verdicts is the comparison of stored results with the paper, and of what was
// measured with what was predicted.
type Verdicts struct {
	// Published says that the results are of the paper's own profiles. Where
	// it is false no cell is about a number of the paper's.
	Published bool                  `json:"published"`
	Cells     agreement.Comparisons `json:"cells"`
	Skipped   string                `json:"skipped,omitempty"` // numbers of the paper that this experiment does not ask for
}

// VerifyFolder compares the results stored in an output folder with the paper's numbers
// and with predictions. A folder without a report, or files that cannot be read,
// are errors.
func VerifyFolder(s stored.Settings, outDir string) (Verdicts, error) {
	s.Memory = nil
	src := stored.NewSource(&s, stored.Folder(outDir))
	e, err := stored.Facts(src)
	var absent *dag.AbsentError
	if errors.As(err, &absent) {
		return Verdicts{}, fmt.Errorf("verify: the results in %s are not complete (%w): run `speceval run` first", outDir, err)
	}
	if err == nil {
		// What is stored is compared as what it was stored as.
		s.Published = e.Published
		s.Budgets = nil
		for _, b := range e.Budgets {
			s.Budgets = append(s.Budgets, int(b))
		}
		var v Verdicts
		if v, err = Verify(src); err == nil {
			return v, nil
		}
	}
	return Verdicts{}, fmt.Errorf("verify: %w", err)
}

// Verify compares what a source has. Every number of the paper's tables and text that
// the experiment's budgets cover gets a cell, which says so where the stage that
// makes the number has not run.
func Verify(src *stored.Source) (v Verdicts, err error) {
	e, err := stored.Facts(src)
	numbers, noNumbers := stored.Paper(src)
	if err := cmp.Or(err, noNumbers); err != nil {
		return v, err
	}
	var compared []*model.Table
	if v.Published = e.Published; e.Published {
		v.Skipped = skipped(e, numbers)
		compared = slices.DeleteFunc(slices.Concat(tables.All, tables.Texts), func(t *model.Table) bool { return !t.Reads.Paper })
	}
	for _, t := range tables.Of(src.Settings) {
		if t.Live && slices.Contains(e.Compared, t.Base) {
			compared = append(compared, t)
		}
	}
	for _, t := range compared {
		sheet, err := t.Sheet(src)
		if err != nil {
			return v, err
		}
		v.Cells = append(v.Cells, sheet.Compare(e)...)
	}
	return v, nil
}

// skipped names what of the paper the experiment does not have: budgets, and the
// profile of the case study.
func skipped(e stored.Experiment, numbers *paper.Numbers) string {
	var lack []int32
	for _, key := range numbers.Rows(paper.Variance) {
		if !e.Has(key.Budget) {
			lack = append(lack, key.Budget)
		}
	}
	var parts []string
	if len(lack) > 0 {
		parts = append(parts, fmt.Sprintf("not compared: budgets %v of the paper are not part of this experiment", lack))
	}
	if e.CaseStudy == nil || e.CaseStudy.Evaluated().Name() != tables.PaperCase {
		parts = append(parts, fmt.Sprintf("not compared: the case study of %s is not part of this experiment", tables.PaperCase))
	}
	return strings.Join(parts, "; ")
}

// Summary is the verdict in one line, which counts each class.
func (v Verdicts) Summary() string {
	if tally := v.Cells.Tally(); tally != "" {
		return "verify: " + tally
	}
	return "verify: no verdict: the profiles are not all of the paper's and no others, so its numbers do not apply"
}

// JSON writes the verdicts as one object: published, passed; agree and total of the
// classes that decide; missing, classes, score, summary, cells.
func (v Verdicts) JSON(w io.Writer) error {
	deciding := v.Cells.Deciding()
	var classes []count // that occur
	for _, class := range agreement.Classes {
		if cells := v.Cells.InClass(class); len(cells) > 0 {
			classes = append(classes, count{class, len(cells), cells.Judged(), cells.Agreeing()})
		}
	}
	var score *agreement.Score
	if s := v.Cells.Score(); s.Cells > 0 {
		score = &s
	}
	return atomicfile.EncodeJSON(w, struct {
		Verdicts
		Passed  bool `json:"passed"`
		Agree   int  `json:"agree"`
		Total   int  `json:"total"`
		Missing int  `json:"missing"`

		Classes []count          `json:"classes"`
		Score   *agreement.Score `json:"score"` // of the predictions; null where none is judged
		Summary string           `json:"summary"`
	}{v, v.Cells.Passed(), deciding.Agreeing(), deciding.Judged(), v.Cells.Missing(), classes, score, v.Summary()})
}

// count is how many cells a class has, how many of them carry a verdict, and how
// many of these agree.
type count struct {
	Class  agreement.Class `json:"class"`
	Cells  int             `json:"cells"`
	Judged int             `json:"judged"`
	Agree  int             `json:"agree"`
}

// Text writes the verdicts for a terminal: a block for each table of the
// paper, what the columns mean, and the verdict in one line.
func (v Verdicts) Text(w io.Writer) error {
	for _, cells := range v.Cells.ByTable() {
		if err := table.WriteText(w, cells.Block()); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, Legend(v.Cells))
	if v.Skipped != "" {
		fmt.Fprintln(w, v.Skipped)
	}
	_, err := fmt.Fprintln(w, v.Summary())
	return err
}

const paperLegend = `Class: computed here from profiles and seeds; re-aggregated from the authors' own
measurements; copied, which are constants and counts of imported data; predicted
by the simulated fleet, whose fit has not seen the number; fitted, where it has;
measured on other machines. The verdict of the whole follows from what is
computed and re-aggregated, and from what was measured for a prediction, alone.

s.e.: Monte Carlo standard error of the difference; the paper's run has noise
of the same size. SEs: distance from what prints as the paper's number, in such
standard errors; up to 3 agree within noise. Means of Table 1 agree within
0.001 whatever the noise. A tie is another choice of ours (m, alpha, profile)
than the paper's, which under our own numbers is no worse beyond noise.
Re-aggregated numbers must print as the paper's. Executed budgets may differ from
those of our replay by noise: their count differs if chance gives as many in
fewer than 0.135% of replays.

A predicted number has no tolerance: s.e. is the standard deviation of one suite,
as the published one is, with the Monte Carlo error of our mean, and SEs is the
difference in such deviations. It differs beyond 2, as chance alone does in 5% of
numbers, or in 9% where the deviation is estimated from 8 suites. Behind the
verdict stands the difference in percentage points, and that of a naive fleet,
whose times are Uniform's in proportion to useful FLOPs: nothing waits, nothing is
wasted. The score is the mean over all predicted numbers of the continuous ranked
probability score of a normal law with our mean and that deviation, in percentage
points; less is better. Sums and differences among the numbers count like the
others. Fitted and measured numbers are shown, not judged.

`

const liveLegend = `Measured beside predicted: s.e. is the standard error of the difference, from
both sides; SEs is the difference in such errors. A predicted time agrees within
5% of the measured one, whatever its error, and everything within 3 standard
errors; ratios of variances are compared on the logarithmic scale. Uniform's times
were fitted and are shown, and so is what fewer than 10 runs say. The orchestrator
takes less than 5% of the processors of its machine during a timed run.

`

// Legend says what the columns of cells mean, of those that there are.
func Legend(cells agreement.Comparisons) (text string) {
	ofPaper, live := cells.Sides()
	if len(ofPaper) > 0 {
		text = paperLegend
	}
	if len(live) > 0 {
		text += liveLegend
	}
	return text
}
