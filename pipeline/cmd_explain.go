package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/explain"
)

// explainOptions are the flags of explain.
type explainOptions struct{ json, all bool }

func explainCommand() command {
	o := new(explainOptions)
	return command{
		name: "explain",
		args: "[TABLE [ROW [COLUMN]]] [--json] [--all]",
		about: "say where a number of a table comes from: formula, files, units, keys and seeds\n\n" +
			"Tables and columns are named as in out/tables, rows by their key columns: \"b=8\",\n" +
			"\"published b=8\", \"N=19 b=8\", \"aime24__model=qwen3_5_4b b=8 hbn\". Case does not\n" +
			"matter, b= and N= may be left out, and so may what tells a name from no other.",
		examples: `  speceval explain                                    the tables
  speceval explain table1                             its rows and columns
  speceval explain table1 8                           a row of it
  speceval explain table1_variance b=8 hbn            one number
  speceval explain table3 "simulated b=16" async_time --all
  speceval explain profile_ratios "aime24__model=qwen3_5_4b b=32 hbn" variance_ratio --json
`,
		complete: completeTables,
		flags: func(fs *pflag.FlagSet) {
			jsonFlag(fs, &o.json, "print one JSON document, with all of everything")
			fs.BoolVar(&o.all, "all", false, "list every unit and source, in place of one line for those of a kind")
		},
		run: o.run,
	}
}

func (o *explainOptions) run(s *session, words []string) error {
	x, err := s.explainer()
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return o.tables(s, x)
	}
	sheet, err := x.Table(words[0])
	if err != nil {
		return explainFault(err)
	}
	row, column, err := chooseCell(sheet, words[1:])
	if err != nil {
		return explainFault(err)
	}
	switch {
	case row < 0:
		return o.table(s, sheet)
	case column < 0:
		return o.row(s, sheet, row)
	}
	e := x.Explain(sheet, row, column)
	if o.json {
		return writeJSON(s.stdout, e)
	}
	return e.Text(s.stdout, o.all)
}

// explainer reads the configuration and the manifests of its output folder.
func (s *session) explainer() (*explain.Explainer, error) {
	o, err := s.open(dag.Selection{})
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(o.Out); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no output folder %s: `speceval run` makes it, --out names another", o.Out)
	}
	ctx, stop := s.interruptible()
	defer stop()
	snapshot, err := o.graph.Scan(ctx, o.Out)
	if err != nil {
		return nil, err
	}
	return explain.NewExplainer(o.Reports, o.Out, snapshot.Records()), nil
}

// chooseCell finds the row and the column that words name; −1 for one that they
// do not. A row of several words may come without quotes around them.
func chooseCell(sheet explain.Table, words []string) (row, column int, err error) {
	if len(words) == 0 {
		return -1, -1, nil
	}
	if len(sheet.Rows) == 0 {
		return 0, 0, fmt.Errorf("%s has no rows: what it is made of has not run (`speceval plan` says what), or this experiment has none of it", sheet.Base)
	}
	row, whole := sheet.Row(strings.Join(words, " "))
	if whole == nil {
		return row, -1, nil
	}
	if len(words) == 1 {
		return 0, 0, whole
	}
	last := len(words) - 1
	if row, err = sheet.Row(strings.Join(words[:last], " ")); err != nil {
		return 0, 0, err
	}
	column, err = sheet.Column(words[last])
	return row, column, err
}

// explainFault makes a usage error of a word that names nothing.
func explainFault(err error) error {
	var name *display.NameError
	if errors.As(err, &name) {
		return &usageError{fmt.Errorf("%w; `speceval explain` lists the tables, `speceval explain TABLE` its rows and columns", err)}
	}
	return err
}

// tableList is the document of explain --json without a table.
type tableList struct {
	Tables []tableLine `json:"tables"`
}

// tableLine is a table, with its rows and columns where it is named.
type tableLine struct {
	Table   string   `json:"table"`
	Stored  bool     `json:"stored"`
	Rows    []string `json:"rows"`
	Columns []string `json:"columns"`
}

func (o *explainOptions) tables(s *session, x *explain.Explainer) error {
	list := tableList{Tables: []tableLine{}}
	for _, base := range x.Tables() {
		sheet, err := x.Table(base)
		var missing *explain.MissingError
		if err != nil && !errors.As(err, &missing) {
			return err
		}
		list.Tables = append(list.Tables, lineOf(base, sheet, err == nil))
	}
	if o.json {
		return writeJSON(s.stdout, list)
	}
	t := table.Table{Columns: []table.Column{{Name: "table", Align: table.Left}, {Name: "rows"}, {Name: "columns"}}}
	for _, l := range list.Tables {
		row := []table.Cell{table.Text(l.Table), table.Integer(len(l.Rows)), table.Integer(len(l.Columns))}
		if !l.Stored {
			row[1], row[2] = table.Text("not stored"), table.Missing()
		}
		t.Rows = append(t.Rows, row)
	}
	return table.WriteText(s.stdout, t)
}

func (o *explainOptions) table(s *session, sheet explain.Table) error {
	l := lineOf(sheet.Base, sheet, true)
	if o.json {
		return writeJSON(s.stdout, l)
	}
	const few = 20
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nrows:\n", l.Table)
	for i, row := range l.Rows {
		if i == few && !o.all && len(l.Rows) > few+1 {
			fmt.Fprintf(&b, "  … and %d more (--all)\n", len(l.Rows)-few)
			break
		}
		fmt.Fprintf(&b, "  %s\n", row)
	}
	b.WriteString("\ncolumns:\n")
	for _, column := range l.Columns {
		fmt.Fprintf(&b, "  %s\n", column)
	}
	_, err := io.WriteString(s.stdout, b.String())
	return err
}

// lineOf is a table with its rows and columns.
func lineOf(base string, sheet explain.Table, stored bool) tableLine {
	l := tableLine{Table: base, Stored: stored, Rows: []string{}, Columns: []string{}}
	if stored {
		l.Rows = append(l.Rows, sheet.Labels...)
		l.Columns = append(l.Columns, sheet.Columns...)
	}
	return l
}

func (o *explainOptions) row(s *session, sheet explain.Table, row int) error {
	if o.json {
		values := map[string]string{}
		for j, column := range sheet.Columns {
			values[column] = sheet.Rows[row][j]
		}
		return writeJSON(s.stdout, values)
	}
	t := table.Table{Title: fmt.Sprintf("%s, row %q", sheet.Base, sheet.Labels[row]), Columns: []table.Column{{Name: "column", Align: table.Left}, {Name: "stored", Align: table.Left}}}
	for j, column := range sheet.Columns {
		t.Rows = append(t.Rows, []table.Cell{table.Text(column), table.Text(sheet.Rows[row][j])})
	}
	return table.WriteText(s.stdout, t)
}
