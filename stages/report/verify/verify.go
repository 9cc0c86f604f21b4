// Package verify compares the numbers of the report with the paper's, and what was
// measured with what was predicted, cell by cell, each with a verdict.
package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/paper"
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

// Folder compares the results stored in an output folder with the paper's numbers
// and with predictions. A folder without a report, or files that cannot be read,
// are errors.
func Folder(s stored.Settings, outDir string) (Verdicts, error) {
	if _, err := os.ReadFile(filepath.Join(outDir, filepath.FromSlash(stored.ExperimentFile))); errors.Is(err, fs.ErrNotExist) {
		return Verdicts{}, fmt.Errorf("verify: the results in %s are not complete (%w): run `speceval run` first", outDir, err)
	}
	src := stored.NewSource(&s, stored.Folder(outDir))
	e, err := src.Experiment()
	if err == nil {
		// What is stored is compared as what it was stored as.
		s.Published = e.Published
		s.Budgets = nil
		for _, b := range e.Budgets {
			s.Budgets = append(s.Budgets, int(b))
		}
		var v Verdicts
		if v, err = Of(src); err == nil {
			return v, nil
		}
	}
	return Verdicts{}, fmt.Errorf("verify: %w", err)
}

// Of compares what a source has. Every number of the paper's tables and text that
// the experiment's budgets cover gets a cell, which says so where the stage that
// makes the number has not run.
func Of(src *stored.Source) (v Verdicts, err error) {
	e, err := src.Experiment()
	if err != nil {
		return v, err
	}
	v.Published = e.Published
	if e.Published {
		numbers, err := src.Paper()
		if err != nil {
			return v, err
		}
		for _, t := range slices.Concat(tables.All, tables.Texts) {
			if t.Section == "" {
				continue
			}
			if err := v.add(t, src, e); err != nil {
				return v, err
			}
		}
		v.Skipped = skipped(e, numbers)
	}
	for _, t := range tables.Of(src.Settings) {
		if t.Live && slices.Contains(e.Compared, t.Base) {
			if err := v.add(t, src, e); err != nil {
				return v, err
			}
		}
	}
	return v, nil
}

func (v *Verdicts) add(t *model.Table, src *stored.Source, e stored.Experiment) error {
	sheet, err := t.Sheet(src)
	if err != nil {
		return err
	}
	cells, err := sheet.Compare(e)
	v.Cells = append(v.Cells, cells...)
	return err
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

// Passed reports that no cell of a class that decides differs, or is missing though
// its stage has run. It is true where there are no cells.
func (v Verdicts) Passed() bool { return v.Cells.Passed() }

// Missing counts the cells of numbers whose stage has not run.
func (v Verdicts) Missing() int { return v.Cells.Missing() }

// Summary is the verdict in one line, which counts each class.
func (v Verdicts) Summary() string {
	if tally := v.Cells.Tally(); tally != "" {
		return "verify: " + tally
	}
	return "verify: no verdict: the profiles are not the paper's, so its numbers do not apply"
}
