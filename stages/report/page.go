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
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/pipeline/lineage"
	"speceval/stages/report/figures"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// The report as one HTML page has every table and figure with the paper's numbers and
// the verdicts, what made each of them, and how the run went. The code below fills the
// model of package page, which sets the layout.

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
	records  []dag.Record
	verdicts Verdicts
}

func newPage(src *stored.Source, h History) (page.Page, error) {
	b := builder{Source: src, records: h.Records}
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
		Run:      newRun(h),
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
	t := page.Table{ID: of.Base, Title: strings.ReplaceAll(of.Base, "_", " ")}
	t.Chain, t.Files = b.madeBy(of.Base)
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
	p := page.Figure{ID: of.Base, Name: placeName(of.Base)}
	p.Chain, p.Files = b.madeBy(of.Base)
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
	p.SVG, p.Width, p.Caption = drawn.String(), f.Width, table.Plain(f.Caption)
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

// newRun is when everything ran.
func newRun(h History) (run page.Run) {
	for _, r := range h.Records {
		if r.Manifest != nil {
			run.Bars = append(run.Bars, newBar(r.Ref, r.Manifest))
		}
	}
	stages := lineage.Standings(h.Records)
	for _, stage := range h.Stages {
		s := stages[stage.Name]
		state := s.String()
		if stage.Satisfied != "" {
			state = "nothing to run: " + stage.Satisfied
		}
		run.Stages = append(run.Stages, page.Stage{Name: stage.Name, About: stage.About, Units: s.Units, State: state})
	}
	return run
}

// newBar is when and where a unit ran.
func newBar(unit dag.Ref, m *dag.Manifest) page.Bar {
	b := page.Bar{
		Stage: unit.Stage, Unit: unit.Unit, Start: m.Start.Round(time.Microsecond),
		Wall: m.WallSeconds, CPU: m.CPUSeconds, PeakBytes: m.PeakBytes, Host: m.Host,
	}
	if q := m.Queue; q != nil {
		b.Wait = &page.Wait{Job: q.Job, Attempt: q.Attempt, Submitted: q.Submitted.Round(time.Microsecond), Seconds: q.QueueSeconds}
	}
	return b
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
		if r.Ref != stored.Own("pdf") || r.Manifest == nil {
			continue
		}
		for _, s := range r.Sources {
			if engine, ok := strings.CutPrefix(s.Name, "TeX engine: "); ok {
				return engine
			}
		}
	}
	return "none used: no report.pdf"
}

// mostAlike is how many units of one kind are listed one by one.
const mostAlike = 3

// mostInputs is how many inputs of a unit are listed one by one.
const mostInputs = 4

// madeBy is the units behind a table or a figure, the last one first, and the files
// that it has been written to or, if it has not run, would be. Many units of one kind
// share a line.
func (b builder) madeBy(base string) (units []page.Unit, files []page.File) {
	chain := lineage.Of(b.records, stored.Own(base))
	for _, level := range chain.Levels() {
		for _, like := range lineage.Alike(level, nil) {
			if len(like.Units) > mostAlike {
				u := newUnit(like)
				u.Manifest = "manifests/" + u.Name
				units = append(units, u)
				continue
			}
			for _, r := range like.Units {
				units = append(units, oneUnit(r))
			}
		}
	}
	if len(chain) == 0 {
		return nil, nil
	}
	last := chain[len(chain)-1]
	if last.Manifest != nil {
		return units, pageFiles(last.Manifest.Outputs)
	}
	for _, output := range last.Outputs {
		files = append(files, page.File{Path: output, Rows: -1})
	}
	return units, files
}

// oneUnit is a unit with everything that its record says.
func oneUnit(r dag.Record) page.Unit {
	u := newUnit(lineage.Alone(r))
	u.Key = r.Key
	for _, s := range r.Sources {
		u.Sources = append(u.Sources, page.File{Path: s.Name, SHA256: s.SHA256, Rows: -1})
	}
	u.Sources = fewFiles(u.Sources)
	if m := r.Manifest; m != nil {
		u.Key, u.Manifest, u.Inputs = m.Key, "manifests/"+u.Name+".json", fewFiles(pageFiles(m.Inputs))
	}
	return u
}

// newUnit is what units took and were run by together.
func newUnit(g lineage.Group) page.Unit {
	u := page.Unit{Name: g.Name, Count: len(g.Units), State: g.State().String(), Start: g.Start(), Seeds: fewSeeds(g.Seeds())}
	u.Wall, u.CPU = g.Seconds()
	commits := slices.DeleteFunc(g.Distinct(func(m *dag.Manifest) string { return m.Short() }), func(commit string) bool { return commit == "" })
	u.Commit = strings.Join(commits, "; ")
	if len(commits) > 2 {
		u.Commit = fmt.Sprintf("%d commits", len(commits))
	}
	return u
}

// fewFiles is files, or how many there are and the first one.
func fewFiles(files []page.File) []page.File {
	if len(files) <= mostInputs {
		return files
	}
	return []page.File{{Path: fmt.Sprintf("%s and %d more", files[0].Path, len(files)-1), Rows: -1}}
}

// fewSeeds is sorted labels of the seed tree, or the branch that they share.
func fewSeeds(labels []string) []string {
	if len(labels) <= mostAlike {
		return labels
	}
	first, last := labels[0], labels[len(labels)-1] // what these share, all do
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	branch := first[:strings.LastIndexByte(first[:n], '/')+1]
	return []string{fmt.Sprintf("%s… (%d branches)", branch, len(labels))}
}

func pageFiles(files []dag.File) (all []page.File) {
	for _, f := range files {
		all = append(all, page.File{Path: f.Path, SHA256: f.SHA256, Rows: f.Rows})
	}
	return all
}
