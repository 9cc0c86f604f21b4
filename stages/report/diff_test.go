package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

// tablesIn makes an output folder of tables, by base name.
func tablesIn(t *testing.T, tables map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, tablesDir), 0o777); err != nil {
		t.Fatal(err)
	}
	for base, csv := range tables {
		if err := os.WriteFile(filepath.Join(dir, tablesDir, base+".csv"), []byte(csv), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// diffOf compares two tables of one name.
func diffOf(t *testing.T, a, b string) *Diff {
	t.Helper()
	d, err := DiffFolders(tablesIn(t, map[string]string{"x": a}), tablesIn(t, map[string]string{"x": b}))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestChangesAreHeldAgainstNoise(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		changed    int
		beyond     []string // columns
	}{
		{"the same", "budget,hbn,hbn_se\n8,0.5,0.001\n", "budget,hbn,hbn_se\n8,0.5,0.001\n", 0, nil},
		{"the same number in other words", "budget,hbn\n8,0.5\n", "budget,hbn\n8,0.50\n", 0, nil},
		{"rows and columns in another order", "budget,hbn,oracle\n8,1,2\n16,3,4\n", "budget,oracle,hbn\n16,4,3\n8,2,1\n", 0, nil},
		{"3 s.e. of the difference", "budget,hbn,hbn_se\n8,0.5,0.003\n", "budget,hbn,hbn_se\n8,0.5149,0.004\n", 2, nil},
		{"more than 3", "budget,hbn,hbn_se\n8,0.5,0.003\n", "budget,hbn,hbn_se\n8,0.4849,0.004\n", 2, []string{"hbn"}},
		{"an error alone", "budget,hbn,hbn_se\n8,0.5,0.003\n", "budget,hbn,hbn_se\n8,0.5,3\n", 1, nil},
		{"an error of nothing", "budget,hbn,hbn_se\n8,0.5,0\n", "budget,hbn,hbn_se\n8,0.500001,0\n", 1, []string{"hbn"}},
		{"without an error", "budget,oracle\n8,0.5\n", "budget,oracle\n8,0.500001\n", 1, []string{"oracle"}},
		{"an error on one side alone", "budget,hbn,hbn_se\n8,0.5,0.1\n", "budget,hbn,hbn_se\n8,0.6,\n", 2, []string{"hbn"}},
		{"a negative error", "budget,hbn,hbn_se\n8,0.5,-1\n", "budget,hbn,hbn_se\n8,0.6,1\n", 2, []string{"hbn"}},
		{"text", "budget,worst_profile\n8,a\n", "budget,worst_profile\n8,b\n", 1, []string{"worst_profile"}},
		{"a number that has gone", "budget,hbn\n8,0.5\n", "budget,hbn\n8,\n", 1, []string{"hbn"}},
		{"not a number", "budget,hbn,hbn_se\n8,NaN,1\n", "budget,hbn,hbn_se\n8,0.5,1\n", 1, []string{"hbn"}},
		{"the paper's", "budget,hbn,hbn_se,paper_hbn\n8,0.5,1,0.5\n", "budget,hbn,hbn_se,paper_hbn\n8,0.5,1,0.6\n", 1, []string{"paper_hbn"}},
		{"a spread over executions", "budget,t,t_sd,repeats\n8,0.5,0.02,4\n", "budget,t,t_sd,repeats\n8,0.54,0.02,4\n", 1, nil},
		{"beyond it", "budget,t,t_sd,repeats\n8,0.5,0.02,4\n", "budget,t,t_sd,repeats\n8,0.543,0.02,4\n", 1, []string{"t"}},
		{"a ratio", "budget,variance_ratio,ratio_se\n8,0.5,0.01\n", "budget,variance_ratio,ratio_se\n8,0.54,0.01\n", 1, nil},
		{"a ratio with errors by cause", "budget,variance_ratio,replay_se,design_se\n8,0.5,0.003,0.004\n", "budget,variance_ratio,replay_se,design_se\n8,0.521,0.003,0.004\n", 1, nil},
		{"the worst ratio", "budget,worst_ratio,worst_se\n8,0.5,0.01\n", "budget,worst_ratio,worst_se\n8,0.55,0.01\n", 1, []string{"worst_ratio"}},
		{"a weight of 4/8 of the risk", "budget,m,w,risk,risk_se\n8,4,0.5,1,0.01\n", "budget,m,w,risk,risk_se\n8,4,0.52,1.04,0.01\n", 2, nil},
		{"a weight beyond", "budget,m,w,risk,risk_se\n8,4,0.5,1,0.01\n", "budget,m,w,risk,risk_se\n8,4,0.522,1,0.01\n", 1, []string{"w"}},
		{"a whole budget, by one and 3 s.e.", "budget,equivalent_se,rounded\n8,0.5,9\n", "budget,equivalent_se,rounded\n8,0.5,12\n", 1, nil},
		{"a whole budget, by more", "budget,equivalent_se,rounded\n8,0.5,9\n", "budget,equivalent_se,rounded\n8,0.5,13\n", 1, []string{"rounded"}},
		{"rows that labels do not tell apart", "x,y\n1,2\n3,4\n", "x,y\n1,2\n3,5\n", 1, []string{"y"}},
		{"a byte order mark", "\ufeffbudget,hbn\n8,0.5\n", "budget,hbn\n8,0.5\n", 0, nil},
	} {
		d := diffOf(t, c.a, c.b)
		var beyond []string
		for _, cell := range d.Tables[0].Changed {
			if cell.Beyond {
				beyond = append(beyond, cell.Column)
			}
		}
		if len(d.Tables[0].Changed) != c.changed || !slices.Equal(beyond, c.beyond) || d.Same() != (c.beyond == nil) {
			t.Errorf("%s: %+v, want %d changed, %q beyond noise", c.name, d.Tables[0].Changed, c.changed, c.beyond)
		}
	}
}

// TestDiffInWords holds single things, steps and tiny errors to what they say.
func TestDiffInWords(t *testing.T) {
	d := diffOf(t, "budget,equivalent_se,rounded,hbn,hbn_se\n8,0.005,7,0.5,1e-18\n", "budget,equivalent_se,rounded,hbn,hbn_se,oracle\n8,0.006,8,0.6,1e-18,1\n")
	var b bytes.Buffer
	if err := d.Text(&b, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 standard error or spread changed", "and 1 row or column of the others", "7.1e+16  beyond noise", "—  within noise"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
}

func TestWhatOneFolderAloneHasIsADifference(t *testing.T) {
	if d := diffOf(t, "budget,hbn\n8,1\n16,1\n", "budget,hbn,oracle\n8,1,2\n"); d.Same() || d.Tables[0].OnlyRows[0][0] != "b=16" || d.Tables[0].OnlyColumns[1][0] != "oracle" || d.Tables[0].Compared != 2 {
		t.Errorf("%+v", d.Tables[0])
	}
	d, err := DiffFolders(tablesIn(t, map[string]string{"x": "a\n1\n", "y": "a\n1\n"}), tablesIn(t, map[string]string{"x": "a\n1\n"}))
	if err != nil || d.Same() || d.Only[0][0] != "y" || len(d.Only[1]) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestFoldersThatCannotBeCompared(t *testing.T) {
	good := tablesIn(t, map[string]string{"x": "budget\n8\n"})
	var none *NoFolderError
	for _, folder := range []string{t.TempDir(), filepath.Join(t.TempDir(), "[absent*"), filepath.Join(good, tablesDir, "x.csv")} {
		for _, pair := range [][2]string{{good, folder}, {folder, good}} {
			if _, err := DiffFolders(pair[0], pair[1]); !errors.As(err, &none) || none.Folder != folder {
				t.Errorf("%q: error %v", pair, err)
			}
		}
	}
	for csv, want := range map[string]string{
		"":                     "x.csv: the file is empty",
		"a,a\n1,2\n":           `x.csv: header: column 2, "a", has no name of its own`,
		"a,\n1,2\n":            `x.csv: header: column 2, "", has no name of its own`,
		"a,b\n1\n":             "x.csv: row 1: record on line 2: wrong number of fields",
		"a\n\xff\n":            `x.csv: row 1: a "\xff" is not valid UTF-8`,
		"a\n\"1\n":             "x.csv: row 1: ",
		"a\xff\n1\n":           "x.csv: header: column 1",
		"a,b\n1,2\n\"3\"x,4\n": "x.csv: row 2: ",
	} {
		if _, err := DiffFolders(good, tablesIn(t, map[string]string{"x": csv})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", csv, err, want)
		}
	}
}

// TestDiffOfTwoRuns makes a study twice, with other draws the second time.
func TestDiffOfTwoRuns(t *testing.T) {
	var dirs [2]string
	for side, draws := range []string{"8192", "1024"} {
		s := paperStudy(t)
		stages := []dag.Stage{replayed(s), Stage(settings(t, s))}
		if side == 1 {
			for i := range s.Ratios {
				if s.Ratios[i].RatioSE > 0 {
					s.Ratios[i].VarianceRatio += 0.0002
				}
			}
			s.Ratios[3].VarianceRatio += 0.01
			stages[0] = replayed(s)
		}
		for i := range stages[0].Units {
			stages[0].Units[i].Config = map[string]string{"replay.draws": draws}
		}
		dirs[side] = t.TempDir()
		dagtest.Run(t, stages, dirs[side])
	}
	if err := os.Remove(filepath.Join(dirs[1], "manifests", "report", "robustness.json")); err != nil {
		t.Fatal(err)
	}
	d, err := DiffFolders(dirs[0], dirs[1])
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

// FuzzDiff compares a table with any other: no table breaks it or the terminal,
// one is the same as itself, and both directions agree.
func FuzzDiff(f *testing.F) {
	for _, s := range []string{"", "budget,hbn\n8,0.5\n", "budget,budget\n1,2\n", "a\n\"", "a,a_se\n1e308,0\n-1e308,NaN\n", "\ufeff,\n", "benchmark,model,policy\n\x1b[2J,x,\u202e\n", "a_sd,a,repeats\n1,2,0\n"} {
		f.Add(s, "budget,hbn,hbn_se\n8,0.5,0.1\n")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := parseSheet("x", []byte(a))
		y, errY := parseSheet("x", []byte(b))
		if errX != nil || errY != nil {
			return
		}
		if same := diffSheets([2]Sheet{x, x}); len(same.Changed) > 0 || same.onlyOne() > 0 {
			t.Fatalf("%q is not itself: %+v", a, same)
		}
		there, back := diffSheets([2]Sheet{x, y}), diffSheets([2]Sheet{y, x})
		if len(there.Changed) != len(back.Changed) || there.beyond() != back.beyond() || there.onlyOne() != back.onlyOne() {
			t.Fatalf("%q and %q: %+v one way, %+v the other", a, b, there, back)
		}
		d := &Diff{Tables: []*TableDiff{there}}
		var text, document bytes.Buffer
		if err := errors.Join(d.Text(&text, true), d.JSON(&document)); err != nil {
			t.Fatalf("%q and %q: %v", a, b, err)
		}
		if strings.ContainsAny(text.String(), "\x1b\u202e\a\r") {
			t.Fatalf("%q reaches the terminal", text.String())
		}
	})
}
