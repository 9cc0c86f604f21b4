package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"speceval/data"
	"speceval/internal/golden"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// folder is an output folder of some stages.
type folder struct {
	dir      string
	settings stored.Settings
	stages   []dag.Stage
}

// folder is a new output folder of the study, in which nothing has run.
func (s study) folder(t testing.TB) folder {
	t.Helper()
	f := folder{t.TempDir(), s.settings(t), s.before()}
	f.stages = append(f.stages, report.Stage(f.settings))
	return f
}

// reported is a new output folder with the whole report of the study.
func (s study) reported(t testing.TB) folder {
	t.Helper()
	f := s.folder(t)
	dagtest.Run(t, f.stages, f.dir)
	return f
}

// verdicts are what the stored report says of the paper's numbers.
func (f folder) verdicts(t testing.TB) report.Verdicts {
	t.Helper()
	return must(report.VerifyFolder(f.settings, f.dir))
}

var (
	wholeOnce sync.Once
	wholeMade folder
)

// whole is the report of a study with a fleet, which tests read alone. The others
// make folders of their own.
func whole(t testing.TB) folder {
	t.Helper()
	wholeOnce.Do(func() {
		s := fleetStudy(t)
		dir := must(os.MkdirTemp("", "report"))
		f := folder{dir, s.settings(t), s.before()}
		f.settings.Measurements = data.Measurements() // the same runs, with the digest of the paper's data
		f.stages = append(f.stages, report.Stage(f.settings))
		dagtest.Run(t, f.stages, f.dir)
		wholeMade = f
	})
	return wholeMade
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(wholeMade.dir)
	os.Exit(code)
}

func (f folder) explainer(t testing.TB) *report.Explainer {
	t.Helper()
	return &report.Explainer{Settings: f.settings, Out: f.dir, Records: dagtest.Scan(t, f.stages, f.dir).Records()}
}

// ask explains the cell that words name.
func ask(t *testing.T, x *report.Explainer, base, row, column string) *report.Explanation {
	t.Helper()
	table := must(x.Table(base))
	i, noRow := display.Locate("row of "+table.Base, row, table.Labels())
	j, noColumn := display.Locate("column of "+table.Base, column, table.Names())
	ok(t, errors.Join(noRow, noColumn))
	return x.Explain(table, i, j)
}

// TestATableByBenchmark has a table with a benchmark in each row and no model, as one of the user's
// own may be.
func TestATableByBenchmark(t *testing.T) {
	sheet := &model.Sheet{Table: &model.Table{Base: "by_benchmark"}, Rows: 2}
	for name, cells := range map[string][2]table.Cell{"benchmark": {table.Text("aime24"), table.Text("hmmt")}, "budget": {table.Integer(8), table.Integer(8)}, "hbn": {table.Number(0.9), table.Number(0.8)}} {
		sheet.Columns = append(sheet.Columns, model.Column{Name: name, Cell: func(row int) table.Cell { return cells[row] }})
	}
	if got := sheet.Labels(); !slices.Equal(got, []string{"aime24 b=8", "hmmt b=8"}) {
		t.Errorf("the rows are %q", got)
	}
	x := whole(t).explainer(t)
	if e := x.Explain(sheet, 1, slices.Index(sheet.Names(), "hbn")); e.Row != "hmmt b=8" || e.Stored != "0.8" || e.Profile != "" {
		t.Errorf("%+v", e)
	}
}

