package report_test

import (
	"strings"
	"testing"

	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

func TestFiguresBeforeTheReplayHasRun(t *testing.T) {
	f := withCase(t, paperStudy(t)).folder(t)
	dagtest.Select(t, f.stages, f.dir, dag.Selection{Stages: []string{"report"}})
	for _, base := range []string{"figure1_pair_distribution", "figure2_case_study"} {
		if svg := f.content(t, "figures/"+base+".svg"); !strings.Contains(svg, "has not run") {
			t.Errorf("%s does not say so", base)
		}
	}
}
