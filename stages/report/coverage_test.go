package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"speceval/data"
	"speceval/internal/golden"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report"
	"speceval/stages/report/explain"
	"speceval/stages/report/stored"
)

// TestEveryNumberOfThePaperHasACell gives each number of the paper's file a value
// that no other has, and looks for all of them among the verdicts: a number that
// is added to the file and compared with nothing is found here.
func TestEveryNumberOfThePaperHasACell(t *testing.T) {
	var file map[string]map[string]any
	if _, err := toml.Decode(string(data.PaperTargets()), &file); err != nil {
		t.Fatal(err)
	}
	numbered := map[float64]string{}
	for section, keys := range file {
		for key, value := range keys {
			if slices.Contains([]string{"budget", "n_tasks", "model", "adverse_profile"}, key) {
				continue // what rows are of
			}
			keys[key] = renumbered(numbered, section+"."+key, value)
		}
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(file); err != nil {
		t.Fatal(err)
	}
	s := withCase(t, paperStudy(t))
	set := s.settings(t)
	set.Targets = b.Bytes()
	dir := t.TempDir()
	s.write(t, dir)
	v, err := report.Verify(stored.NewSource(&set, stored.Folder(dir)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Cells {
		if c.Paper != nil {
			delete(numbered, *c.Paper)
		}
	}
	for value, what := range numbered {
		t.Errorf("no cell compares with %s (as %g)", what, value)
	}
}

// renumbered is value with every number in it replaced by one of its own, of the same
// type, noted in numbered by where it was.
func renumbered(numbered map[float64]string, where string, value any) any {
	next := int64(1000 + len(numbered))
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = renumbered(numbered, fmt.Sprintf("%s[%d]", where, i), v[i])
		}
		return out
	case float64:
		numbered[float64(next)+0.5] = where
		return float64(next) + 0.5
	case int64:
		numbered[float64(next)] = where
		return next
	}
	return value
}

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