func TestNamesOfCells(t *testing.T) {
	x := whole(t).explainer(t)
	for _, c := range []struct{ table, row, column, want string }{
		{"TABLE1_", "8", "HBN", "table1_variance b=8 hbn"},
		{"table1", "16", "PAPER_HBN", "table1_variance b=16 paper_hbn"},
		{"table5_hbn_schedule.csv", "n=100 64", "W", "table5_hbn_schedule N=100 b=64 w"},
		{"table2", "sim 32", "wasted_flops", "table2_compute simulated b=32 wasted_flops"},
		{"table7", "QWEN2_5_7B", "theta_c", "table7_flop_coefficients qwen2_5_7b theta_core"},
		{"profile_r", "aime24__model=qwen3_5_4b 8 hbn", "m", "profile_ratios aime24__model=qwen3_5_4b b=8 hbn m"},
	} {
		e := ask(t, x, c.table, c.row, c.column)
		if got := e.Table + " " + e.Row + " " + e.Column; got != c.want {
			t.Errorf("%+v is %s, want %s", c, got, c.want)
		}
		if profile := strings.HasPrefix(c.want, "profile"); profile != (e.Profile == "aime24__model=qwen3_5_4b") || e.Value == nil {
			t.Errorf("%s: profile %q, value %v", c.want, e.Profile, e.Value)
		}
	}
	table := must(x.Table("table1"))
	_, noRow := display.Locate("row of "+table.Base, "7", table.Labels())
	_, noColumn := display.Locate("column of "+table.Base, "hbm", table.Names())
	_, several := display.Locate("column of "+table.Base, "tuned_", table.Names())
	_, noTable := x.Table("tabel1_variance")
	for i, want := range []string{
		`there is no row of table1_variance "7"; the nearest are b=8`,
		`there is no column of table1_variance "hbm"; the nearest are hbn, hbn_se`,
		`"tuned_" could be more than one column of table1_variance: tuned_en, tuned_en_se`,
		`there is no table "tabel1_variance"; the nearest are table1_variance`,
	} {
		err := []error{noRow, noColumn, several, noTable}[i]
		var name *display.NameError
		if !errors.As(err, &name) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestEveryCellIsExplained explains cells of every table of a fresh report: each has a
// formula, units and files, and no warning.
func TestEveryCellIsExplained(t *testing.T) {
	f := whole(t)
	x := f.explainer(t)
	for _, of := range tables.Of(&f.settings) {
		base := of.Base
		table := must(x.Table(base))
		if table.Rows == 0 {
			t.Errorf("%s has no row", base)
		}
		for i := range table.Labels() {
			if i > 4 && i%173 != 0 {
				continue
			}
			for j, column := range table.Names() {
				e := x.Explain(table, i, j)
				if len(e.Warnings) > 0 || e.Formula == "" || len(e.Units) == 0 || len(e.Files) < 2 {
					t.Errorf("%s %q %s: warnings %q, formula %q, %d units, %d files", base, e.Row, column, e.Warnings, e.Formula, len(e.Units), len(e.Files))
				}
				if i > 1 {
					continue
				}
				_, noJSON := json.Marshal(e)
				if err := errors.Join(e.Text(io.Discard, i == 0), noJSON); err != nil {
					t.Errorf("%s %q %s: %v", base, e.Row, column, err)
				}
			}
		}
	}
}

// TestStoredOfAnotherConfigurationIsSaid changes a value of the configuration
// that the tables were made with.
func TestStoredOfAnotherConfigurationIsSaid(t *testing.T) {
	f := paperStudy(t).folder(t)
	at := slices.IndexFunc(f.stages[0].Units, func(u dag.Unit) bool { return u.ID == stored.RatiosRef.Unit })
	ratios := &f.stages[0].Units[at]
	ratios.Config = map[string]string{"replay.draws": "8192"}
	dagtest.Run(t, f.stages, f.dir)
	if e := ask(t, f.explainer(t), "table1", "8", "hbn"); len(e.Warnings) > 0 {
		t.Fatalf("warnings on a fresh table: %q", e.Warnings)
	}
	ratios.Config = map[string]string{"replay.draws": "1024"}
	x := f.explainer(t)
	want := "replay/ratios is stale: replay.draws 8192 → 1024"
	if e := ask(t, x, "table1", "8", "hbn"); len(e.Warnings) != 1 || e.Warnings[0] != want {
		t.Errorf("warnings %q, want %q", e.Warnings, want)
	}
	if e := ask(t, x, "table5", "19 8", "m"); len(e.Warnings) > 0 {
		t.Errorf("warnings %q on a table that is not made of it", e.Warnings)
	}
	ok(t, os.Remove(filepath.Join(f.dir, "manifests", "report", "table1_variance.json")))
	e := ask(t, f.explainer(t), "table1", "8", "hbn")
	if got := strings.Join(e.Warnings, "\n"); !strings.Contains(got, "report/table1_variance is without a manifest") || e.Value == nil {
		t.Errorf("warnings %q", got)
	}
}

// TestExplanationInText has records that are the same in every run.
func TestExplanationInText(t *testing.T) {
	f := whole(t)
	const digest = "0123456789abcdef"
	records := dagtest.Scan(t, f.stages, f.dir).Records()
	for i := range records {
		m := *records[i].Last
		m.Key, m.CPUSeconds, m.Inputs, m.Outputs = digest, 1.5, slices.Clone(m.Inputs), slices.Clone(m.Outputs)
		for _, files := range [][]dag.File{m.Inputs, m.Outputs} {
			for k := range files {
				files[k].SHA256 = digest
			}
		}
		records[i].Last = &m
	}
	x := &report.Explainer{Settings: f.settings, Out: f.dir, Records: records}
	for name, cell := range map[string][3]string{
		"explain-mean.txt":     {"table1_variance", "b=8", "hbn"},
		"explain-schedule.txt": {"table5_hbn_schedule", "N=30 b=16", "m"},
		"explain-cost.txt":     {"table4_benefit", "simulated b=8", "delta"},
	} {
		e := ask(t, x, cell[0], cell[1], cell[2])
		var b bytes.Buffer
		ok(t, e.Text(&b, false))
		golden.Check(t, name, b.Bytes())
	}
}

func TestMeasuredNumbersAreExplained(t *testing.T) {
	x := liveStudy().reported(t).explainer(t)
	for _, c := range []struct{ table, row, column string }{
		{"prediction_variance", "measured primer__model=small b=8 hbn-async", "ratio"},
		{"prediction_times", "primer__model=small b=8 hbn-async", "measured_seconds"},
	} {
		e := ask(t, x, c.table, c.row, c.column)
		var b bytes.Buffer
		if err := e.Text(&b, false); err != nil || len(e.Warnings) > 0 {
			t.Errorf("%v: %v, %q", c, err, e.Warnings)
		}
		text, _, _ := strings.Cut(b.String(), "\nStored files")
		golden.Check(t, fmt.Sprintf("live/explain-%s-%s.txt", c.table, c.column), []byte(text))
	}
}
