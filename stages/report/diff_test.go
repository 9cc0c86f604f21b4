package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report/explain"
)

// TestDiffOfTwoRuns makes a study twice, with other draws the second time.
func TestDiffOfTwoRuns(t *testing.T) {
	var dirs [2]string
	for side, draws := range []string{"8192", "1024"} {
		s := paperStudy(t)
		if side == 1 {
			for i := range s.ratios {
				if s.ratios[i].RatioSE > 0 {
					s.ratios[i].VarianceRatio += 0.0002
				}
			}
			s.ratios[3].VarianceRatio += 0.01
		}
		f := s.folder(t)
		for i := range f.stages[0].Units {
			f.stages[0].Units[i].Config = map[string]string{"replay.draws": draws}
		}
		dagtest.Run(t, f.stages, f.dir)
		dirs[side] = f.dir
	}
	if err := os.Remove(filepath.Join(dirs[1], "manifests", "report", "robustness.json")); err != nil {
		t.Fatal(err)
	}
	d, err := explain.DiffFolders(dirs[0], dirs[1])
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := d.Text(&b, false); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "diff.txt", []byte(strings.NewReplacer(dirs[0], "out", dirs[1], "out-before").Replace(b.String())))

	b.Reset()
	if err := d.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Same                      bool
		Compared, Changed, Beyond int
		Made                      []string
	}
	compared, changed, beyond := d.Cells()
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Same || got.Compared != compared || got.Changed != changed || got.Beyond != beyond || len(got.Made) < 2 {
		t.Errorf("%+v, %v", got, err)
	}
}
