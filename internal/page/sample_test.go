package page

import (
	"fmt"
	"testing"
	"time"

	"speceval/internal/agreement"
	"speceval/internal/table"
)

func TestDecimalsFollowErrors(t *testing.T) {
	for _, c := range []struct {
		value, se float64
		want      string
	}{{0.8724716, 0.000205, "0.87247"}, {0.8724716, 0, "0.8725"}, {107.2758, 0.0975, "107.276"}, {0.13, 0, "0.13"}, {0.000053999, 0, "0.000054"}, {0, 0, "0"}} {
		v := Values{Obtained: []table.Cell{table.Number(c.value)}, Errors: []table.Cell{table.Number(c.se)}, Judged: make([]*agreement.Comparison, 1)}
		if got := v.Cells()[0]; got.Text != c.want {
			t.Errorf("%v ± %v prints %s, want %s", c.value, c.se, got.Text, c.want)
		}
	}
}

func TestHeadings(t *testing.T) {
	for column, want := range map[string]string{
		"tuned_en": "Tuned EN", "ibn_alpha": "IBN α", "n_tasks": "N", "wasted_flops": "Wasted FLOPs", "variance_ratio": "Variance ratio", "m0": "m₀",
	} {
		if got := Heading(column); got != want {
			t.Errorf("%s is headed %q, want %q", column, got, want)
		}
	}
}

// Names that a user could give, each of which would do something if the page
// took it for more than text.
const (
	hostile      = `<script>alert("1")</script>`
	hostileQuote = `"' onclick=alert(2) x='`
	hostileURL   = `javascript:alert(3)`
)

// at is a moment of the made run, in seconds from its beginning.
func at(seconds float64) time.Time {
	return time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// sample is a page with something of everything, and hostile names wherever
// a name of the user's can come.
func sample() Page {
	good, bad := Verdict{"✓", "agrees", "good"}, Verdict{"✗", "differs", "bad"}
	small := Table{
		ID: "table1_made", Name: "Table 1", Title: "Variance of " + hostile + " by budget.",
		Columns: []Column{
			{Name: "provenance", Head: "Provenance", Key: true}, {Name: "budget", Head: "b", Key: true},
			{Name: "hbn", Head: "HBN", Spread: "s.e.", Formula: "The mean of r over profiles < all & sundry."},
			{Name: "worst_profile", Head: "Worst profile", Text: true},
		},
		Rows: []Row{
			{Label: "published b=8", Keys: []string{"published", "8"}, Cells: []Cell{
				{Text: "0.8725", Spread: "0.0002", Exact: "0.87247", Paper: "0.872", Verdict: good, Difference: "+0.0005"},
				{Text: hostile, Exact: hostile, Paper: "quiz", Verdict: bad, Note: hostileQuote}}},
			{Label: "published b=16", Keys: []string{"published", "16"}, Cells: []Cell{
				{Text: "0.8010", Exact: "0.8010"}, {}}},
			{Label: hostileQuote + " b=16", Keys: []string{hostileQuote, "16"}, Cells: []Cell{
				{Text: "0.9", Exact: "0.9"}, {Text: hostileURL, Exact: hostileURL}}},
		},
		Notes: []string{"A note on " + hostile},
		Extra: []Line{{Row: "all", Column: "profiles", Cell: Cell{Text: "107", Paper: "107", Verdict: good}}},
		Files: []string{"tables/table1_made.csv", "tables/" + hostile + ".tex"},
	}
	for i := range 8 { // wider than a phone
		small.Columns = append(small.Columns, Column{Name: fmt.Sprintf("column_%d", i), Head: "A further column"})
		for j := range small.Rows {
			small.Rows[j].Cells = append(small.Rows[j].Cells, Cell{Text: "0.123456", Spread: "0.000123", Exact: "0.1234561", Paper: "0.1235", Verdict: good})
		}
	}
	long := Table{ID: "profile_ratios", Title: "Every ratio.", Folded: true, Columns: []Column{
		{Name: "benchmark, model", Head: "Profile", Key: true}, {Name: "policy", Head: "Policy", Key: true}, {Name: "variance_ratio", Head: "Variance ratio"}}}
	for _, profile := range []string{"a very long name of a benchmark" + hostile + "__model=m", "b__model=m"} {
		for _, policy := range []string{"hbn", "oracle"} {
			long.Rows = append(long.Rows, Row{Label: profile + " b=8 " + policy, Keys: []string{profile, policy}, Cells: []Cell{{Text: "0.5", Exact: "0.5"}}})
		}
	}
	return Page{
		Title: "Results of " + hostile, Lead: "Two profiles.", Warnings: []string{"The systems stage has not run."},
		Summary: &Summary{Line: "1 of 2 cells agree.", Counts: []Count{{good, 1}, {bad, 1}},
			Tables: []Tally{{"table1_made", "Table 1", "computed 1 of 2 agree"}},
			Differ: []Pointer{{Table: "table1_made", Row: "published b=8", Column: "worst_profile", Name: "Table 1", Text: hostile},
				{Table: "table2_made", Row: "b=8", Column: "time", Name: "Table 2", Text: "missing"}},
			Legend: []string{"What it means."}, Skipped: "budgets [64] were not run"},
		Tables: []Table{small, {ID: "table2_made", Name: "Table 2", Title: "Times.", Absent: "not run: systems"}, long},
		Others: []Group{{ID: "corpus", Name: "Corpus", Lines: []Line{{Column: "tasks", Cell: Cell{Text: "5", Paper: "6", Verdict: bad}}}}},
		Figures: []Figure{
			{ID: "figure1_made", Name: "Figure 1", Title: "A drawing.", Caption: "Of " + hostile, SVG: `<svg viewBox="0 0 10 10"><circle r="3"><title>point</title></circle></svg>`, Width: 250},
			{ID: "figure2_made", Name: "Figure 2", Absent: "not run: replay"}},
		Stages: []Stage{{Name: "generate", About: "rollouts", State: "nothing to run"},
			{Name: "replay", About: "ratios", State: "fresh", Units: 3, First: at(0), Last: at(90), Wall: 150, CPU: 146, PeakBytes: 340e6},
			{Name: "report", About: "tables", State: "1 of 2 units fresh", Units: 2, First: at(90), Last: at(2*86400 + 0.5), Wall: 0.51, CPU: 0.41, PeakBytes: 60e6}},
		Settings: []Setting{{Key: "experiment.out", Value: hostile}, {Key: "replay.draws", Value: "16", Default: "8192"}},
		Facts:    []Fact{{Name: "Host", Values: []string{"Mixed: 2 hosts.", hostile, "lab"}}},
	}
}

func TestDurations(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0.0 ms", 0.0042: "4.2 ms", 0.25: "250 ms", 1.23: "1.2 s", 5: "5 s", 30: "30 s", 59.7: "1 min", 90: "1 min 30 s", 3600: "1 h 0 min", 172800: "2 d 0 h",
	} {
		if got := Duration(seconds); got != want {
			t.Errorf("%v s is %q, want %q", seconds, got, want)
		}
	}
}
