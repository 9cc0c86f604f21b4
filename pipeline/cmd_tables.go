package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/stages/report"
	"speceval/stages/report/model"
	"speceval/stages/report/tables"
)

// reportStage is the stage that tables runs.
const reportStage = "report"

func (s *session) tablesCommand() *cobra.Command {
	var list bool
	var show, format string
	sel := ofStage(reportStage)
	sel.Force = true
	c := &cobra.Command{
		Use: "tables", Short: "write tables, figures and report.html from stored results, or print one table", Args: cobra.NoArgs,
		Example: `  speceval tables                       all tables, in two or three seconds
  speceval tables --show table1         one table as text
  speceval tables --show table1 --format latex > table1.tex`,
		RunE: func(*cobra.Command, []string) error {
			if list || show != "" {
				return s.printTable(list, show, format)
			}
			plan, err := s.runSelection(sel, false)
			if err != nil {
				return err
			}
			files := 0
			for _, u := range plan.Stages[0].Stage.Units {
				files += len(u.Outputs)
			}
			s.say("tables: %s written from stored results", display.Count(files, "file", "files"))
			return nil
		},
	}
	fs := c.Flags()
	fs.BoolVar(&list, "list", false, "print the names of the tables, and write nothing")
	fs.StringVar(&show, "show", "", "print `TABLE`, and write nothing")
	fs.StringVar(&format, "format", "text", "print as `F`: text, csv or latex")
	return c
}

// tableForms are the forms that a table is printed in.
var tableForms = map[string]func(io.Writer, *model.Sheet) error{
	"text":  func(w io.Writer, s *model.Sheet) error { return table.WriteText(w, s.Print()) },
	"csv":   func(w io.Writer, s *model.Sheet) error { return table.CSV(w, s.Data()) },
	"latex": func(w io.Writer, s *model.Sheet) error { return table.LaTeX(w, s.Print()) },
}

// printTable prints the names of the tables, or one table from the stored results.
func (s *session) printTable(list bool, show, format string) error {
	form, ok := tableForms[format]
	if !ok {
		return usagef("--format %q is not text, csv or latex", format)
	}
	x, plan, err := s.look(selection{})
	if err != nil {
		return err
	}
	if list {
		for _, t := range tables.Of(&x.Reports) {
			_, fault := fmt.Fprintln(s.stdout, t.Base)
			err = cmp.Or(err, fault)
		}
		return err
	}
	sheet, err := (&report.Explainer{Settings: x.Reports, Out: x.Out}).Table(show)
	var name *display.NameError
	if errors.As(err, &name) {
		return usagef("%w; `speceval tables --list` names them", err)
	}
	if err != nil {
		return err
	}
	if sheet.Rows == 0 {
		return fmt.Errorf("%s has no rows: %s", sheet.Base, strings.Join(slices.Concat(sheet.Print().Notes, []string{"`speceval plan` says what has not run"}), " "))
	}
	s.warnStale(plan, "replay", "systems")
	return form(s.stdout, sheet)
}
