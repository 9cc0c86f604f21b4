package report_test

import (
	"bytes"
	stdhtml "html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report/page"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// writePage writes the page of what a folder has.
func (f folder) writePage(t testing.TB, w io.Writer) error {
	t.Helper()
	h := page.History{Stages: f.stages, Records: dagtest.Scan(t, f.stages, f.dir).Records()}
	return page.Write(w, stored.NewSource(&f.settings, stored.Folder(f.dir)), h)
}

// webPage is the text of a page, and how the tests read it.
type webPage string

func (f folder) page(t testing.TB) webPage {
	t.Helper()
	var b bytes.Buffer
	ok(t, f.writePage(t, &b))
	return webPage(b.String())
}

// between is the text between two strings; the page must have them.
func (p webPage) between(t testing.TB, from, to string) webPage {
	t.Helper()
	_, rest, ok := strings.Cut(string(p), from)
	found, _, ends := strings.Cut(rest, to)
	if !ok || !ends {
		t.Fatalf("the page has no %q before a %q", from, to)
	}
	return webPage(found)
}

func (p webPage) table(t testing.TB, base string) webPage {
	t.Helper()
	return p.between(t, `<article id="`+base+`">`, "</article>")
}

// all is the matches of a pattern's groups, as people read them.
func (p webPage) all(pattern string) (found [][]string) {
	for _, groups := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(p), -1) {
		for i := range groups {
			groups[i] = stdhtml.UnescapeString(groups[i])
		}
		found = append(found, groups[1:])
	}
	return found
}

// headline is the sentence that the page begins with, without its markup.
func (p webPage) headline(t testing.TB) string {
	return regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(p.between(t, "<h1>", "</h1>")), "")
}

// Patterns of the parts of tables.
const (
	rowOfTable = `<tr><th scope="row">([^<]*)</th>(.*)</tr>`
	headOfCell = ` data-c="([^"]*)" data-f="([^"]*)"`
	cellOfRow  = `<td[^>]*>(?:<a [^>]*>([^<]*)(?: <s>±([^<]*)</s>)?</a>|<span[^>]*>–</span>)(?:<i>(?:<span class="vh">([a-z]*) </span>([^<]*) )?<span class="([a-z]*)">(.)[^/]*</span></span></i>)?</td>`
)

// cell is a cell as the page shows it: value, error, the name of the number beside it,
// that number, the kind of its mark, the mark.
func (p webPage) cell(t testing.TB, base, row, column string) string {
	t.Helper()
	table := p.table(t, base)
	lines, heads := table.all(rowOfTable), table.all(headOfCell)
	i := slices.IndexFunc(lines, func(line []string) bool { return line[0] == row })
	j := slices.IndexFunc(heads, func(head []string) bool { return head[0] == column })
	if i < 0 || j < 0 {
		t.Fatalf("%s has no %s %s among %q", base, row, column, heads)
	}
	cells := webPage(lines[i][1]).all(cellOfRow)
	if len(cells) != len(heads) {
		t.Fatalf("%d cells of %s in %d columns", len(cells), base, len(heads))
	}
	return strings.Join(cells[j], " ")
}

