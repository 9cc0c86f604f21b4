package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"speceval/internal/terminal/display"
	"speceval/stages/report"
	"speceval/stages/report/model"
)

func (s *session) explainCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "explain TABLE [ROW COLUMN]", Short: "trace a number of a table to its formula, files, units, keys and seeds", Args: cobra.MinimumNArgs(1),
		Long: `Trace a number of a table to its formula, files, units, keys and seeds.

Tables and columns are named as in out/tables, rows by their key columns: "b=8",
"published b=8", "aime24__model=qwen3_5_4b b=8 hbn". Case does not matter, b= and N=
may be left out, and a unique part of a name is enough.`,
		Example: `  speceval explain table1                             its rows and columns
  speceval explain table1_variance b=8 hbn            one number
  speceval explain table3 "simulated b=16" async_time --all`,
		RunE: func(_ *cobra.Command, words []string) error {
			err := s.explain(words)
			var name *display.NameError
			if errors.As(err, &name) {
				return usagef("%w; `speceval tables --list` names the tables, `speceval explain TABLE` its rows and columns", err)
			}
			return err
		},
	}
	s.jsonFlag(c)
	s.allFlag(c, "list every row, unit and source")
	return c
}

func (s *session) explain(words []string) error {
	o, _, err := s.look(selection{})
	if err != nil {
		return err
	}
	if _, err := os.Stat(o.Out); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no output folder %s: `speceval run` makes it, --out names another", o.Out)
	}
	x := report.Explainer{Settings: o.Reports, Out: o.Out, Records: o.snapshot.Records()}
	sheet, err := x.Table(words[0])
	if err != nil {
		return err
	}
	file := filepath.Join(o.Out, report.TablePaths(sheet.Base)[0])
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("table %s is not there: %s does not exist; run `speceval tables` first", sheet.Base, file)
	}
	if len(words) == 1 {
		return s.listTable(sheet)
	}
	if sheet.Rows == 0 {
		return fmt.Errorf("%s has no rows: what it is made of has not run (`speceval plan` says what), or this experiment has none of it", sheet.Base)
	}
	last := len(words) - 1 // before it is the row, whose words need no quotes around them
	row, err := display.Locate("row of "+sheet.Base, strings.Join(words[1:max(2, last)], " "), sheet.Labels())
	if err != nil {
		return err
	}
	if last == 1 {
		return usagef("name a column behind the row: `speceval explain %s` lists them", sheet.Base)
	}
	column, err := display.Locate("column of "+sheet.Base, words[last], sheet.Names())
	if err != nil {
		return err
	}
	e := x.Explain(sheet, row, column)
	return s.printAs(e, func(w io.Writer) error { return e.Text(w, s.all) })
}

// fewRows is how many rows of a table are listed unless all are asked for.
const fewRows = 20

// listTable prints how the rows and columns of a table are called.
func (s *session) listTable(sheet *model.Sheet) error {
	rows, names := sheet.Labels(), sheet.Names()
	document := map[string]any{"table": sheet.Base, "rows": rows, "columns": names}
	if more := len(rows) - fewRows; more > 1 && !s.all {
		rows = append(rows[:fewRows:fewRows], fmt.Sprintf("… and %d more (--all)", more))
	}
	const next = "\n  "
	return s.printAs(document, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n\nrows:%s\n\ncolumns:%s\n", sheet.Base, next+strings.Join(rows, next), next+strings.Join(names, next))
		return err
	})
}
