package report_test

import (
	"bytes"
	"fmt"
	stdhtml "html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report"
	"speceval/stages/report/stored"
)

// writePage writes the page of what a folder has.
func (f folder) writePage(t testing.TB, w io.Writer) error {
	t.Helper()
	h := report.History{Stages: f.stages, Records: dagtest.Scan(t, f.stages, f.dir).Records(), Origin: dagtest.Origin, Cores: 2}
	return report.WriteHTML(w, stored.NewSource(&f.settings, stored.Folder(f.dir)), h)
}

// webPage is the text of a page, and how the tests read it.
type webPage string

func (f folder) page(t testing.TB) webPage {
	t.Helper()
	var b bytes.Buffer
	if err := f.writePage(t, &b); err != nil {
		t.Fatal(err)
	}
	return webPage(b.String())
}

// between is what stands between two strings; the page must have them.
func (p webPage) between(t testing.TB, from, to string) webPage {
	t.Helper()
	_, rest, ok := strings.Cut(string(p), from)
	found, _, ends := strings.Cut(rest, to)
	if !ok || !ends {
		t.Fatalf("the page has no %q before a %q", from, to)
	}
	return webPage(found)
}

// table is a table with what stands around it.
func (p webPage) table(t testing.TB, base string) webPage {
	t.Helper()
	return p.between(t, `<article class="table" id="`+base+`">`, "</article>")
}

// all is what the groups of a pattern match, everywhere, as people read it.
func (p webPage) all(pattern string) (found [][]string) {
	for _, groups := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(p), -1) {
		for i := range groups {
			groups[i] = stdhtml.UnescapeString(groups[i])
		}
		found = append(found, groups[1:])
	}
	return found
}

// Patterns of what the page is made of.
const (
	rowOfTable  = `<tr data-r="([^"]*)">(.*)</tr>`
	headOfValue = `<th scope="col"[^>]* data-f="([^"]*)">[^<]*(?: <span class="s">[^<]*</span>)?<code>([^<]*)</code>`
	cellOfRow   = `<td[^>]*>(?:<a [^>]*>([^<]*)(?: <s>±([^<]*)</s>)?</a>|<span[^>]*>–</span>)(?:<i>(?:<span class="vh">[a-z]* </span>)?([^<]*?) ?(?:<span class="[a-z]*"><span aria-hidden="true">.</span> ([^<]*)</span>)?</i>)?</td>`
	shownMark   = `<span aria-hidden="true">(.)</span>`
	warningMark = `<p class="warning">`
	endOfTables = `<section id="figures">`
)

// shown is a cell as the page shows it: the value, its error, the number beside, and
// the verdict.
type shown struct{ text, spread, beside, verdict string }

func (p webPage) cell(t testing.TB, base, row, column string) shown {
	t.Helper()
	table := p.table(t, base)
	lines, heads := table.all(rowOfTable), table.all(headOfValue)
	i := slices.IndexFunc(lines, func(line []string) bool { return line[0] == row })
	j := slices.IndexFunc(heads, func(head []string) bool { return head[1] == column })
	if i < 0 || j < 0 {
		t.Fatalf("%s has no %s %s among %q", base, row, column, heads)
	}
	cells := webPage(lines[i][1]).all(cellOfRow)
	if len(cells) != len(heads) {
		t.Fatalf("%d cells of %s in %d columns", len(cells), base, len(heads))
	}
	c := cells[j]
	return shown{c[0], c[1], c[2], c[3]}
}

