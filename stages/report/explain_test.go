package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

// explained is an output folder with a whole report, and its explainer. Tests
// that change the folder make their own.
func explained(t *testing.T, dir string, stages []dag.Stage, s Settings) *Explainer {
	t.Helper()
	return NewExplainer(s, dir, dagtest.Scan(t, stages, dir).Records())
}

// wholeStages are those of a study with a simulated fleet.
func wholeStages(t *testing.T) ([]dag.Stage, Settings) {
	t.Helper()
	s := paperStudy(t)
	settings := fleetSettings(t, s)
	return []dag.Stage{replayed(s), systems(withFleet(paperCosts(t, s))), Stage(settings)}, settings
}

var (
	wholeOnce sync.Once
	wholeDir  string
)

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(wholeDir)
	os.Exit(code)
}

// whole is the explainer of a folder that tests read alone.
func whole(t *testing.T) *Explainer {
	t.Helper()
	stages, settings := wholeStages(t)
	wholeOnce.Do(func() {
		var err error
		if wholeDir, err = os.MkdirTemp("", "explained"); err != nil {
			t.Fatal(err)
		}
		dagtest.Run(t, stages, wholeDir)
	})
	return explained(t, wholeDir, stages, settings)
}

// ask explains the cell that words name.
func ask(t *testing.T, x *Explainer, base, row, column string) *Explanation {
	t.Helper()
	sheet, err := x.Table(base)
	if err != nil {
		t.Fatal(err)
	}
	i, err := sheet.Row(row)
	if err != nil {
		t.Fatal(err)
	}
	j, err := sheet.Column(column)
	if err != nil {
		t.Fatal(err)
	}
	e := x.Explain(sheet, i, j)
	return e
}

// TestEveryCellIsExplained takes every cell of every table of a fresh report
// apart: nothing is to be warned of, and what is shown makes the stored number.
func TestEveryCellIsExplained(t *testing.T) {
	x := whole(t)
	for _, base := range x.Tables() {
		sheet, err := x.Table(base)
		if err != nil {
			t.Fatal(err)
		}
		if len(sheet.Data.Rows) == 0 {
			t.Errorf("%s has no row", base)
		}
		for i := range sheet.Data.Rows {
			if i > 4 && i%173 != 0 {
				continue
			}
			for j, column := range sheet.ColumnNames() {
				e := x.Explain(sheet, i, j)
				if len(e.Warnings) > 0 || e.Formula.Plain == "" || len(e.Units) == 0 || len(e.Files) < 2 {
					t.Errorf("%s %q %s: warnings %q, formula %q, %d units, %d files", base, e.Row, column, e.Warnings, e.Formula.Plain, len(e.Units), len(e.Files))
				}
				if p := e.Parts; p != nil && p.Rows[0].Share != nil && (p.made == nil || e.Value == nil) {
					t.Errorf("%s %q %s: parts make nothing", base, e.Row, column)
				}
				if i > 1 {
					continue
				}
				var b bytes.Buffer
				if err := errors.Join(e.Text(&b, i == 0), e.JSON(&b)); err != nil {
					t.Errorf("%s %q %s: %v", base, e.Row, column, err)
				}
			}
		}
	}
}

// TestWrongPartsContradict spoils a row of what a mean is made of, though no
// manifest says so: the number that its parts make is another.
func TestWrongPartsContradict(t *testing.T) {
	s := paperStudy(t)
	settings := settings(t, s)
	dir := t.TempDir()
	stages := []dag.Stage{replayed(s), Stage(settings)}
	dagtest.Run(t, stages, dir)
	s.Ratios[3].VarianceRatio += 0.01
	write(t, filepath.Join(dir, filepath.FromSlash(variance.RatiosFile)), s.Ratios)
	e := ask(t, explained(t, dir, stages, settings), "table1", "8", "hbn")
	got := strings.Join(e.Warnings, "\n")
	for _, want := range []string{"replay/ratios is not as made: output replay/ratios.parquet is not as recorded", "the stored rows make 0.872"} {
		if !strings.Contains(got, want) {
			t.Errorf("warnings %q lack %q", got, want)
		}
	}
}

