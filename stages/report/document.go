package report

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"

	"speceval/pipeline/dag"
	"speceval/stages/report/figures"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// The documents that gather everything, relative to the output folder.
const (
	texFile = "report.tex"
	pdfFile = "report.pdf"
)

// document is the unit of report.tex, which shows the units of the stage. It sets captions and verdicts of what tables and
// figures are made of.
func (s stage) document(shown []dag.Ref) dag.Unit {
	u := dag.Unit{ID: "document", Needs: shown, Outputs: []string{texFile}}
	stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef, stored.TwoStageRef, stored.SearchRef}, Case: true}.Feed(&u, s.Settings)
	for _, t := range tables.Of(s.Settings) {
		t.Reads.Feed(&u, s.Settings)
	}
	for _, f := range figures.Of(s.Settings) {
		f.Reads.Feed(&u, s.Settings)
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		d, err := s.gather(job)
		if err != nil {
			return err
		}
		text, err := LaTeX(d)
		if err != nil {
			return err
		}
		return writeText(job, texFile, text)
	}
	return u
}

// gather gathers what the document shows.
func (s stage) gather(job *dag.Job) (d Document, err error) {
	src := s.source(job)
	d = Document{Comment: TableOrigin(job), Macros: map[string]bool{}}
	if d.Experiment, err = stored.Facts(src); err != nil {
		return d, err
	}
	macros, err := tables.Macros(src)
	if err != nil {
		return d, err
	}
	for _, m := range macros {
		d.Macros[m.Name] = true
	}
	for _, t := range tables.Of(s.Settings) {
		sheet, err := t.Sheet(src)
		if err != nil {
			return d, err
		}
		d.Exhibits = append(d.Exhibits, Exhibit{Table: t, Caption: sheet.Title, Sheet: sheet})
	}
	for _, f := range figures.Of(s.Settings) {
		made, err := f.Make(src)
		if err != nil {
			return d, fmt.Errorf("caption of %s: %w", f.Base, err)
		}
		d.Exhibits = append(d.Exhibits, Exhibit{Table: f.Table, Caption: made.Caption})
	}
	d.Verdicts, err = Verify(src)
	return d, err
}

// pdf is the unit of report.pdf.
func (s stage) pdf(needs []dag.Ref) dag.Unit {
	return dag.Unit{
		ID: "pdf", Needs: needs, Outputs: []string{pdfFile},
		Sources: []dag.Source{stored.SourceOf("TeX engine: "+s.TeX.Version, []byte(s.TeX.Version))},
		Run: func(ctx context.Context, job *dag.Job) error {
			files := slices.DeleteFunc(job.Inputs(), func(file string) bool { return path.Ext(file) != ".tex" && path.Ext(file) != ".pdf" })
			pdf, err := s.TeX.PDF(ctx, os.DirFS(job.Path(".")), texFile, files)
			if err != nil {
				return fmt.Errorf(`%s stands, but TeX cannot set it (report.pdf = "never" does without): %w`, texFile, err)
			}
			return writeText(job, pdfFile, string(pdf))
		},
	}
}
