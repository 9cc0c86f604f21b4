package report

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/data"
	"speceval/internal/page"
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

// history is the records of an output folder.
func history(t testing.TB, stages []dag.Stage, dir string) History {
	t.Helper()
	return History{Stages: stages, Records: dagtest.Scan(t, stages, dir).Records(), Origin: dagtest.Origin, Cores: 2}
}

// pageOf is the page of the stages' results after a run of the selection.
func pageOf(t *testing.T, s Settings, stages []dag.Stage, sel dag.Selection) (p page.Page, dir string) {
	t.Helper()
	dir = t.TempDir()
	dagtest.Select(t, stages, dir, sel)
	p, err := newPage(dir, s, history(t, stages, dir))
	if err != nil {
		t.Fatal(err)
	}
	return p, dir
}

// tableOf is a table of a page.
func tableOf(t *testing.T, p page.Page, id string) page.Table {
	t.Helper()
	for _, table := range p.Tables {
		if table.ID == id {
			return table
		}
	}
	t.Fatalf("the page has no table %s", id)
	return page.Table{}
}

// cellOf is a cell of a table of a page.
func cellOf(t *testing.T, table page.Table, row, column string) page.Cell {
	t.Helper()
	keys := 0
	for _, c := range table.Columns {
		if c.Key {
			keys++
		}
	}
	for _, r := range table.Rows {
		for j, c := range table.Columns {
			if r.Label == row && c.Name == column {
				return r.Cells[j-keys]
			}
		}
	}
	t.Fatalf("%s has no cell %s %s", table.ID, row, column)
	return page.Cell{}
}

// TestThePage makes the whole study's results once, and its page of them.
func TestThePage(t *testing.T) {
	s := paperStudy(t)
	with := fleetSettings(t, s)
	stages := []dag.Stage{replayed(s), systems(withFleet(paperCosts(t, s))), Stage(with)}
	p, dir := pageOf(t, with, stages, dag.Selection{})
	h := history(t, stages, dir)
	t.Run("shows every verdict once", func(t *testing.T) { checkVerdicts(t, p, dir) })
	t.Run("names cells as explain does", func(t *testing.T) { checkNames(t, p, NewExplainer(with, dir, h.Records)) })
	t.Run("has figures", func(t *testing.T) {
		if len(p.Figures) == 0 || !strings.HasPrefix(p.Figures[0].SVG, "<svg") || strings.ContainsAny(p.Figures[0].Caption, `\~$`) || len(p.Figures[0].Chain) < 2 {
			t.Errorf("figures: %+v", p.Figures)
		}
	})
	t.Run("has captions of its own units", func(t *testing.T) {
		for _, table := range p.Tables { // it shows fractions and whole numbers, as the CSV files do
			if strings.Contains(table.Title, ", in percentage points") || strings.Contains(table.Title, "billions") {
				t.Errorf("%s: the caption is that of the printed table: %s", table.ID, table.Title)
			}
		}
		if got := cellOf(t, tableOf(t, p, "table4_benefit"), "published b=8", "delta").Paper; got != "−0.0736" {
			t.Errorf("the paper's number is %q", got)
		}
	})
	t.Run("refuses damaged results", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(dir, "replay", "ratios.parquet"), []byte("no Parquet"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := WritePage(&bytes.Buffer{}, dir, with, h); err == nil || !strings.Contains(err.Error(), "ratios.parquet") {
			t.Errorf("error %v, want one with the file", err)
		}
	})
}

func checkVerdicts(t *testing.T, p page.Page, dir string) {
	v, err := Verify(dir, data.PaperTargets())
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	count := func(c page.Cell) {
		if c.Word != "" {
			shown++
		}
	}
	for _, table := range p.Tables {
		for _, row := range table.Rows {
			for _, c := range row.Cells {
				count(c)
			}
		}
		for _, line := range table.Extra {
			count(line.Cell)
		}
	}
	for _, group := range p.Others {
		for _, line := range group.Lines {
			count(line.Cell)
		}
	}
	if shown != len(v.Cells) || len(v.Cells) < 300 {
		t.Errorf("the page shows %d verdicts of %d", shown, len(v.Cells))
	}
	if p.Summary == nil || !p.Summary.Passed || len(p.Summary.Differ) != 0 || len(p.Warnings) != 0 {
		t.Errorf("summary %+v, warnings %q", p.Summary, p.Warnings)
	}
	for _, c := range []struct{ table, row, column, text, spread, paper, word string }{
		{"table1_variance", "b=8", "hbn", "0.87200", "0.00010", "0.872", "agrees"},
		{"table1_variance", "b=8", "oracle", "0.4070", "", "0.407", "agrees"},
		{"table1_variance", "b=64", "ibn_alpha", "0.11", "", "0.11", "agrees"},
		{"table2_compute", "published b=16", "wasted_flops", "0.005115", "", "0.0051", "agrees"},
		{"table4_benefit", "published b=8", "rounded_budget", "8.8702", "", "8.87", "agrees"},
		{"table5_hbn_schedule", "N=19 b=64", "m", "17", "", "17", "agrees"},
		{"table7_flop_coefficients", "qwen2_5_3b", "theta_core", "2\u202f774\u202f774\u202f400", "", "2\u202f774\u202f774\u202f000", "agrees"},
		{"robustness", "b=16", "worst_profile", "math_100__model=qwen3_5_4b", "", "math_100__model=qwen3_5_4b", "agrees"},
	} {
		got := cellOf(t, tableOf(t, p, c.table), c.row, c.column)
		if got.Text != c.text || c.spread != "" && got.Spread == "" || got.Paper != c.paper || got.Word != c.word {
			t.Errorf("%s %s %s: %q ± %q, paper %q, %q; want %q ± %q, paper %q, %q", c.table, c.row, c.column,
				got.Text, got.Spread, got.Paper, got.Word, c.text, c.spread, c.paper, c.word)
		}
	}
	chain := tableOf(t, p, "table4_benefit").Chain
	if len(chain) < 3 || chain[0].Name != "report/table4_benefit" || chain[0].Key == "" || chain[0].State != "fresh" || len(chain[0].Inputs) == 0 {
		t.Errorf("table 4 was made by %+v", chain)
	}
}