// TestThePage reads the page of a whole report.
func TestThePage(t *testing.T) {
	f := whole(t)
	p := f.page(t)
	v := f.verdicts(t)
	if got := p.headline(t); !regexp.MustCompile(`^At 64 rollouts a task HBN is as precise as Uniform at 10\d\. All 1\d\d recomputed numbers agree with the paper\.$`).MatchString(got) {
		t.Errorf("the page begins with %q", got)
	}
	if bars := p.all(`Uniform needs ([^<]*)</span>`); len(bars) != 4 || bars[2][0] != "47.04 ± 0.06 (+47%)" { // with the error of the profiles
		t.Errorf("bars %q", bars)
	}
	cells, lines := strings.Count(string(p), " data-w="), len(p.between(t, "stand in no table here", "</ul>").all("(<li>)"))
	if cells+lines != len(v.Cells) || cells < 250 {
		t.Errorf("%d cells and %d lines show %d comparisons", cells, lines, len(v.Cells))
	}
	if listed := len(p.between(t, "<summary>Predictions: ", "</ul>").all("(<li>)")); listed != v.Cells.InClass(agreement.Predicted).Judged() {
		t.Errorf("%d predictions are folded", listed)
	}
	for _, c := range []struct{ table, row, column, want string }{
		{"table1_variance", "b=8", "hbn", "87.20% 0.02 paper 87.2% good ✓"},
		{"table1_variance", "b=8", "oracle", "40.70%  paper 40.7% good ✓"},
		{"table1_variance", "b=64", "ibn_alpha", "0.110  paper 0.11 good ✓"},
		{"table2_compute", "published b=16", "wasted_flops", "+0.5115%  paper +0.51% good ✓"},
		{"table4_benefit", "published b=8", "delta", "−7.360%  paper −7.36% good ✓"},
		{"table5_hbn_schedule", "N=19 b=64", "m", "17  paper 17 good ✓"},
		{"table7_flop_coefficients", "qwen2_5_3b", "theta_core", "2,774,773,760  paper 2,774,774,000 good ✓"},
		{"robustness", "b=16", "worst_profile", adverseProfile + "  paper " + adverseProfile + " good ✓"},
	} {
		if got := p.cell(t, c.table, c.row, c.column); got != c.want {
			t.Errorf("%s %s %s: %q, want %q", c.table, c.row, c.column, got, c.want)
		}
	}
	t.Run("names cells as explain does", func(t *testing.T) { checkNames(t, f, p) })
	t.Run("links lead to files and places", func(t *testing.T) { checkLinks(t, f, p) })
	if again := f.page(t); again != p {
		t.Error("the same page has other bytes")
	}
	if figures := p.all(`(<figure id=)`); len(figures) != 2 || strings.ContainsAny(string(p.between(t, "<figcaption>", "</figcaption>")), `\~$`) {
		t.Errorf("%d figures", len(figures))
	}
	if len(p) > 700_000 {
		t.Errorf("%d bytes", len(p))
	}
}

// checkNames finds every row and column by the name that the page gives it in
// commands, and long tables as links.
func checkNames(t *testing.T, f folder, p webPage) {
	x := f.explainer(t)
	for _, of := range tables.Of(&f.settings) {
		base := of.Base
		table := must(x.Table(base))
		shown := p.table(t, base)
		var labels []string
		for _, row := range shown.all(rowOfTable) {
			labels = append(labels, row[0])
		}
		if long := table.Rows > 64; long != (labels == nil) || !long && !slices.Equal(labels, table.Labels()) {
			t.Errorf("%s has the rows %q of %d", base, labels, table.Rows)
		}
		for _, head := range shown.all(headOfCell) {
			if head[1] == "" || !slices.Contains(table.Names(), head[0]) {
				t.Errorf("%s: the formula of %q is %q", base, head[0], head[1])
			}
		}
	}
}