func TestErrorsOfACellByCause(t *testing.T) {
	e := ask(t, whole(t), "table1_variance", "b=16", "hbn")
	if len(e.Errors) != 3 {
		t.Fatalf("%+v", e.Errors)
	}
	rows, err := errorRows(paperStudy(t).Results, madeErrors(paperStudy(t).Ratios))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(r errorRow) bool { return r.budget == 16 && r.policy == variance.HBN })
	for k, want := range []float64{rows[i].replay, rows[i].design, rows[i].profiles.se} {
		near(t, e.Errors[k].Cause, *e.Errors[k].SE, want)
	}
	if p := e.Parts; p.Count != 107 || p.Most.Name != "math_100__model=qwen3_5_4b" || p.Rows[0].Name != p.Most.Name || len(p.Rows) != 107 {
		t.Errorf("%d profiles, greatest %s, first %s", p.Count, p.Most.Name, p.Rows[0].Name)
	}
	if e.Paper == nil || e.Paper.Verdict != Agrees || *e.Paper.Paper != 0.801 || !strings.Contains(e.Paper.Reason, "3 decimals") {
		t.Errorf("beside the paper: %+v", e.Paper)
	}
}

func TestSimulatedNumbersShowTheirRepeats(t *testing.T) {
	x := whole(t)
	e := ask(t, x, "table3_time", "simulated b=16", "async_time")
	if len(e.Repeats) != fleetRepeats {
		t.Fatalf("%d repeats, want %d", len(e.Repeats), fleetRepeats)
	}
	near(t, "mean of the repeats", (e.Repeats[0]+e.Repeats[1]+e.Repeats[2])/3, *e.Value)
	near(t, "error of the mean", *e.Errors[0].SE, (e.Repeats[2]-e.Repeats[0])/2/math.Sqrt(fleetRepeats))
	published := ask(t, x, "table3", "published 16", "async_time")
	if published.Repeats != nil || published.Errors[0].SE != nil || published.Parts.Count != 107 ||
		published.Parts.From != "the 321 published rows of data/measurements.parquet at reference_budget 16 with the strategies uniform, hbn-sync, hbn-async" {
		t.Errorf("a published number: %+v", published.Errors)
	}
}

// TestStoredOfAnotherConfigurationIsSaid changes a value of the configuration
// that the tables were made with.
func TestStoredOfAnotherConfigurationIsSaid(t *testing.T) {
	s := paperStudy(t)
	settings := settings(t, s)
	dir := t.TempDir()
	stages := []dag.Stage{replayed(s), Stage(settings)}
	at := slices.IndexFunc(stages[0].Units, func(u dag.Unit) bool { return u.ID == ratiosRef.Unit })
	ratios := &stages[0].Units[at]
	ratios.Config = map[string]string{"replay.draws": "8192"}
	dagtest.Run(t, stages, dir)
	if e := ask(t, explained(t, dir, stages, settings), "table1", "8", "hbn"); len(e.Warnings) > 0 {
		t.Fatalf("warnings on a fresh table: %q", e.Warnings)
	}
	ratios.Config = map[string]string{"replay.draws": "1024"}
	x := explained(t, dir, stages, settings)
	want := "replay/ratios is stored of another configuration than this one: replay.draws 8192 → 1024"
	if e := ask(t, x, "table1", "8", "hbn"); len(e.Warnings) != 1 || e.Warnings[0] != want {
		t.Errorf("warnings %q, want %q", e.Warnings, want)
	}
	if e := ask(t, x, "table5", "19 8", "m"); len(e.Warnings) > 0 {
		t.Errorf("warnings %q on a table that is not made of it", e.Warnings)
	}
	if err := os.Remove(filepath.Join(dir, "manifests", "report", "table1_variance.json")); err != nil {
		t.Fatal(err)
	}
	e := ask(t, explained(t, dir, stages, settings), "table1", "8", "hbn")
	if got := strings.Join(e.Warnings, "\n"); !strings.Contains(got, "report/table1_variance has no manifest") || e.Value == nil {
		t.Errorf("warnings %q", got)
	}
}

func TestOtherProfilesAreExplainedWithoutThePaper(t *testing.T) {
	s := paperStudy(t)
	s.Published = false
	settings := settings(t, s)
	dir := t.TempDir()
	stages := []dag.Stage{replayed(s), Stage(settings)}
	dagtest.Run(t, stages, dir)
	if e := ask(t, explained(t, dir, stages, settings), "table1", "8", "hbn"); e.Paper != nil || len(e.Warnings) > 0 || e.Value == nil {
		t.Errorf("paper %+v, warnings %q", e.Paper, e.Warnings)
	}
}