func TestTheSummaryNamesWhatDiffers(t *testing.T) {
	s := paperStudy(t)
	shift("hbn", 8, 0.01)(&s)
	sum := summary(judged(t, s))
	if sum.Passed || len(sum.Differ) == 0 {
		t.Fatalf("summary %+v", sum)
	}
	d := sum.Differ[0]
	if d.Table != "table1_variance" || d.Row != "b=8" || d.Column != "hbn" || !strings.Contains(d.Text, "0.88200, where the paper has 0.872") {
		t.Errorf("what differs: %+v", d)
	}
	cells := 0
	for _, c := range sum.Counts {
		cells += c.Cells
		if v := c.Verdict; v.Word == string(Differs) && (v.Kind != "bad" || v.Mark != "✗") {
			t.Errorf("what differs is shown as %+v", c)
		}
	}
	if cells != len(judged(t, s).Cells) {
		t.Errorf("%d cells are counted", cells)
	}
}

// TestThePageOfOwnProfiles has names that would be scripts, and no verdicts.
func TestThePageOfOwnProfiles(t *testing.T) {
	const name = `quiz<script>alert(1)</script>`
	s := paperStudy(t)
	s.Published = false
	for i := range s.Ratios {
		if s.Ratios[i].Benchmark == "aime24" {
			s.Ratios[i].Benchmark = name
		}
	}
	own := settings(t, s)
	stages := []dag.Stage{replayed(s), Stage(own)}
	p, dir := pageOf(t, own, stages, dag.Selection{})
	if p.Summary != nil || len(p.Others) != 0 || !strings.Contains(p.Lead, "no verdict") {
		t.Errorf("summary %v, others %v, lead %q", p.Summary, p.Others, p.Lead)
	}
	for _, table := range p.Tables {
		for _, row := range table.Rows {
			for _, c := range row.Cells {
				if c.Paper != "" || c.Word != "" {
					t.Fatalf("%s %s: paper %q, verdict %q", table.ID, row.Label, c.Paper, c.Word)
				}
			}
		}
	}
	var b bytes.Buffer
	if err := WritePage(&b, dir, own, history(t, stages, dir)); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte(name)) || !bytes.Contains(b.Bytes(), []byte("quiz&lt;script&gt;")) {
		t.Error("the name of a benchmark is not text")
	}
}

func TestThePageOfWhatThereIs(t *testing.T) {
	s := paperStudy(t)
	with := fleetSettings(t, s)
	stages := []dag.Stage{replayed(s), systems(withFleet(paperCosts(t, s))), Stage(with)}
	p, _ := pageOf(t, with, stages, dag.Selection{Stages: []string{"report"}})
	for id, want := range map[string]string{"table1_variance": "not run: replay", "robustness": "not run: replay", "profile_ratios": "not run: replay"} {
		if got := tableOf(t, p, id); got.Absent != want || len(got.Rows) > 0 {
			t.Errorf("%s: %q, %d rows", id, got.Absent, len(got.Rows))
		}
	}
	times := tableOf(t, p, "table3_time")
	if times.Absent != "" || len(times.Rows) != 4 || !strings.Contains(strings.Join(times.Notes, " "), "the systems stage has not run") {
		t.Errorf("table 3 has %d rows (%q) and says %q", len(times.Rows), times.Absent, times.Notes)
	}
	if got := strings.Join(p.Warnings, " "); !strings.Contains(got, "replay stage has not run") || !strings.Contains(got, "systems stage has not run") {
		t.Errorf("warnings %q", got)
	}
}

