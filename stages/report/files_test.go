package report

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report/model"
)

type budgetRow struct {
	Budget model.RowBudget `csv:"budget" align:"left"`
	HBN    float64         `csv:"hbn" head:"HBN"`
}

// budgets has a row for each of some budgets.
func budgets(of ...int32) *model.Sheet {
	var rows []budgetRow
	for _, b := range of {
		rows = append(rows, budgetRow{model.RowBudget(b), 1 / float64(b)})
	}
	s := model.NewSheet("Budgets", rows)
	s.Table = &model.Table{Base: "x", Label: "tab:x"}
	return s
}

// store runs a unit that writes a table.
func store(t *testing.T, s *model.Sheet) (outDir, key string) {
	t.Helper()
	outDir = t.TempDir()
	dagtest.Run(t, []dag.Stage{{Name: "report", Version: 1, Units: []dag.Unit{{ID: s.Base, Outputs: TablePaths(s.Base), Provenance: "computed",
		Run: func(_ context.Context, job *dag.Job) error { key = job.Key(); return WriteTable(job, s) }}}}}, outDir)
	return outDir, key
}

func TestTablesAreReadAsTheyAreStored(t *testing.T) {
	s := budgets(8, 16)
	dir, key := store(t, s)
	got, err := ReadTable(dir, "x", model.Keys(s.Columns))
	want := StoredTable{"x", []string{"budget", "hbn"}, [][]string{{"8", "0.125"}, {"16", "0.0625"}}, []string{"b=8", "b=16"}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || got.Fields(1)["hbn"] != "0.0625" {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	tex, err := os.ReadFile(filepath.Join(dir, "tables", "x.tex"))
	if first, _, _ := strings.Cut(string(tex), "\n"); err != nil || key == "" || !strings.HasSuffix(first, "; key: "+key) {
		t.Errorf("LaTeX begins with %q, %v; want the key %q", first, err, key)
	}
}

func TestTablesThatAreNotThere(t *testing.T) {
	if _, err := ReadTable(t.TempDir(), "x", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestDamagedTablesAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, TablesFolder, "x.csv")
	if err := os.MkdirAll(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTable(dir, "x", nil); err == nil || !strings.Contains(err.Error(), "are no table") {
		t.Errorf("a folder: error %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                     "x.csv: the file is empty",
		"a,a\n1,2\n":           `x.csv: header: column 2, "a", has no name of its own`,
		"a,\n1,2\n":            `x.csv: header: column 2, "", has no name of its own`,
		"a,b\n1\n":             "x.csv: row 1: record on line 2: wrong number of fields",
		"a\n\xff\n":            `x.csv: row 1: a "\xff" is not valid UTF-8`,
		"a\n\"1\n":             "x.csv: row 1: ",
		"a\xff\n1\n":           "x.csv: header: column 1",
		"a,b\n1,2\n\"3\"x,4\n": "x.csv: row 2: ",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTable(dir, "x", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if err := os.Truncate(path, mostBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTable(dir, "x", nil); err == nil || !strings.Contains(err.Error(), "are no table") {
		t.Errorf("a large file: error %v", err)
	}
}

// FuzzParse reads any text: a table has fields and labels for every row.
func FuzzParse(f *testing.F) {
	keys := model.Keys(budgets().Columns)
	for _, s := range []string{"", "budget,hbn\n8,0.5\n8,0.5\n", "budget,budget\n1,2\n", "a\n\"", "\ufeff,\n", "\x1b[2J,x\n,\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := parseTable("x", data, keys)
		if err != nil {
			return
		}
		if len(x.Labels) != len(x.Rows) {
			t.Fatalf("%q: labels %q of %d rows", data, x.Labels, len(x.Rows))
		}
		for i := range x.Rows {
			if len(x.Fields(i)) != len(x.Columns) {
				t.Fatalf("%q: row %d is %q", data, i, x.Rows[i])
			}
		}
	})
}
