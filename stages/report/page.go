package report

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"speceval/internal/page"
	"speceval/pipeline/dag"
)

// History is what the report's page tells beside the results: how they were
// made. The numbers of the page are those of the output folder alone.
type History struct {
	Stages   []dag.Stage  // of the experiment, in order
	Records  []dag.Record // of all their units
	Settings []page.Setting
	Origin   dag.Origin // of the program that writes the page
	Cores    int        // of the machine that it runs on
}

// WritePage writes the results stored in the output folder, and what made them,
// as one HTML page. A table whose stage has not run says so. It is an error if
// stored results cannot be read.
func WritePage(w io.Writer, outDir string, s Settings, h History) error {
	p, err := newPage(outDir, s, h)
	if err != nil {
		return fmt.Errorf("report.html: %w", err)
	}
	return page.Write(w, p)
}

func newPage(outDir string, s Settings, h History) (page.Page, error) {
	b := pageBuilder{Settings: s, in: folder(outDir), records: byRef(h.Records)}
	if s.judged() {
		verdicts, err := Verify(outDir, s.Targets)
		if err != nil {
			return page.Page{}, err
		}
		b.verdicts = verdicts
	}
	p := page.Page{
		Title:    "Speculative evaluation: results",
		Lead:     b.lead(),
		Warnings: warnings(h),
		Run:      newRun(h),
		Settings: h.Settings,
		Facts:    facts(h),
	}
	b.cells = newCellIndex(b.verdicts.Cells)
	for _, kind := range s.tables() {
		t, err := b.table(kind)
		if err != nil {
			return p, fmt.Errorf("%s: %w", kind.base, err)
		}
		p.Tables = append(p.Tables, t)
	}
	for _, kind := range s.figures() {
		f, err := b.figure(kind)
		if err != nil {
			return p, fmt.Errorf("%s: %w", kind.base, err)
		}
		p.Figures = append(p.Figures, f)
	}
	p.Others = b.cells.rest()
	if len(b.verdicts.Cells) > 0 {
		p.Summary = summary(b.verdicts)
	}
	return p, nil
}

// pageBuilder makes the parts of a page of one output folder.
type pageBuilder struct {
	Settings
	in       locate
	records  map[dag.Ref]dag.Record
	verdicts Verdicts
	cells    *cellIndex
}

// lead says what was evaluated.
func (b pageBuilder) lead() string {
	what := "profiles, which are not the paper’s: its numbers do not apply, and no verdict is given"
	switch {
	case b.Published:
		what = "published profiles of the paper, beside its numbers"
	case len(b.compared()) > 0:
		what = "profiles of our own, with what was measured beside what was predicted of it; they are not the paper’s, whose numbers do not apply"
	}
	return fmt.Sprintf("What speculative evaluation saves on %d %s. Average budgets: %s rollouts per task.",
		len(b.Pairs), what, spoken(b.Budgets))
}

// spoken is "8, 16, 32 and 64".
func spoken(numbers []int) string {
	words := strings.Fields(strings.Trim(fmt.Sprint(numbers), "[]"))
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// table is a table of the report with everything that is known of its cells.
func (b pageBuilder) table(kind tableKind) (page.Table, error) {
	ref := ownRef(kind.base)
	t := page.Table{ID: kind.base, Name: printedName(kind.base), Chain: b.chain(ref), Files: b.files(ref)}
	var lacking []string
	sheet, err := b.sheet(kind, b.in.noting(&lacking))
	var absent *dag.AbsentError
	switch {
	case errors.As(err, &absent):
		t.Absent = "not run: " + absent.Stage
	case err != nil:
		return t, err
	case len(sheet.Data.Rows) == 0 && len(lacking) > 0:
		t.Absent = "not run: " + strings.Join(lacking, ", ")
	case len(sheet.Data.Rows) == 0 && len(sheet.Print.Notes) > 0:
		t.Absent = sheet.Print.Notes[0]
	case len(sheet.Data.Rows) == 0:
		t.Absent = "no rows: nothing of this experiment belongs here"
	}
	t.Title = sheet.Print.Title
	if t.Title == "" {
		t.Title = strings.ReplaceAll(kind.base, "_", " ")
	}
	if t.Absent != "" {
		b.cells.extra(kind.base) // not to be listed elsewhere either
		return t, nil
	}
	b.fill(&t, sheet)
	t.Extra = b.cells.extra(kind.base)
	for _, note := range sheet.Print.Notes {
		if !strings.HasPrefix(note, dagger) { // the paper's value stands in the cell
			t.Notes = append(t.Notes, note)
		}
	}
	return t, nil
}

var numbered = regexp.MustCompile(`^(table|figure)(\d+)_`)

// printedName is how the paper counts a table or figure: "Table 1" of
// table1_variance; empty for one that it does not have.
func printedName(base string) string {
	m := numbered.FindStringSubmatch(base)
	if m == nil {
		return ""
	}
	return strings.ToUpper(m[1][:1]) + m[1][1:] + " " + m[2]
}
