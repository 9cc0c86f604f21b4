package report

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"speceval/internal/agreement"
	"speceval/internal/figure"
	"speceval/internal/page"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/figures"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// numbers is a column of numbers; a negative one is missing.
func numbers(name string, role model.Role, of string, all ...float64) model.Column {
	return model.Column{Name: name, Role: role, Of: of, Words: "The " + name + ".", Cell: func(i int) table.Cell {
		if all[i] < 0 {
			return table.Missing()
		}
		return table.Number(all[i])
	}}
}

// made is a table of two profiles that a unit of the replay would feed.
func made(rows int) *model.Table {
	return &model.Table{Base: "table1_made", Make: func(src *stored.Source) (*model.Sheet, error) {
		s := &model.Sheet{Title: "Made up.", Rows: rows, Notes: []string{model.Dagger + " differs from the paper's", "A note."}}
		key := func(name string, of func(row int) table.Cell) model.Column {
			return model.Column{Name: name, Role: model.Key, Cell: of}
		}
		s.Add(key("budget", func(int) table.Cell { return table.Integer(8) }),
			key("benchmark", func(i int) table.Cell { return table.Text([]string{"a", "b"}[i]) }),
			key("model", func(int) table.Cell { return table.Text("m") }),
			numbers("hbn", model.Value, "", 0.872471, 0.9), numbers("hbn_error", model.Error, "hbn", 0.0002, -1),
			numbers("paper_hbn", model.Paper, "hbn", 0.87, -1), numbers("by_cause", model.Value, "", 0.1, 0.2))
		_, err := src.Designs()
		return s, err
	}}
}

func builderOf(t *testing.T, v Verdicts) (b builder, dir string) {
	dir = t.TempDir()
	return builder{stored.NewSource(&stored.Settings{}, stored.Folder(dir)), v}, dir
}

func TestATableWithItsVerdicts(t *testing.T) {
	c := agreement.Compare(agreement.Estimate{Value: 0.872471, SE: 0.0002}, 0.87, 3, 0).In("table1_made", "a__model=m b=8", "hbn")
	b, _ := builderOf(t, Verdicts{Published: true, Cells: []agreement.Comparison{c, agreement.Lacking(5, 0, "").In("table1_made", "all", "tasks"), agreement.Lacking(6, 0, "").In("corpus", "", "tasks")}})
	got, err := b.table(made(2))
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "Table 1" || got.Title != "Made up." || !reflect.DeepEqual(got.Notes, []string{"A note.", "Not all is here: the replay stage has not run."}) {
		t.Errorf("table %q, %q, notes %q", got.Name, got.Title, got.Notes)
	}
	columns := []page.Column{{Name: "benchmark, model", Head: "Profile", Key: true}, {Name: "budget", Head: "b", Key: true},
		{Name: "hbn", Head: "HBN", Spread: "s.e.", Formula: "The hbn."}, {Name: "by_cause", Head: "By cause", Formula: "The by_cause."}}
	if !reflect.DeepEqual(got.Columns, columns) {
		t.Errorf("columns %+v", got.Columns)
	}
	first := page.Cell{Text: "0.87247", Spread: "0.00020", Exact: "0.872471 ± 0.0002", Paper: "0.870", Verdict: page.VerdictOf(agreement.Differs), Difference: "+0.0025", SEs: "7.0"}
	if r := got.Rows[0]; r.Label != "a__model=m b=8" || !reflect.DeepEqual(r.Keys, []string{"a__model=m", "8"}) || r.Cells[0] != first {
		t.Errorf("row %+v", r)
	}
	if second := got.Rows[1].Cells[0]; second != (page.Cell{Text: "0.90000", Exact: "0.9"}) {
		t.Errorf("second row: %+v", second)
	}
	if len(got.Extra) != 1 || got.Extra[0].Row != "all" || got.Extra[0].Paper != "5" {
		t.Errorf("what belongs to no cell: %+v", got.Extra)
	}
	if rest := others(b.verdicts.Cells, []page.Table{got}); len(rest) != 1 || rest[0].Name != "Corpus" || len(rest[0].Lines) != 1 {
		t.Errorf("what belongs to no table: %+v", rest)
	}
}

