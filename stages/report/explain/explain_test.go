package explain

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speceval/internal/display"
	"speceval/pipeline/dag"
	"speceval/pipeline/lineage"
	"speceval/stages/report"
	"speceval/stages/report/stored"
)

// explainer is of a folder with a few stored tables, of which nothing else is there.
func explainer(t *testing.T, tables map[string]string, records ...dag.Record) *Explainer {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, report.TablesFolder), 0o777); err != nil {
		t.Fatal(err)
	}
	for base, csv := range tables {
		if err := os.WriteFile(filepath.Join(dir, report.TablePaths(base)[0]), []byte(csv), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return NewExplainer(stored.Settings{Systems: true}, dir, records)
}

// ask explains the cell that words name.
func ask(t *testing.T, x *Explainer, base, row, column string) *Explanation {
	t.Helper()
	table, err := x.Table(base)
	if err != nil {
		t.Fatal(err)
	}
	i, noRow := table.Row(row)
	j, noColumn := table.Column(column)
	if err := errors.Join(noRow, noColumn); err != nil {
		t.Fatal(err)
	}
	return x.Explain(table, i, j)
}

var someTables = map[string]string{
	"table1_variance":          "budget,oracle,tuned_en,tuned_en_se,hbn,hbn_se,paper_hbn,later\n8,0.5,0.9,0.1,0.8,0.001,0.872,1\n16,0.5,0.9,0.1,,,0.801,1\n",
	"table2_compute":           "budget,provenance,wasted_flops\n32,published,1\n32,simulated,2\n",
	"table5_hbn_schedule":      "n_tasks,budget,m,w\n19,8,4,0.5\n100,64,9,0.5\n",
	"table7_flop_coefficients": "model,theta_core,theta_head\nqwen2_5_7b,1,2\n",
	"profile_ratios":           "benchmark,model,n_tasks,budget,policy,m\naime24,qwen3_5_4b,30,8,hbn,2\n",
	"robustness":               "budget,profiles\n8,1\n8,2\n",
}

func TestNamesOfCells(t *testing.T) {
	x := explainer(t, someTables)
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
	table, err := x.Table("table1")
	if err != nil {
		t.Fatal(err)
	}
	_, noRow := table.Row("7")
	_, noColumn := table.Column("hbm")
	_, several := table.Column("tuned_")
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

func TestTablesThatCannotBeExplained(t *testing.T) {
	x := explainer(t, someTables)
	var missing *MissingError
	if _, err := x.Table("table3"); !errors.As(err, &missing) || !strings.Contains(err.Error(), "/tables/table3_time.csv does not exist; run `speceval tables` first") {
		t.Errorf("error %v", err)
	}
	if _, err := x.Table("robustness"); err == nil || !strings.HasPrefix(err.Error(), "robustness is damaged (`speceval tables` writes it again): rows 1 and 2 are both") {
		t.Errorf("error %v", err)
	}
}

// TestColumnsAreExplainedByTheModel: the words are those of this version, also where
// the results behind the table are not there any more.
func TestColumnsAreExplainedByTheModel(t *testing.T) {
	x := explainer(t, someTables)
	for _, c := range []struct{ row, column, words, warning string }{
		{"8", "budget", "The average budget", ""},
		{"8", "hbn", "HBN", ""},
		{"16", "hbn", "HBN", ""}, // it has no value
		{"8", "paper_hbn", "The number that the paper prints for hbn (Table 1)", ""},
		{"8", "later", "", "no table of this program has such a column: another version has stored it"},
	} {
		e := ask(t, x, "table1", c.row, c.column)
		got := strings.Join(e.Warnings, "\n")
		if !strings.Contains(e.Formula, c.words) || (e.Formula == "") != (c.words == "") || !strings.Contains(got, c.warning) || c.warning == "" && len(e.Warnings) > 1 {
			t.Errorf("%s: %q, warnings %q", c.column, e.Formula, e.Warnings)
		}
	}
	if e := ask(t, x, "profile_r", "aime24", "m"); e.Profile != "aime24__model=qwen3_5_4b" || *e.Value != 2 {
		t.Errorf("%+v", e)
	}
}

// TestUnitsAlikeShareALine prints an explanation of which every section is there.
func TestUnitsAlikeShareALine(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := &Explanation{Table: "t", Row: "b=8", Column: "hbn", Stored: "0.5", Warnings: []string{"stale"},
		Formula: "A mean."}
	e.Profile = "p__model=m"
	var records []dag.Record
	var needs []dag.Ref
	for _, unit := range []string{"design/n=1", "design/n=2", "profile/p__model=m", "profile/q__model=m", "ratios"} {
		ref := dag.Ref{Stage: "replay", Unit: unit}
		m := &dag.Manifest{Key: "0123456789abcdef", Start: start, CPUSeconds: 1, Origin: dag.Origin{Commit: "fedcba9876543210", Dirty: unit == "design/n=2"}}
		records = append(records, dag.Record{Unit: ref, Last: m, State: dag.Fresh, Declared: &dag.Unit{Needs: needs}})
		needs = append(needs, ref)
	}
	e.Origin = lineage.Of(records, records[4].Unit)
	e.Files = []lineage.File{{File: dag.File{Path: "f", Rows: -1, SHA256: "s"}, By: "replay/ratios"}}
	e.Sources = []dag.Source{{Name: "data", SHA256: "s"}, {Name: "profile p__model=m", SHA256: "s"}, {Name: "profile q", SHA256: "s"}, {Name: "profile r", SHA256: "s"}}
	var short, all bytes.Buffer
	if err := errors.Join(e.Text(&short, false), e.Text(&all, true)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"t, row \"b=8\", column hbn: 0.5\n\n! stale\n\n  A mean.\n\nStored files",
		"f        —  s        replay/ratios\n",
		"replay/design/…                2  fresh  0123456789ab  2 commits     —       2.00\n",
		"replay/profile/p__model=m      1  fresh  0123456789ab  fedcba987654",
		"profile p__model=m  s\n",
		"… and 2 of the kind \"profile\", each with its own hash (--all)\n",
	} {
		if !strings.Contains(short.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, short.String())
		}
	}
	if strings.Contains(all.String(), "…") || !strings.Contains(all.String(), "replay/design/n=2") {
		t.Errorf("not all:\n%s", all.String())
	}
}
