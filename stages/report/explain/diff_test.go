package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/stages/report"
	"speceval/stages/report/model"
)

// tablesIn makes an output folder of tables, by base name.
func tablesIn(t *testing.T, tables map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, report.TablesFolder), 0o777); err != nil {
		t.Fatal(err)
	}
	for base, csv := range tables {
		if err := os.WriteFile(filepath.Join(dir, report.TablePaths(base)[0]), []byte(csv), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// diffOf compares two tables of one name.
func diffOf(t *testing.T, base, a, b string) *Diff {
	t.Helper()
	d, err := DiffFolders(tablesIn(t, map[string]string{base: a}), tablesIn(t, map[string]string{base: b}))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestChangesAreHeldAgainstNoise(t *testing.T) {
	const (
		means      = "table1_variance"
		times      = "table3_time"
		ratios     = "profile_ratios"
		split      = "error_split"
		robustness = "robustness"
		schedule   = "table5_hbn_schedule"
		worth      = "budget_equivalents"
	)
	for _, c := range []struct {
		name, base, a, b string
		changed          int
		beyond           []string // columns
	}{
		{"the same", means, "budget,hbn,hbn_se\n8,0.5,0.001\n", "budget,hbn,hbn_se\n8,0.5,0.001\n", 0, nil},
		{"the same number in other words", means, "budget,hbn\n8,0.5\n", "budget,hbn\n8,0.50\n", 0, nil},
		{"rows and columns in another order", means, "budget,hbn,oracle\n8,1,2\n16,3,4\n", "budget,oracle,hbn\n16,4,3\n8,2,1\n", 0, nil},
		{"3 s.e. of the difference", means, "budget,hbn,hbn_se\n8,0.5,0.003\n", "budget,hbn,hbn_se\n8,0.5149,0.004\n", 2, nil},
		{"more than 3", means, "budget,hbn,hbn_se\n8,0.5,0.003\n", "budget,hbn,hbn_se\n8,0.4849,0.004\n", 2, []string{"hbn"}},
		{"an error alone", means, "budget,hbn,hbn_se\n8,0.5,0.003\n", "budget,hbn,hbn_se\n8,0.5,3\n", 1, nil},
		{"an error of nothing", means, "budget,hbn,hbn_se\n8,0.5,0\n", "budget,hbn,hbn_se\n8,0.500001,0\n", 1, []string{"hbn"}},
		{"without an error", means, "budget,oracle\n8,0.5\n", "budget,oracle\n8,0.500001\n", 1, []string{"oracle"}},
		{"an error on one side alone", means, "budget,hbn,hbn_se\n8,0.5,0.1\n", "budget,hbn,hbn_se\n8,0.6,\n", 2, []string{"hbn"}},
		{"a negative error", means, "budget,hbn,hbn_se\n8,0.5,-1\n", "budget,hbn,hbn_se\n8,0.6,1\n", 2, []string{"hbn"}},
		{"text", robustness, "budget,worst_profile\n8,a\n", "budget,worst_profile\n8,b\n", 1, []string{"worst_profile"}},
		{"a number that has gone", means, "budget,hbn\n8,0.5\n", "budget,hbn\n8,\n", 1, []string{"hbn"}},
		{"not a number", means, "budget,hbn,hbn_se\n8,NaN,1\n", "budget,hbn,hbn_se\n8,0.5,1\n", 1, []string{"hbn"}},
		{"the paper's", means, "budget,hbn,hbn_se,paper_hbn\n8,0.5,1,0.5\n", "budget,hbn,hbn_se,paper_hbn\n8,0.5,1,0.6\n", 1, []string{"paper_hbn"}},
		{"a spread over executions", times, "budget,sync_time,sync_time_sd,repeats\n8,0.5,0.02,4\n", "budget,sync_time,sync_time_sd,repeats\n8,0.54,0.02,4\n", 1, nil},
		{"beyond it", times, "budget,sync_time,sync_time_sd,repeats\n8,0.5,0.02,4\n", "budget,sync_time,sync_time_sd,repeats\n8,0.543,0.02,4\n", 1, []string{"sync_time"}},
		{"a ratio", ratios, "budget,variance_ratio,ratio_se\n8,0.5,0.01\n", "budget,variance_ratio,ratio_se\n8,0.54,0.01\n", 1, nil},
		{"a ratio with errors by cause", split, "budget,variance_ratio,replay_se,design_se\n8,0.5,0.003,0.004\n", "budget,variance_ratio,replay_se,design_se\n8,0.521,0.003,0.004\n", 1, nil},
		{"the worst ratio", robustness, "budget,worst_ratio,worst_se\n8,0.5,0.01\n", "budget,worst_ratio,worst_se\n8,0.55,0.01\n", 1, []string{"worst_ratio"}},
		{"a weight of 4/8 of the risk", schedule, "budget,m,w,risk,risk_se\n8,4,0.5,1,0.01\n", "budget,m,w,risk,risk_se\n8,4,0.52,1.04,0.01\n", 2, nil},
		{"a weight beyond", schedule, "budget,m,w,risk,risk_se\n8,4,0.5,1,0.01\n", "budget,m,w,risk,risk_se\n8,4,0.522,1,0.01\n", 1, []string{"w"}},
		{"a whole budget, by one and 3 s.e.", worth, "budget,equivalent_se,rounded\n8,0.5,9\n", "budget,equivalent_se,rounded\n8,0.5,12\n", 1, nil},
		{"a whole budget, by more", worth, "budget,equivalent_se,rounded\n8,0.5,9\n", "budget,equivalent_se,rounded\n8,0.5,13\n", 1, []string{"rounded"}},
		{"rows that labels do not tell apart", means, "x,y\n1,2\n3,4\n", "x,y\n1,2\n3,5\n", 1, []string{"y"}},
		{"a table that is not known", "x", "a,a_se,paper_a\n1,1,1\n", "a,a_se,paper_a\n2,2,2\n", 3, []string{"a", "a_se", "paper_a"}},
		{"a column that is not known", means, "budget,a,a_se\n8,1,1\n", "budget,a,a_se\n8,2,1\n", 1, []string{"a"}},
		{"a byte order mark", means, "\ufeffbudget,hbn\n8,0.5\n", "budget,hbn\n8,0.5\n", 0, nil},
	} {
		d := diffOf(t, c.base, c.a, c.b)
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
	d := diffOf(t, "budget_equivalents", "budget,equivalent_se,rounded,equivalent_budget\n8,1e-18,7,0.5\n", "budget,equivalent_se,rounded,equivalent_budget,hbn\n8,2e-18,8,0.6,1\n")
	var b bytes.Buffer
	if err := d.Text(&b, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 standard error or spread changed", "and 1 row or column of the others", "4.5e+16  beyond noise", "—  within noise"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
}

func TestWhatOneFolderAloneHasIsADifference(t *testing.T) {
	if d := diffOf(t, "table1_variance", "budget,hbn\n8,1\n16,1\n", "budget,hbn,oracle\n8,1,2\n"); d.Same() || d.Tables[0].OnlyRows[0][0] != "b=16" || d.Tables[0].OnlyColumns[1][0] != "oracle" || d.Tables[0].Compared != 2 {
		t.Errorf("%+v", d.Tables[0])
	}
	d, err := DiffFolders(tablesIn(t, map[string]string{"x": "a\n1\n", "y": "a\n1\n"}), tablesIn(t, map[string]string{"x": "a\n1\n"}))
	if err != nil || d.Same() || d.Only[0][0] != "y" || len(d.Only[1]) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestFoldersThatCannotBeCompared(t *testing.T) {
	good := tablesIn(t, map[string]string{"x": "budget\n8\n"})
	var none *report.NoFolderError
	for _, folder := range []string{t.TempDir(), filepath.Join(t.TempDir(), "[absent*"), filepath.Join(good, report.TablePaths("x")[0])} {
		for _, pair := range [][2]string{{good, folder}, {folder, good}} {
			if _, err := DiffFolders(pair[0], pair[1]); !errors.As(err, &none) || none.Folder != folder {
				t.Errorf("%q: error %v", pair, err)
			}
		}
	}
	if _, err := DiffFolders(good, tablesIn(t, map[string]string{"x": "a,a\n1,2\n"})); err == nil || !strings.Contains(err.Error(), `x.csv: header: column 2, "a"`) {
		t.Errorf("error %v", err)
	}
}

// FuzzDiff compares a table with any other: no table breaks it or the terminal,
// one is the same as itself, and both directions agree.
func FuzzDiff(f *testing.F) {
	for _, s := range []string{"", "budget,hbn\n8,0.5\n", "budget,budget\n1,2\n", "a\n\"", "budget,hbn,hbn_se\n,1e308,0\n-1e308,NaN,1\n", "\ufeff,\n", "benchmark,model,policy\n\x1b[2J,x,\u202e\n", "hbn_se,hbn,paper_hbn\n1,2,0\n"} {
		f.Add(s, "budget,hbn,hbn_se\n8,0.5,0.1\n")
	}
	known, err := columnsOf("table1_variance")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, known := range []*model.Sheet{known, {}} {
			keys := model.Keys(known.Columns)
			x, errX := report.ParseTable("x", []byte(a), keys)
			y, errY := report.ParseTable("x", []byte(b), keys)
			if errX != nil || errY != nil {
				return
			}
			if same := compare(known, [2]report.StoredTable{x, x}); len(same.Changed) > 0 || same.onlyOne() > 0 {
				t.Fatalf("%q is not itself: %+v", a, same)
			}
			there, back := compare(known, [2]report.StoredTable{x, y}), compare(known, [2]report.StoredTable{y, x})
			if len(there.Changed) != len(back.Changed) || there.beyond() != back.beyond() || there.onlyOne() != back.onlyOne() {
				t.Fatalf("%q and %q: %+v one way, %+v the other", a, b, there, back)
			}
			d := &Diff{Tables: []*TableDiff{there}}
			var text, document bytes.Buffer
			if err := errors.Join(d.Text(&text, true), d.JSON(&document)); err != nil || !json.Valid(document.Bytes()) {
				t.Fatalf("%q and %q: %v", a, b, err)
			}
			if strings.ContainsAny(text.String(), "\x1b\u202e\a\r") {
				t.Fatalf("%q reaches the terminal", text.String())
			}
		}
	})
}