func checkLinks(t *testing.T, f folder, p webPage) {
	places := map[string]bool{}
	for _, id := range p.all(`\sid="([^"]*)"`) {
		if places["#"+id[0]] {
			t.Errorf("two places are named %s", id[0])
		}
		places["#"+id[0]] = true
	}
	for _, link := range p.all(`\shref="([^"]*)"`) {
		if _, err := os.Stat(filepath.Join(f.dir, link[0])); !places[link[0]] && err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	for _, pattern := range []string{`<(link|img|iframe|object|embed|base|audio|video|source)\b`, `\ssrc=`, `https?://`, `@import`, `url\(`, `\bfetch\(`} {
		if found := webPage(strings.ReplaceAll(string(p), ` xmlns="http://www.w3.org/2000/svg"`, "")).all("(" + pattern + ")"); found != nil {
			t.Errorf("the page loads something: %q", found)
		}
	}
	if !strings.Contains(string(p), "default-src &#39;none&#39;") {
		t.Error("the page does not forbid itself to load")
	}
}

// TestOnlyWhatShouldAgreeIsRed has a prediction that differs, and a number of ours.
func TestOnlyWhatShouldAgreeIsRed(t *testing.T) {
	s := fleetStudy(t)
	cost(measurement.Simulated, 8, "sync_time", 0.05)(&s)
	shift(policy.HBN.Name, 8, 0.0015)(&s)
	p := s.reported(t).page(t)
	if got := p.cell(t, "table3_time", "simulated b=8", "sync_time"); !strings.HasSuffix(got, "noise ≠") {
		t.Errorf("a prediction that differs is shown as %q", got)
	}
	differ := p.between(t, "<h2>What does not agree</h2>", "</ul>").all(`(?s)<li>(.*?)</li>`)
	if got := p.cell(t, "table1_variance", "b=8", "hbn"); !strings.HasSuffix(got, "bad ✗") || !strings.Contains(p.headline(t), " numbers do not agree with the paper.") {
		t.Errorf("a number that differs is shown as %q under %q", got, p.headline(t))
	}
	const headlineAndLegend = 2
	if red := strings.Count(string(p), `class="bad"`); len(differ) == 0 || red != 2*len(differ)+headlineAndLegend || !strings.Contains(differ[0][0], "Table 1 b=8 <code>hbn</code>") {
		t.Errorf("%d numbers do not agree, and %d are red: %q", len(differ), red-headlineAndLegend, differ)
	}
}

func TestAPageOfDamagedResultsIsRefused(t *testing.T) {
	f := whole(t)
	damaged := f
	damaged.dir = t.TempDir()
	ok(t, os.CopyFS(damaged.dir, os.DirFS(f.dir)))
	put(t, filepath.Join(damaged.dir, "replay", "ratios.parquet"), []byte("no Parquet"))
	if err := damaged.writePage(t, io.Discard); err == nil || !strings.Contains(err.Error(), "ratios.parquet") {
		t.Errorf("error %v, want one with the file", err)
	}
}

// TestThePageOfOwnProfiles has a name that would be a script, savings profile by profile,
// and no verdicts.
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
	if strings.Contains(string(p), name) || !strings.Contains(string(p), "quiz&lt;script&gt;") {
		t.Error("the name of a benchmark is not text")
	}
	for _, not := range []string{`id="verdicts"`, "data-w", `class="vh">paper`, `class="good"`} {
		if strings.Contains(string(p), not) {
			t.Errorf("the page has %q", not)
		}
	}
	if !strings.Contains(string(p), "there is no verdict") || !strings.Contains(p.headline(t), "rollouts a task") {
		t.Errorf("the page begins with %q", p.headline(t))
	}
}

// TestSavingsByProfile has one that is certain, one within its error, and a loss.
func TestSavingsByProfile(t *testing.T) {
	s := smallStudy()
	for i, r := range s.ratios {
		if r.Benchmark == "math_100" && r.Model == "qwen3_5_4b" {
			s.ratios[i].RatioSE = 0.02
		}
	}
	p := s.reported(t).page(t)
	for row, want := range map[string]string{
		"aime24__model=qwen3_5_4b, HBN":   "10.00% 0.60    ",
		"math_100__model=qwen3_5_4b, HBN": "2.00% 2.09   none ?",
		"math_100__model=my_model, HBN":   "−6.00% 0.60   noise !",
	} {
		if got := p.cell(t, "savings", row, "8"); got != want {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
	if !strings.Contains(string(p), `data-s="profile_ratios`+"\t"+`aime24__model=qwen3_5_4b b=8 hbn`) {
		t.Error("a saving does not name the ratio that it is of")
	}
	for i := range s.ratios {
		if s.ratios[i].Policy == "hbn" {
			s.ratios[i].VarianceRatio, s.ratios[i].RatioSE = 1.03, 0
		}
	}
	p = s.reported(t).page(t)
	if got := p.headline(t); !strings.Contains(got, "At 12 rollouts a task HBN is as precise as Uniform at 11.65.") || strings.Contains(string(p), "(-0%)") {
		t.Errorf("of a small difference the page says %q", got)
	}
}

// TestThePageOfMeasurements has predictions where the paper's numbers stand otherwise.
func TestThePageOfMeasurements(t *testing.T) {
	p := liveStudy().reported(t).page(t)
	if got, want := p.cell(t, "prediction_times", "primer__model=small b=8 hbn-async", "measured_seconds"), "2.100 0.050 predicted 2.35 bad ✗"; got != want {
		t.Errorf("the time of HBN-async is shown as %q, want %q", got, want)
	}
	if got := p.headline(t); !strings.Contains(got, "1 of ") || !strings.Contains(got, "do not agree with their predictions.") {
		t.Errorf("the page begins with %q", got)
	}
}
