// Package page writes the report as one HTML page: what the method saves, figures, tables
// whose numbers say where they come from, and the run that made them.
package page

import (
	"bufio"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"slices"
	"strings"

	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/figure"
	"speceval/stages/report"
	"speceval/stages/report/figures"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

//go:embed *.tmpl
var templates embed.FS

//go:embed page.js
var script string

// view is the page as its templates read it. All of it is text that html/template
// escapes, but for drawings, which package figure has escaped.
type view struct {
	Guard    string // what the page may load
	Style    template.CSS
	Script   template.HTML
	About    string // which profiles
	Warnings []string
	Savings  savings
	Verdict  *verdict // nil where nothing is compared
	Figures  []drawing
	Profiles *grid // what policies save on each profile of one's own
	Tables   []grid
	Left     []leftOut
	Stages   []stage
	Commits  []string // that made the results
	Others   []string // values that are not the paper's
}

// leftOut is a table or figure that the page does not have, and why.
type leftOut struct{ Name, Why string }

// drawing is a figure. Least and Most are its bounds in pixels: below the first it scrolls.
type drawing struct {
	ID, Name, Caption string
	SVG               template.HTML
	Least, Most       int
	Files             []string
}

// Write writes stored results, and what made them, as one HTML page that loads nothing
// else. A table or figure that is not there is named with the reason. It is an error if
// stored results cannot be read. The same results and history give the same bytes.
func Write(w io.Writer, src *stored.Source, h History) error {
	parsed, err := template.New("page.html.tmpl").Funcs(template.FuncMap{"last": path.Base}).ParseFS(templates, "*.tmpl")
	if err != nil {
		return err
	}
	v, err := newView(src, h)
	if err != nil {
		return fmt.Errorf("report.html: %w", err)
	}
	out := bufio.NewWriter(display.NewEscapingWriter(w))
	if err := parsed.Execute(out, v); err != nil {
		return err
	}
	return out.Flush()
}

func newView(src *stored.Source, h History) (*view, error) {
	v := &view{Guard: display.PageGuard(script), Style: template.CSS(display.PageStyle), Script: template.HTML("<script>" + script + "</script>"),
		About: about(src.Settings)}
	v.Stages, v.Warnings = stagesOf(h)
	v.Commits, v.Others = h.made()
	verdicts, err := report.Verify(src)
	if err != nil {
		return nil, err
	}
	if v.Savings, err = newSavings(src); err != nil {
		return nil, err
	}
	if err := v.addFigures(src); err != nil {
		return nil, err
	}
	left := verdicts.Cells
	for _, t := range tables.Of(src.Settings) {
		g, err := v.newGrid(src, t, verdicts.Cells.Of(t.Base))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Base, err)
		}
		if g == nil {
			continue
		}
		left = slices.DeleteFunc(slices.Clone(left), g.shows)
		v.Tables = append(v.Tables, *g)
	}
	if !src.Published {
		v.Profiles, err = byProfile(src)
	}
	if len(verdicts.Cells) > 0 {
		v.Verdict = newVerdict(verdicts, left)
	}
	return v, err
}

// about says which profiles were evaluated.
func about(s *stored.Settings) string {
	text := display.Count(len(s.Pairs), "profile", "profiles")
	switch {
	case s.Published:
		text += " of the paper"
	case len(tables.Compared(s)) > 0:
		text += " of your own, which are not the paper’s; what was measured stands beside what was predicted"
	default:
		text += " of your own: the paper’s numbers do not apply to them, and there is no verdict"
	}
	return text + "; average budgets of " + display.And(s.Budgets) + " rollouts a task."
}

// newGrid is a table, nil if it is left out.
func (v *view) newGrid(src *stored.Source, of *model.Table, compared agreement.Comparisons) (*grid, error) {
	sheet, err := of.Sheet(src)
	if err != nil {
		return nil, err
	}
	if why := noRows(sheet); why != "" {
		v.Left = append(v.Left, leftOut{placeName(of.Base), why})
		return nil, nil
	}
	g := &grid{ID: of.Base, Name: placeName(of.Base), Title: sheet.Title, Count: sheet.Rows, Files: report.TablePaths(of.Base)}
	for _, note := range sheet.Print().Notes {
		if !strings.HasPrefix(note, model.Dagger) { // the paper's number stands in the cell
			g.Notes = append(g.Notes, note)
		}
	}
	if sheet.Rows <= mostRows {
		g.fill(sheet, compared)
	}
	return g, nil
}

func (v *view) addFigures(src *stored.Source) error {
	for _, of := range figures.Of(src.Settings) {
		src := src.Anew()
		made, err := of.Make(src)
		if err != nil {
			return fmt.Errorf("%s: %w", of.Base, err)
		}
		if lacking := src.Lacking(); len(made.Data.Rows) == 0 && len(lacking) > 0 {
			v.Left = append(v.Left, leftOut{placeName(of.Base), stagesLack(lacking)})
			continue
		}
		var svg strings.Builder
		if err := figure.Inline(&svg, made); err != nil {
			return err
		}
		d := drawing{ID: of.Base, Name: placeName(of.Base), Caption: made.Caption, SVG: template.HTML(svg.String()),
			Least: int(1.15 * made.Width), Most: int(1.9 * made.Width), Files: report.FigurePaths(of.Base)}
		if lacking := src.Lacking(); len(lacking) > 0 {
			d.Caption += " Not all is here: " + stagesLack(lacking) + "."
		}
		v.Figures = append(v.Figures, d)
	}
	return nil
}

// placeName is a table or figure as people call it: "Table 1", or "Error split".
func placeName(base string) string {
	_, name := paper.Number(base)
	return cmp.Or(name, capital(strings.ReplaceAll(base, "_", " ")))
}
