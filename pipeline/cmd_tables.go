package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// tablesOptions are the flags of tables.
type tablesOptions struct {
	strict, list bool
	show, format string
}

func tablesCommand() command {
	o := new(tablesOptions)
	return command{
		name:  "tables",
		args:  "[--set KEY=VALUE] [--strict] | --list | --show TABLE [--format text|csv|latex]",
		about: "write every table, figure and document again, and report.html, from stored results only; or print one table",
		examples: `  speceval tables                       all tables, in two or three seconds
  speceval tables --out out2            from the results in another folder
  speceval tables --strict              and fail where a stage has not run
  speceval tables --list                the names of the tables
  speceval tables --show table1         one table as text
  speceval tables --show table1 --format latex > table1.tex
`,
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&o.strict, "strict", false, "fail where a stage has not run, in place of leaving its numbers out")
			fs.BoolVar(&o.list, "list", false, "print the names of the tables, and write nothing")
			fs.StringVar(&o.show, "show", "", "print this table, and write nothing")
			fs.StringVar(&o.format, "format", "text", "of the printed table: text, csv or latex")
		},
		run: o.run,
	}
}

func (o *tablesOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	if o.list || o.show != "" {
		return o.print(s)
	}
	plan, err := s.runSelection(dag.Selection{Stages: []string{reportStage}, Force: true, Strict: o.strict}, runOptions{})
	if err == nil {
		s.say("tables: %s written from stored results", outputs(plan))
	}
	return err
}

// tableForms are the forms that a table is printed in.
var tableForms = map[string]func(io.Writer, *model.Sheet) error{
	"text":  func(w io.Writer, s *model.Sheet) error { return table.WriteText(w, s.Print()) },
	"csv":   func(w io.Writer, s *model.Sheet) error { return table.CSV(w, s.Data()) },
	"latex": func(w io.Writer, s *model.Sheet) error { return table.LaTeX(w, s.Print()) },
}

// print prints the names of the tables, or one table from the stored results.
func (o *tablesOptions) print(s *session) error {
	form, ok := tableForms[o.format]
	if !ok {
		return usagef("--format %q is not text, csv or latex", o.format)
	}
	x, err := s.open(dag.Selection{})
	if err != nil {
		return err
	}
	var names []string
	all := tables.Of(&x.Reports)
	for _, t := range all {
		names = append(names, t.Base)
	}
	if o.list {
		_, err := fmt.Fprintln(s.stdout, strings.Join(names, "\n"))
		return err
	}
	i, err := display.Locate("table", o.show, names)
	if err != nil {
		return &usageError{fmt.Errorf("%w; `speceval tables --list` names them", err)}
	}
	sheet, err := all[i].Sheet(stored.NewSource(&x.Reports, stored.Folder(x.Out)))
	if err != nil {
		return fmt.Errorf("%s: %w", names[i], err)
	}
	if sheet.Rows == 0 {
		return fmt.Errorf("%s has no rows: %s", names[i], strings.Join(slices.Concat(sheet.Print().Notes, []string{"`speceval plan` says what has not run"}), " "))
	}
	return form(s.stdout, sheet)
}

// outputs counts the files that the units of a plan write.
func outputs(plan *dag.Plan) string {
	n := 0
	for _, stage := range plan.Stages {
		for _, u := range stage.Stage.Units {
			n += len(u.Outputs)
		}
	}
	return display.Count(n, "file", "files")
}
