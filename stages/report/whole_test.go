package report_test

import (
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/terminal/table"
	"speceval/stages/report"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// TestEveryTableIsWhole holds every table, made of the paper's study and of one that
// measures, to what the packages that read tables rely on.
func TestEveryTableIsWhole(t *testing.T) {
	shown := map[string]*model.Sheet{}
	for name, s := range map[string]study{"paper": withCase(t, fleetStudy(t)), "live": liveStudy(), "small": smallStudy()} {
		src := s.source(t)
		for _, of := range tables.Of(src.Settings) {
			t.Run(name+"/"+of.Base, func(t *testing.T) {
				sheet := must(of.Sheet(src))
				if sheet.Rows > 0 {
					shown[of.Base] = sheet
				}
				checkColumns(t, sheet)
				checkLabels(t, sheet)
			})
		}
	}
	checkList(t, shown)
}

// checkList holds the list of tables, of which all have rows in a study.
func checkList(t *testing.T, shown map[string]*model.Sheet) {
	var d report.Document
	bases, labels := map[string]bool{}, map[string]bool{}
	for _, of := range slices.Concat(tables.All, tables.Texts) {
		if of.Base == "" || bases[of.Base] || of.Label != "" && labels[of.Label] {
			t.Errorf("%q (%s) is not the only table of its name", of.Base, of.Label)
		}
		bases[of.Base], labels[of.Label] = true, true
	}
	for _, of := range tables.All {
		if shown[of.Base] == nil {
			t.Errorf("no study here has rows of %s", of.Base)
			continue
		}
		d.Exhibits = append(d.Exhibits, report.Exhibit{Table: of, Caption: shown[of.Base].Title, Sheet: shown[of.Base]})
		if of.Label == "" || of.Chapter == "" {
			t.Errorf("%s: label %q, chapter %q", of.Base, of.Label, of.Chapter)
		}
	}
	text := must(report.LaTeX(d))
	if strings.Contains(text, "More results") {
		t.Error("the document has no such chapter as a table names")
	}
}

// checkColumns holds columns to their roles.
func checkColumns(t *testing.T, s *model.Sheet) {
	seen := map[string]bool{}
	for _, c := range s.Columns {
		if c.Name == "" && !c.Printed() || c.Name != "" && seen[c.Name] {
			t.Errorf("column %q (%s) is in neither form, or there twice", c.Name, c.Head.Plain)
		}
		seen[c.Name] = true
		if c.Name != "" && c.Words == "" {
			t.Errorf("%s has no words", c.Name)
		}
		if of := s.Column(c.Of); c.Of != "" && (of == nil || strings.HasSuffix(c.Name, "_sd") && of.Of != "") {
			t.Errorf("%s is of %q", c.Name, c.Of)
		}
		dressed := c.Group != (table.Head{}) || c.PlusMinus || c.Paired
		if s.Layout == nil && dressed && !c.Printed() {
			t.Errorf("%s is set in print, where it is not", c.Name)
		}
		if c.Paired && c.Rule == nil || c.Claim != nil && !s.Live {
			t.Errorf("%s is compared with nothing", c.Name)
		}
	}
	printed := s.Print()
	for _, line := range printed.Rows {
		if len(line) != len(printed.Columns) {
			t.Fatalf("a printed row of %d cells in %d columns", len(line), len(printed.Columns))
		}
	}
}

// checkLabels wants rows to be told apart by their keys.
func checkLabels(t *testing.T, s *model.Sheet) {
	if !slices.ContainsFunc(s.Columns, model.Column.IsKey) {
		t.Error("no keys")
	}
	seen := map[string]bool{}
	for _, label := range s.Labels() {
		if label == "" || seen[label] {
			t.Errorf("the row %q is not the only one", label)
		}
		seen[label] = true
	}
}

// sameVerdict reports whether two comparisons say the same of the same number.
func sameVerdict(a, b agreement.Comparison) bool {
	return a.Table == b.Table && a.Row == b.Row && a.Column == b.Column && a.Verdict == b.Verdict
}

// TestAPolicyThatThePaperLacks has ratios and differences of a policy of ours, once of
// a name that the program knows and once of none: no table, figure or verdict may need
// the paper to have it.
func TestAPolicyThatThePaperLacks(t *testing.T) {
	ours := &policy.Policy{Name: "ours", Label: "Ours", Macro: "Ours", Donors: policy.None}
	before := fleetStudy(t)
	want := before.verdicts(t).Cells
	for _, known := range []bool{false, true} {
		s := fleetStudy(t)
		for _, r := range before.ratios {
			if r.Policy == policy.EN.Name {
				r.Policy, r.M, r.W = ours.Name, nil, nil
				s.ratios = append(s.ratios, r)
			}
		}
		if known {
			all := policy.All
			policy.All = append(slices.Clip(policy.All), ours)
			t.Cleanup(func() { policy.All = all })
		}
		src := s.source(t)
		for _, of := range tables.Of(src.Settings) {
			sheet, err := of.Sheet(src)
			if err != nil {
				t.Errorf("%s: %v", of.Base, err)
				continue
			}
			sheet.Data()
			sheet.Print()
			checkLabels(t, sheet)
			if of == tables.Errors && known != slices.Contains(sheet.Labels(), "b=8 ours") {
				t.Errorf("known %v, but the errors are of %q", known, sheet.Labels())
			}
		}
		if _, err := tables.Macros(src); err != nil {
			t.Error(err)
		}
		v, err := report.Verify(src)
		if err != nil || !slices.EqualFunc(v.Cells, want, sameVerdict) {
			t.Errorf("known %v: %s, error %v", known, v.Summary(), err)
		}
		if known {
			s.reported(t)
		}
	}
	// Blank tables, which explain and diff read, have its columns too.
	for _, of := range tables.All {
		sheet, err := of.Sheet(stored.NewSource(&stored.Settings{Published: true, Targets: data.PaperTargets(), Architectures: data.Architectures()}, stored.Folder(t.TempDir())))
		if err != nil {
			t.Errorf("%s without rows: %v", of.Base, err)
			continue
		}
		checkColumns(t, sheet)
		checkLabels(t, sheet)
	}
}
