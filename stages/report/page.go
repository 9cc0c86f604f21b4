package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"speceval/internal/display"
	"speceval/internal/figure"
	"speceval/internal/page"
	"speceval/internal/paper"
	"speceval/pipeline/dag"
	"speceval/pipeline/lineage"
	"speceval/stages/report/figures"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// The report as one HTML page has every table and figure with the paper's numbers and
// the verdicts, and the stages, configuration and machines that made them. The code below
// fills the model of package page, which sets the layout.

// History is how the results were made, which the page shows after them.
type History struct {
	Stages   []dag.Stage  // of the experiment, in order
	Records  []dag.Record // of all their units
	Settings []page.Setting
	Origin   dag.Origin // of the program that writes the page
	Cores    int        // of the machine that it runs on
}

// WriteHTML writes stored results, and what made them, as one HTML page. A table whose
// stage has not run says so. It is an error if stored results cannot be read.
func WriteHTML(w io.Writer, src *stored.Source, h History) error {
	p, err := newPage(src, h)
	if err != nil {
		return fmt.Errorf("report.html: %w", err)
	}
	return page.Write(w, p)
}

// builder makes the parts of a page.
type builder struct {
	*stored.Source
	verdicts Verdicts
}

func newPage(src *stored.Source, h History) (page.Page, error) {
	b := builder{Source: src}
	if src.Published || hasLive(src.Settings) {
		var err error
		if b.verdicts, err = Verify(src); err != nil {
			return page.Page{}, err
		}
	}
	p := page.Page{
		Title:    "Speculative evaluation: results",
		Lead:     b.lead(),
		Warnings: warnings(h),
		Stages:   stagesOf(h),
		Settings: h.Settings,
		Facts:    facts(h),
	}
	for _, table := range tables.Of(src.Settings) {
		t, err := b.table(table)
		if err != nil {
			return p, fmt.Errorf("%s: %w", table.Base, err)
		}
		p.Tables = append(p.Tables, t)
	}
	for _, figure := range figures.Of(src.Settings) {
		f, err := b.figure(figure)
		if err != nil {
			return p, fmt.Errorf("%s: %w", figure.Base, err)
		}
		p.Figures = append(p.Figures, f)
	}
	p.Others = others(b.verdicts.Cells, p.Tables)
	if len(b.verdicts.Cells) > 0 {
		p.Summary = summary(b.verdicts)
	}
	return p, nil
}

// hasLive reports whether the experiment holds measurements against predictions.
func hasLive(s *stored.Settings) bool {
	return slices.ContainsFunc(tables.Of(s), func(t *model.Table) bool { return t.Live })
}

// lead says what was evaluated.
func (b builder) lead() string {
	what := "profiles, which are not the paper’s: its numbers do not apply, and no verdict is given"
	switch {
	case b.Published:
		what = "published profiles of the paper, with its numbers"
	case hasLive(b.Settings):
		what = "profiles of our own, with what was measured beside what was predicted of it; they are not the paper’s, whose numbers do not apply"
	}
	return fmt.Sprintf("What speculative evaluation saves on %d %s. Average budgets: %s rollouts per task.",
		len(b.Pairs), what, display.And(strings.Fields(strings.Trim(fmt.Sprint(b.Budgets), "[]"))))
}

// table is a table of the report with everything that is known of its cells.
func (b builder) table(of *model.Table) (page.Table, error) {
	t := page.Table{ID: of.Base, Title: strings.ReplaceAll(of.Base, "_", " "), Files: TablePaths(of.Base)}
	_, t.Name = paper.Number(of.Base)
	sheet, err := of.Sheet(b.Source)
	if t.Absent, err = notRun(err); err != nil {
		return t, err
	}
	if t.Absent == "" {
		t.Absent = noRows(sheet)
		if sheet.Title != "" {
			t.Title = sheet.Title
		}
	}
	if t.Absent != "" {
		return t, nil
	}
	fill(&t, sheet, b.verdicts.Cells.Of(of.Base))
	for _, note := range sheet.Print().Notes {
		if !strings.HasPrefix(note, model.Dagger) { // the paper's value stands in the cell
			t.Notes = append(t.Notes, note)
		}
	}
	return t, nil
}