func TestNamesOfCells(t *testing.T) {
	x := whole(t)
	for _, c := range []struct{ table, row, column, want string }{
		{"TABLE1", "8", "HBN", "table1_variance b=8 hbn"},
		{"table5_hbn_schedule.csv", "n=100 64", "W", "table5_hbn_schedule N=100 b=64 w"},
		{"table2", "sim 32", "wasted_flops", "table2_compute simulated b=32 wasted_flops"},
		{"table7", "QWEN2_5_7B", "theta_c", "table7_flop_coefficients qwen2_5_7b theta_core"},
		{"profile_r", "aime24__model=qwen3_5_4b 8 hbn", "m", "profile_ratios aime24__model=qwen3_5_4b b=8 hbn m"},
	} {
		e := ask(t, x, c.table, c.row, c.column)
		if got := e.Table + " " + e.Row + " " + e.Column; got != c.want {
			t.Errorf("%+v is %s, want %s", c, got, c.want)
		}
	}
	sheet, err := x.Table("table1")
	if err != nil {
		t.Fatal(err)
	}
	_, noRow := sheet.Row("7")
	_, noColumn := sheet.Column("hbm")
	_, several := sheet.Column("tuned_")
	_, noTable := x.Table("tabel1_variance")
	for i, want := range []string{
		`there is no row of table1_variance "7"; the nearest are b=8`,
		`there is no column of table1_variance "hbm"; the nearest are hbn, hbn_se`,
		`"tuned_" could be more than one column of table1_variance: tuned_en, tuned_en_se, tuned_ibn, tuned_ibn_se`,
		`there is no table "tabel1_variance"; the nearest are table1_variance`,
	} {
		err := []error{noRow, noColumn, several, noTable}[i]
		var name *NameError
		if !errors.As(err, &name) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestTablesThatAreNotStoredAreMissing(t *testing.T) {
	stages, settings := wholeStages(t)
	x := explained(t, t.TempDir(), stages, settings)
	var missing *MissingError
	if _, err := x.Table("table1"); !errors.As(err, &missing) || !strings.Contains(err.Error(), "speceval tables") {
		t.Errorf("error %v", err)
	}
}

func TestExplanationInText(t *testing.T) {
	for name, cell := range map[string][3]string{
		"explain-mean.txt":     {"table1_variance", "b=8", "hbn"},
		"explain-schedule.txt": {"table5_hbn_schedule", "N=30 b=16", "m"},
		"explain-cost.txt":     {"table4_benefit", "simulated b=8", "delta"},
	} {
		e := ask(t, whole(t), cell[0], cell[1], cell[2])
		for i := range e.Files {
			e.Files[i].SHA256 = "0123456789abcdef"
		}
		for i := range e.Units {
			e.Units[i].Key, e.Units[i].CPUSeconds = "0123456789abcdef", 1.5
		}
		var b bytes.Buffer
		if err := e.Text(&b, false); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, b.Bytes())
	}
}

func TestExplanationAsJSON(t *testing.T) {
	e := ask(t, whole(t), "table1", "8", "tuned_en_se")
	var b bytes.Buffer
	if err := e.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Explanation
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || *got.Value != *e.Value || len(got.Parts.Rows) != 112 || len(got.Units) != len(e.Units) {
		t.Errorf("%v\n%s", err, b.Bytes())
	}
	if _, err := parseSheet("x", []byte("budget,budget\n8,8\n")); err == nil {
		t.Error("two columns of a name")
	}
	if s, err := parseSheet("x", []byte("budget,hbn\n8,0.5\n16,0.4\n")); err != nil || !slices.Equal(s.Labels(), []string{"b=8", "b=16"}) || s.Data.Rows[1][1] != table.Text("0.4") {
		t.Errorf("%v, %v", s, err)
	}
}

func TestTheErrorOfAWeight(t *testing.T) {
	x := whole(t)
	risk, w := ask(t, x, "table5", "19 16", "risk"), ask(t, x, "table5", "19 16", "w")
	m := ask(t, x, "table5", "19 16", "m")
	near(t, "error of w = risk·m/b", *w.Errors[0].SE, *risk.Errors[0].SE**m.Value/16)
	if *risk.Errors[0].SE == 0 {
		t.Error("no error to speak of")
	}
}

func TestWarningsAreWeighed(t *testing.T) {
	last := -1
	for _, kind := range []dag.Kind{dag.Config, dag.Version, dag.InputChanged, dag.NeverRun} {
		weight := weightOf(dag.Record{Reasons: []dag.Reason{{Kind: dag.NeverRun}, {Kind: kind}}})
		if weight <= last {
			t.Errorf("%v weighs %d, after %d", kind, weight, last)
		}
		last = weight
	}
}