func TestHeadings(t *testing.T) {
	for column, want := range map[string]string{
		"tuned_en": "Tuned EN", "ibn_alpha": "IBN α", "n_tasks": "N", "wasted_flops": "Wasted FLOPs", "variance_ratio": "Variance ratio", "m0": "m₀",
	} {
		if got := heading(column); got != want {
			t.Errorf("%s is headed %q, want %q", column, got, want)
		}
	}
}

func TestErrorsStandBehindTheirNumbers(t *testing.T) {
	l := newLayout(names("budget", "hbn", "hbn_se", "paper_hbn", "worst_profile", "worst_ratio", "worst_se", "draws", "stray_se"))
	var got []string
	for _, v := range l.values {
		got = append(got, v.name+v.spreadName)
	}
	if want := "hbns.e. worst_profile worst_ratios.e. draws stray_se"; strings.Join(got, " ") != want {
		t.Errorf("columns %q, want %q", strings.Join(got, " "), want)
	}
	if l.values[0].paper != 3 || len(l.keys) != 1 {
		t.Errorf("layout %+v", l)
	}
	if l := newLayout(names("policy", "variance_ratio", "ratio_se")); len(l.values) != 1 || l.values[0].spread != 2 {
		t.Errorf("the error of variance_ratio stands elsewhere: %+v", l)
	}
}

func TestDecimalsFollowErrors(t *testing.T) {
	for _, c := range []struct {
		value, se float64
		want      string
	}{{0.8724716, 0.000205, "0.87247"}, {0.8724716, 0, "0.8725"}, {107.2758, 0.0975, "107.276"}, {0.13, 0, "0.13"}, {0.000053999, 0, "0.000054"}, {0, 0, "0"}} {
		data := table.Table{Columns: names("v", "v_se"), Rows: [][]table.Cell{{table.Number(c.value), table.Number(c.se)}}}
		v := newLayout(data.Columns).values[0]
		if got := newFormat(data, v, nil).cell(data.Rows[0], v, nil); got.Text != c.want {
			t.Errorf("%v ± %v prints %s, want %s", c.value, c.se, got.Text, c.want)
		}
	}
}

func TestUnitsOfOneKind(t *testing.T) {
	for unit, want := range map[string]string{
		"replay/design/ibn/n=100/replicate=3": "replay/design/ibn", "replay/profile/aime24__model=m": "replay/profile", "replay/ratios": "replay/ratios",
	} {
		if got, varies := groupName(unit); got != want || varies == (got == unit) {
			t.Errorf("%s is of the kind %s, want %s", unit, got, want)
		}
	}
	if got := fewSeeds([]string{"42/s/a/2", "42/s/a/1", "42/s/a/1", "42/s/a/30", "42/s/a/4"}); len(got) != 1 || got[0] != "42/s/a/… (4 branches)" {
		t.Errorf("seeds %q", got)
	}
}

// checkNames finds every row and column by the name that the page gives it in
// commands.
func checkNames(t *testing.T, p page.Page, explainer *Explainer) {
	for _, table := range p.Tables {
		sheet, err := explainer.Table(table.ID)
		if err != nil || len(table.Rows) == 0 {
			t.Errorf("%s: %s, error %v", table.ID, table.Absent, err)
			continue
		}
		for _, c := range table.Columns {
			if !c.Key && (!slices.Contains(sheet.ColumnNames(), c.Name) || c.Formula == "") {
				t.Errorf("%s %s: formula %q, columns %q", table.ID, c.Name, c.Formula, sheet.ColumnNames())
			}
		}
		var labels []string
		for _, row := range table.Rows {
			labels = append(labels, row.Label)
		}
		if !slices.Equal(labels, sheet.Labels()) {
			t.Errorf("%s has the rows %q", table.ID, labels)
		}
	}
}

// TestTheRunHasQueueAndPlace takes a run of a unit here and one of a scheduler.
func TestTheRunHasQueueAndPlace(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 1_600, time.UTC)
	m := dag.Manifest{Start: start, WallSeconds: 3, CPUSeconds: 2, PeakBytes: 7, Origin: dag.Origin{Host: "n1"}}
	queued := m
	queued.Queue = &dag.Queue{Job: "12_3", Submitted: start.Add(-time.Minute), QueueSeconds: 40, Attempt: 2}
	h := History{Records: []dag.Record{
		{Ref: dag.Ref{Stage: "replay", Unit: "a"}, Manifest: &m},
		{Ref: dag.Ref{Stage: "replay", Unit: "b"}, Manifest: &queued},
		{Ref: dag.Ref{Stage: "replay", Unit: "c"}},
	}}
	at := start.Round(time.Microsecond)
	here := page.Bar{Stage: "replay", Unit: "a", Start: at, Wall: 3, CPU: 2, PeakBytes: 7, Host: "n1"}
	there := here
	there.Unit, there.Wait = "b", &page.Wait{Job: "12_3", Attempt: 2, Submitted: at.Add(-time.Minute), Seconds: 40}
	if got, want := newRun(h).Bars, []page.Bar{here, there}; !reflect.DeepEqual(got, want) {
		t.Errorf("bars %+v\nwant %+v", got, want)
	}
}