// notRun takes the error of a file that is not there for a reason: the stage that
// makes it has not run.
func notRun(err error) (absent string, other error) {
	var missing *dag.AbsentError
	if errors.As(err, &missing) {
		return "not run: " + missing.Stage, nil
	}
	return "", err
}

// noRows says why a table has no rows; empty where it has some.
func noRows(s *model.Sheet) string {
	switch {
	case s.Rows > 0:
		return ""
	case len(s.Lacking) > 0:
		return "not run: " + strings.Join(s.Lacking, ", ")
	case len(s.Notes) > 0:
		return s.Notes[0]
	}
	return "no rows: nothing of this experiment belongs here"
}

// figure is a figure of the report as the page shows it.
func (b builder) figure(of *figures.Figure) (page.Figure, error) {
	p := page.Figure{ID: of.Base, Name: placeName(of.Base), Files: figurePaths(of.Base)}
	src := b.Anew()
	f, err := of.Make(src)
	if p.Absent, err = notRun(err); p.Absent != "" || err != nil {
		return p, err
	}
	if lacking := src.Lacking(); len(f.Data.Rows) == 0 && len(lacking) > 0 {
		p.Absent, p.Title = "not run: "+strings.Join(lacking, ", "), f.Title
		return p, nil
	}
	var drawn strings.Builder
	if err := figure.Inline(&drawn, f); err != nil {
		return p, err
	}
	p.SVG, p.Width, p.Caption = drawn.String(), f.Width, f.Caption
	for _, stage := range src.Lacking() {
		p.Caption += fmt.Sprintf(" Not all is here: the %s stage has not run.", stage)
	}
	return p, nil
}

// warnings name the stages whose stored results are not what a run would make now.
// The page is written where the report itself is fresh.
func warnings(h History) (all []string) {
	stages := lineage.Standings(h.Records)
	for _, stage := range h.Stages {
		if w := stages[stage.Name].Warning(stage.Name); w != "" && stage.Name != "report" {
			all = append(all, w)
		}
	}
	return all
}

// stagesOf is the state of every stage, and what its units took.
func stagesOf(h History) (all []page.Stage) {
	standings := lineage.Standings(h.Records)
	for _, stage := range h.Stages {
		s := page.Stage{Name: stage.Name, About: stage.About, Units: standings[stage.Name].Units, State: standings[stage.Name].String()}
		if stage.Satisfied != "" {
			s.State = "nothing to run: " + stage.Satisfied
		}
		for _, r := range h.Records {
			m := r.Last
			if r.Unit.Stage != stage.Name || m == nil {
				continue
			}
			if !s.Ran() || m.Start.Before(s.First) {
				s.First = m.Start
			}
			if end := m.Start.Add(time.Duration(m.WallSeconds * float64(time.Second))); end.After(s.Last) {
				s.Last = end
			}
			s.Wall, s.CPU, s.PeakBytes = s.Wall+m.WallSeconds, s.CPU+m.CPUSeconds, max(s.PeakBytes, m.PeakBytes)
		}
		all = append(all, s)
	}
	return all
}

// facts are the programs and machines that made the results, by the units' records,
// and what wrote the page.
func facts(h History) (all []page.Fact) {
	for _, f := range lineage.Facts(h.Records) {
		all = append(all, page.Fact(f))
	}
	return append(all,
		page.Fact{Name: "TeX engine", Values: []string{texEngine(h)}},
		page.Fact{Name: "Page written by", Values: []string{fmt.Sprintf("commit %s, %s", lineage.Commit(h.Origin), h.Origin.GoVersion)}},
		page.Fact{Name: "Cores", Values: []string{fmt.Sprintf("%d, of the machine that wrote the page", h.Cores)}})
}

// texEngine is the engine that typeset report.pdf, a source of its unit.
func texEngine(h History) string {
	for _, r := range h.Records {
		if r.Unit != stored.Own("pdf") || r.Last == nil {
			continue
		}
		for _, s := range r.Declared.Sources {
			if engine, ok := strings.CutPrefix(s.Name, "TeX engine: "); ok {
				return engine
			}
		}
	}
	return "none used: no report.pdf"
}
