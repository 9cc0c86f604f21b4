package report_test

import (
	"testing"

	"speceval/internal/agreement"
	"speceval/internal/paper"
)

func TestResultsOfThePaperAgreeInEveryCell(t *testing.T) {
	v := paperStudy(t).verdicts(t)
	if !v.Passed() || len(v.Cells) != paperCells || v.Judged() != paperJudged {
		t.Errorf("%d cells: %s", len(v.Cells), v.Summary())
	}
	for _, c := range v.Cells {
		rounded := c.Table == paper.TSNeyman && c.Verdict == agreement.Within // Table 8 has digits that Table 1 lacks
		if c.Verdict != agreement.Agrees && !rounded && c.Column != "generation_hours" {
			t.Errorf("%s %s %s: %s %s", c.Table, c.Row, c.Column, c.Verdict, c.Note)
		}
	}
}