// TestThePage reads the page of a whole report.
func TestThePage(t *testing.T) {
	f := whole(t)
	p := f.page(t)
	t.Run("shows every verdict once", func(t *testing.T) { checkVerdicts(t, f, p) })
	t.Run("names cells as explain does", func(t *testing.T) { checkNames(t, f, p) })
	t.Run("has figures", func(t *testing.T) {
		one := p.between(t, `<figure id="figure1_pair_distribution">`, "</figure>")
		caption := one.between(t, "<figcaption>", "</figcaption>")
		if !strings.Contains(string(one), "<svg") || strings.ContainsAny(string(caption), `\~$`) {
			t.Errorf("the caption is %q", caption)
		}
	})
	t.Run("has captions of its own units", func(t *testing.T) {
		for _, title := range p.all(`<p class="title" id="[^"]*">([^<]*)</p>`) { // it shows fractions and whole numbers, as the CSV files do
			if strings.Contains(title[0], ", in percentage points") || strings.Contains(title[0], "billions") {
				t.Errorf("the caption is that of the printed table: %s", title[0])
			}
		}
		if got := p.cell(t, "table4_benefit", "published b=8", "delta").beside; got != "−0.0736" {
			t.Errorf("the paper's number is %q", got)
		}
	})
}

func checkVerdicts(t *testing.T, f folder, p webPage) {
	v, err := report.VerifyFolder(f.settings, f.dir)
	if err != nil {
		t.Fatal(err)
	}
	tables := p.between(t, `<section id="tables">`, endOfTables)
	if n := len(tables.all(shownMark)); n != len(v.Cells) || n < 300 {
		t.Errorf("the page shows %d verdicts of %d", n, len(v.Cells))
	}
	if !strings.Contains(string(p), `<p class="outcome good">`) || strings.Contains(string(p), "What does not agree") || strings.Contains(string(p), warningMark) {
		t.Errorf("the page says that not all agrees, or warns of something: %s", p.between(t, "<header", "</header>"))
	}
	for _, c := range []struct {
		table, row, column string
		want               shown
	}{
		{"table1_variance", "b=8", "hbn", shown{"0.87200", "0.00020", "0.872", "agrees"}},
		{"table1_variance", "b=8", "oracle", shown{"0.4070", "", "0.407", "agrees"}},
		{"table1_variance", "b=64", "ibn_alpha", shown{"0.11", "", "0.11", "agrees"}},
		{"table2_compute", "published b=16", "wasted_flops", shown{"0.005115", "", "0.0051", "agrees"}},
		{"table4_benefit", "published b=8", "rounded_budget", shown{"8.8702", "", "8.87", "agrees"}},
		{"table5_hbn_schedule", "N=19 b=64", "m", shown{"17", "", "17", "agrees"}},
		{"table7_flop_coefficients", "qwen2_5_3b", "theta_core", shown{"2\u202f774\u202f773\u202f760", "", "2\u202f774\u202f774\u202f000", "agrees"}},
		{"robustness", "b=16", "worst_profile", shown{adverseProfile, "", adverseProfile, "agrees"}},
	} {
		if got := p.cell(t, c.table, c.row, c.column); got != c.want {
			t.Errorf("%s %s %s: %+v, want %+v", c.table, c.row, c.column, got, c.want)
		}
	}
}

// checkNames finds every row and column by the name that the page gives it in
// commands.
func checkNames(t *testing.T, f folder, p webPage) {
	x := f.explainer(t)
	for _, base := range x.Tables() {
		table, err := x.Table(base)
		if err != nil {
			t.Fatal(err)
		}
		shown := p.table(t, base)
		for _, head := range shown.all(headOfValue) {
			if head[0] == "" || !slices.Contains(table.Columns, head[1]) {
				t.Errorf("%s: the formula of %q is %q", base, head[1], head[0])
			}
		}
		var labels []string
		for _, row := range shown.all(rowOfTable) {
			labels = append(labels, row[0])
		}
		if !slices.Equal(labels, table.Labels) {
			t.Errorf("%s has the rows %q", base, labels)
		}
	}
}

func TestAPageOfDamagedResultsIsRefused(t *testing.T) {
	f := whole(t)
	damaged := f
	damaged.dir = t.TempDir()
	if err := os.CopyFS(damaged.dir, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(damaged.dir, "replay", "ratios.parquet"), []byte("no Parquet"))
	if err := damaged.writePage(t, io.Discard); err == nil || !strings.Contains(err.Error(), "ratios.parquet") {
		t.Errorf("error %v, want one with the file", err)
	}
}

