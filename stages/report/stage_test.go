package report_test

import (
	"testing"

	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report/verify"
)

func TestTheStageStoresWhatVerifyReads(t *testing.T) {
	s := paperStudy(t)
	dir := t.TempDir()
	dagtest.Run(t, s.stages(t), dir)
	v, err := verify.Folder(s.settings(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Passed() || len(v.Cells) != paperCells {
		t.Errorf("%d cells, %s", len(v.Cells), v.Summary())
	}
}