func TestTablesWithoutRowsSayWhy(t *testing.T) {
	b, dir := builderOf(t, Verdicts{})
	empty := made(0)
	if got, err := b.table(empty); err != nil || got.Absent != "not run: replay" || len(got.Columns) > 0 {
		t.Errorf("%+v, error %v", got, err)
	}
	if got, err := b.table(&model.Table{Base: "a_b", Make: func(src *stored.Source) (*model.Sheet, error) { _, err := src.Experiment(); return nil, err }}); err != nil || got.Absent != "not run: report" || got.Title != "a b" {
		t.Errorf("%+v, error %v", got, err)
	}
	empty.Make = func(*stored.Source) (*model.Sheet, error) {
		return &model.Sheet{Notes: []string{"Nothing is measured."}}, nil
	}
	if got, err := b.table(empty); err != nil || got.Absent != "Nothing is measured." {
		t.Errorf("%+v, error %v", got, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "replay"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, variance.DesignsFile), []byte("no Parquet"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Source = stored.NewSource(b.Settings, stored.Folder(dir))
	if _, err := b.table(made(2)); err == nil || !strings.Contains(err.Error(), "designs.parquet") {
		t.Errorf("damaged results: error %v", err)
	}
}

func TestFiguresWithTheirCaptions(t *testing.T) {
	b, _ := builderOf(t, Verdicts{})
	f := &figures.Figure{Base: "figure2_made", Make: func(src *stored.Source) (figure.Figure, error) {
		_, err := src.Ratios()
		return figure.Figure{Title: "Drawn.", Caption: "At b, 5% of a_b.", Width: 100, Height: 100, Panels: [][]figure.Panel{{{Instead: "Nothing."}}},
			Data: table.Table{Columns: []table.Column{{Name: "x"}}, Rows: [][]table.Cell{{table.Number(1)}}}}, err
	}}
	got, err := b.figure(f)
	if err != nil || got.Name != "Figure 2" || !strings.HasPrefix(got.SVG, "<svg") || got.Caption != "At b, 5% of a_b. Not all is here: the replay stage has not run." {
		t.Errorf("%+v, error %v", got, err)
	}
	complete := &figures.Figure{Base: "own", Make: func(*stored.Source) (figure.Figure, error) {
		return figure.Figure{Caption: "All.", Width: 100, Height: 100, Panels: [][]figure.Panel{{{Instead: "Nothing."}}}}, nil
	}}
	if got, err := b.figure(complete); err != nil || got.Name != "Own" || got.Caption != "All." {
		t.Errorf("%+v, error %v", got, err)
	}
	make := f.Make
	f.Make = func(src *stored.Source) (figure.Figure, error) { f, err := make(src); f.Data.Rows = nil; return f, err }
	if got, err := b.figure(f); err != nil || got.Absent != "not run: replay" || got.Title != "Drawn." || got.SVG != "" {
		t.Errorf("%+v, error %v", got, err)
	}
}

func TestErrorsStandBehindTheirNumbers(t *testing.T) {
	s := &model.Sheet{Rows: 1, Table: &model.Table{}}
	s.Add(numbers("hbn", model.Value, "", 1), numbers("error", model.Error, "hbn", 1), numbers("sd", model.Spread, "hbn", 1), numbers("paper_hbn", model.Paper, "hbn", 1),
		numbers("time", model.Value, "", 1), numbers("time_sd", model.Spread, "time", 1), numbers("replay_se", model.Value, "", 1), numbers("stray_se", model.Error, "gone", 1))
	var got []string
	for _, c := range newColumns(s) {
		got = append(got, c.Name+c.behind)
	}
	if want := "hbns.e. sd times.d. replay_se stray_se"; strings.Join(got, " ") != want {
		t.Errorf("columns %q, want %q", got, want)
	}
}

func TestTheSummaryNamesWhatDiffers(t *testing.T) {
	sum := summary(Verdicts{Published: true, Cells: []agreement.Comparison{
		agreement.Compare(agreement.Estimate{Value: 0.882, SE: 0.0001}, 0.872, 3, 0.001).As(agreement.Computed).In("table1_variance", "b=8", "hbn"),
		agreement.Compare(agreement.Estimate{Value: 0.5}, 0.5, 1, 0).As(agreement.Copied).In("corpus", "", "tasks"),
		agreement.Foretold(agreement.Forecast{Mean: 0.2, SD: 0.01}, agreement.Forecast{}, 0.3, 2).As(agreement.Predicted).In("table3_time", "simulated b=8", "sync_time")}})
	if sum.Passed || len(sum.Differ) != 1 || len(sum.Legend) == 0 || sum.Against != "" || strings.HasPrefix(sum.Line, "verify") {
		t.Fatalf("summary %+v", sum)
	}
	d := sum.Differ[0]
	if d.Table != "table1_variance" || d.Name != "Table 1" || d.Row != "b=8" || d.Column != "hbn" || !strings.Contains(d.Text, "0.88200, where the paper has 0.872") {
		t.Errorf("what differs: %+v", d)
	}
	if len(sum.Astray) != 1 || sum.Astray[0].Table != "table3_time" || !strings.Contains(sum.Astray[0].Text, "10.0 standard deviations of one suite: -10.00 points; naive fleet -30.00") {
		t.Errorf("astray: %+v", sum.Astray)
	}
	want := []page.Count{{Verdict: page.Verdict{Mark: "✓", Word: "agrees", Kind: "good"}, Cells: 1}, {Verdict: page.Verdict{Mark: "✗", Word: "differs", Kind: "bad"}, Cells: 2}}
	if !reflect.DeepEqual(sum.Counts, want) || len(sum.Tables) != 3 || sum.Tables[1] != (page.Tally{Table: "corpus", Name: "Corpus", Words: "copied 1 of 1 agree"}) {
		t.Errorf("counts %+v, tables %+v", sum.Counts, sum.Tables)
	}
}

// history is of a stage with five units alike, of which one is stale, and a report.
func history() History {
	start := time.Date(2026, 1, 1, 12, 0, 0, 1_600, time.UTC)
	m := dag.Manifest{Start: start, WallSeconds: 3, CPUSeconds: 2, PeakBytes: 7, Origin: dag.Origin{Commit: "0123456789abcdef", Host: "n1", GoVersion: "go1"}}
	top := dag.Record{Unit: dag.Ref{Stage: "report", Unit: "table"}, Last: &m, State: dag.Fresh, Declared: &dag.Unit{}}
	h := History{Stages: []dag.Stage{{Name: "generate", Satisfied: "published"}, {Name: "replay"}, {Name: "report"}}}
	for _, unit := range []string{"profile/x=1", "profile/x=2", "profile/x=3", "profile/x=4", "profile/x=5"} {
		of := m
		of.Start = start.Add(time.Hour)
		r := dag.Record{Unit: dag.Ref{Stage: "replay", Unit: unit}, Last: &of, State: dag.Fresh, Declared: &dag.Unit{}}
		if unit == "profile/x=4" {
			r.State = dag.Stale
		}
		h.Records = append(h.Records, r)
		top.Declared.Needs = append(top.Declared.Needs, r.Unit)
	}
	elsewhere := *h.Records[1].Last
	elsewhere.Host, elsewhere.PeakBytes, h.Records[1].Last = "n2", 9, &elsewhere
	h.Records = append(h.Records, dag.Record{Unit: dag.Ref{Stage: "replay", Unit: "extra"}}, top)
	return h
}

func TestTheRunIsSummedUpByStage(t *testing.T) {
	h := history()
	start := h.Records[6].Last.Start
	want := []page.Stage{{Name: "generate", State: "nothing to run: published"},
		{Name: "replay", Units: 6, State: "4 of 6 units fresh", First: start.Add(time.Hour), Last: start.Add(time.Hour + 3*time.Second), Wall: 15, CPU: 10, PeakBytes: 9},
		{Name: "report", Units: 1, State: "fresh", First: start, Last: start.Add(3 * time.Second), Wall: 3, CPU: 2, PeakBytes: 7}}
	if got := stagesOf(h); !reflect.DeepEqual(got, want) {
		t.Errorf("stages %+v, want %+v", got, want)
	}
	if got := warnings(h); len(got) != 1 || !strings.Contains(got[0], "of the replay stage are shown") || !strings.Contains(got[0], "(of 6 units: 1 stale and 1 not run)") {
		t.Errorf("warnings %q", got)
	}
	for _, f := range facts(h) {
		want := map[string][]string{"Host": {"Mixed: 2 hosts.", "n1 (units: 5)", "n2 (units: 1)"}, "Made by commit": {"0123456789abcdef"}, "TeX engine": {"none used: no report.pdf"}}[f.Name]
		if want != nil && !reflect.DeepEqual(f.Values, want) {
			t.Errorf("%s: %q", f.Name, f.Values)
		}
	}
}

func TestThePageOfNothing(t *testing.T) {
	var b bytes.Buffer
	src := stored.NewSource(&stored.Settings{Budgets: []int{8, 16, 64}}, stored.Folder(t.TempDir()))
	if err := WriteHTML(&b, src, History{Stages: []dag.Stage{{Name: "replay"}}, Records: []dag.Record{{Unit: dag.Ref{Stage: "replay", Unit: "a"}}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no verdict is given. Average budgets: 8, 16 and 64 rollouts per task", "The replay stage has not run", "not run: replay"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
