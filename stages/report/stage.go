// Package report is the stage that turns stored results into what people read:
// the paper's tables and figures and our own, and a document with all of them.
// From the bottom up: package stored reads results, model describes a table, and tables
// and figures hold those of the report. This package stores tables (stage.go), compares
// them with the paper's numbers (verify.go), writes the document (document.go, latex.go),
// and explains a number (explain.go). Package page writes the HTML page, outside the
// stage's units.
//
// Nothing here computes a design, replays a profile or times anything, so all
// tables can be made again in a moment. Tables of runs have rows of three
// provenances, and no row mixes two.
package report

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"speceval/internal/store/atomicfile"
	"speceval/internal/terminal/figure"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/figures"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// version is the stage's code version: raise it when the same inputs give
// other tables.
const version = 8

// numbersFile has a LaTeX command for every number that a text quotes.
const numbersFile = "tables/numbers.tex"

// Stage is the report: a unit for each table and each figure, one for the
// numbers that a text quotes, one for the facts of the experiment that verdicts
// need, and those of the document.
func Stage(settings stored.Settings) dag.Stage {
	s := stage{&settings}
	units := []dag.Unit{s.experiment()}
	for _, t := range tables.Of(s.Settings) {
		units = append(units, s.table(t))
	}
	for _, f := range figures.Of(s.Settings) {
		units = append(units, s.figure(f))
	}
	units = append(units, s.numbers())
	var shown []dag.Ref
	for _, u := range units {
		shown = append(shown, stored.Own(u.ID))
	}
	units = append(units, s.document(shown))
	if s.TeX != nil {
		units = append(units, s.pdf(append(shown, stored.Own("document"))))
	}
	for i := range units {
		units[i].Cost, units[i].Provenance = unitSeconds, "computed"
	}
	return dag.Stage{
		Name:    "report",
		About:   "tables, figures, documents and verdicts from stored results",
		Version: version,
		Units:   units,
	}
}

// unitSeconds is the time of a unit on one core, as measured in a run of the shipped
// experiment.
const unitSeconds = 0.1

// stage makes the units of an experiment.
type stage struct {
	*stored.Settings
}

// source is the stored results that a unit reads.
func (s stage) source(job *dag.Job) *stored.Source {
	return stored.NewSource(s.Settings, job.Input)
}

// table is the unit of a table.
func (s stage) table(t *model.Table) dag.Unit {
	u := dag.Unit{ID: t.Base, Outputs: TablePaths(t.Base)}
	t.Reads.Feed(&u, s.Settings)
	u.Run = func(_ context.Context, job *dag.Job) error {
		sheet, err := t.Sheet(s.source(job))
		if err != nil {
			return err
		}
		return write(job, u.Outputs, sheet.Rows,
			func(w io.Writer) error { return table.CSV(w, sheet.Data()) },
			func(w io.Writer) error { return table.LaTeX(w, sheet.Print(), TableOrigin(job)) })
	}
	return u
}

// TablePaths are the files of a table, relative to the output folder: CSV, then LaTeX.
func TablePaths(base string) []string {
	return []string{"tables/" + base + ".csv", "tables/" + base + ".tex"}
}

// TableOrigin is the first comment of a LaTeX file: the command, commit and key that it
// was made by, and which of its inputs were edited or damaged since they were made.
func TableOrigin(job *dag.Job) string {
	altered := ""
	if names := job.Altered(); len(names) > 0 {
		altered = "; made from what was not as recorded: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("command: %s; commit: %s%s; key: %s", job.Command(), job.Commit(), altered, job.Key())
}

// figure is the unit of a figure, in all its forms.
func (s stage) figure(f *figures.Figure) dag.Unit {
	u := dag.Unit{ID: f.Base, Outputs: FigurePaths(f.Base)}
	f.Reads.Feed(&u, s.Settings)
	u.Run = func(_ context.Context, job *dag.Job) error {
		made, err := f.Make(s.source(job))
		if err != nil {
			return err
		}
		return write(job, u.Outputs, len(made.Data.Rows),
			func(w io.Writer) error { return table.CSV(w, made.Data) },
			func(w io.Writer) error { return figure.PDF(w, made) },
			func(w io.Writer) error { return figure.SVG(w, made) })
	}
	return u
}

// write writes the forms of an output, the first of which has rows.
func write(job *dag.Job, files []string, rows int, forms ...func(io.Writer) error) error {
	for i, form := range forms {
		if err := job.Write(files[i], rows, form); err != nil {
			return err
		}
		rows = -1
	}
	return nil
}

// writeText writes an output.
func writeText(job *dag.Job, file, text string) error {
	return job.Write(file, -1, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// FigurePaths are the files of a figure, relative to the output folder.
func FigurePaths(base string) []string {
	return []string{"figures/" + base + ".csv", "figures/" + base + ".pdf", "figures/" + base + ".svg"}
}

// experiment is the unit that stores the facts of the experiment.
func (s stage) experiment() dag.Unit {
	u := dag.Unit{
		ID: stored.ExperimentRef.Unit, Outputs: []string{stored.ExperimentFile},
		Config: map[string]string{
			"experiment.budgets":        fmt.Sprint(s.Budgets),
			"report.paper_columns":      fmt.Sprint(s.Published),
			"replay.case_study.profile": strconv.Quote(s.CaseStudy.Profile),
			"replay.case_study.budget":  fmt.Sprint(s.CaseStudy.Budget),
		},
	}
	compared := tables.Compared(s.Settings)
	if len(compared) > 0 {
		u.Config["report.compared"] = fmt.Sprint(compared)
	}
	stored.Reads{Profiles: true}.Feed(&u, s.Settings)
	for _, p := range s.LeftOut {
		u.Sources = append(u.Sources, dag.Source{Name: "profile " + p.Name(), SHA256: p.SHA256()})
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		facts, err := stored.NewExperiment(s.Settings, compared, job.Input)
		if err != nil {
			return err
		}
		return job.Write(stored.ExperimentFile, -1, func(w io.Writer) error { return atomicfile.EncodeJSON(w, facts) })
	}
	return u
}

// numbers is the unit of the numbers that a text quotes. A number below zero has
// TeX's sign, not a hyphen.
func (s stage) numbers() dag.Unit {
	u := dag.Unit{ID: "numbers", Needs: []dag.Ref{stored.ExperimentRef}, Outputs: []string{numbersFile}}
	for _, t := range tables.Quoted(s.Settings) {
		reads := t.Reads
		reads.Paper = false // macros are our own numbers
		reads.Feed(&u, s.Settings)
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		macros, err := tables.Macros(s.source(job))
		if err != nil {
			return err
		}
		return job.Write(numbersFile, -1, func(w io.Writer) error {
			fmt.Fprintf(w, "%% %s\n", TableOrigin(job))
			for _, m := range macros {
				fmt.Fprintf(w, "\\newcommand{\\%s}{%s}\n", m.Name, table.Escape(table.Minus(m.Value)))
			}
			return nil
		})
	}
	return u
}