// TestThePageOfOwnProfiles has names that would be scripts, and no verdicts.
func TestThePageOfOwnProfiles(t *testing.T) {
	const name = `quiz<script>alert(1)</script>`
	s := paperStudy(t)
	s.Published = false
	for i := range s.ratios {
		if s.ratios[i].Benchmark == "aime24" {
			s.ratios[i].Benchmark = name
		}
	}
	p := s.reported(t).page(t)
	if lead := p.between(t, `<p class="lead">`, "</p>"); !strings.Contains(string(lead), "no verdict") {
		t.Errorf("lead %q", lead)
	}
	for _, not := range []string{`<section id="verdicts">`, "Numbers of the paper", `<span class="vh">`, name} {
		if strings.Contains(string(p), not) {
			t.Errorf("the page has %q", not)
		}
	}
	if marks := p.between(t, `<section id="tables">`, endOfTables).all(shownMark); len(marks) > 0 {
		t.Errorf("the page shows the verdicts %q", marks)
	}
	if !strings.Contains(string(p), "quiz&lt;script&gt;") {
		t.Error("the name of a benchmark is not text")
	}
}

func TestThePageOfWhatThereIs(t *testing.T) {
	f := fleetStudy(t).folder(t)
	dagtest.Select(t, f.stages, f.dir, dag.Selection{Stages: []string{"report"}})
	p := f.page(t)
	for _, base := range []string{"table1_variance", "robustness", "profile_ratios"} {
		if got := p.table(t, base); !strings.Contains(string(got), `<p class="absent">not run: replay</p>`) || strings.Contains(string(got), "<tbody>") {
			t.Errorf("%s: %s", base, got)
		}
	}
	times := p.table(t, "table3_time")
	if rows := times.between(t, "<tbody>", "</tbody>").all(`(<tr)`); len(rows) != 4 || !strings.Contains(string(times), "the systems stage has not run") {
		t.Errorf("table 3 has %d rows, and is %s", len(rows), times)
	}
	warnings := fmt.Sprint(p.all(warningMark + "(.*)</p>"))
	if !strings.Contains(warnings, "replay stage has not run") || !strings.Contains(warnings, "systems stage has not run") {
		t.Errorf("warnings %s", warnings)
	}
}

// TestThePageOfMeasurements has predictions where the paper's numbers stand otherwise.
func TestThePageOfMeasurements(t *testing.T) {
	p := liveStudy().reported(t).page(t)
	differ := p.between(t, `<ul class="differ">`, "</ul>").all(`<li>(.*)</li>`)
	lead := p.between(t, `<p class="lead">`, "</p>")
	if len(differ) != 1 || !strings.Contains(string(lead), "beside what was predicted") || !strings.Contains(string(p), "Below each number stand the prediction and the verdict") {
		t.Errorf("%d numbers differ, lead %q", len(differ), lead)
	}
	if got, want := p.cell(t, "prediction_times", "primer__model=small b=8 hbn-async", "measured_seconds"), (shown{"2.100", "0.050", "2.35", "differs"}); got != want {
		t.Errorf("the time of HBN-async is shown as %+v, want %+v", got, want)
	}
	if !strings.Contains(string(p), `<span class="vh">predicted </span>2.35`) || strings.Contains(string(p), "the paper’s and the verdict") {
		t.Error("the page takes predictions for the paper's numbers")
	}
}

// BenchmarkPage writes the page of the paper's whole study, with a fleet.
func BenchmarkPage(b *testing.B) {
	f := whole(b)
	h := report.History{Stages: f.stages, Records: dagtest.Scan(b, f.stages, f.dir).Records(), Origin: dagtest.Origin, Cores: 2}
	for b.Loop() {
		if err := report.WriteHTML(io.Discard, stored.NewSource(&f.settings, stored.Folder(f.dir)), h); err != nil {
			b.Fatal(err)
		}
	}
}
