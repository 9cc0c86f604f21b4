package model

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/paper"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/table"
)

// Dagger marks a printed value that differs from the paper's.
const Dagger = "†"

// Print is the printed form, rounded: columns in order, each with the paper's
// next to it if it is paired, unless the sheet has a layout of its own.
func (s *Sheet) Print() table.Table {
	t := table.Table{Title: s.Title, Label: s.Label, Notes: slices.Clone(s.Notes)}
	if s.Layout != nil {
		s.Layout(&t)
	} else {
		s.inOrder(&t)
	}
	for _, stage := range s.Lacking {
		t.Notes = append(t.Notes, fmt.Sprintf("Not all is here: the %s stage has not run.", stage))
	}
	return t
}

func (s *Sheet) inOrder(t *table.Table) {
	var cells []func(row int) table.Cell
	for _, c := range s.Columns {
		if !c.Printed() {
			continue
		}
		head := table.Column{Head: c.Head, Group: c.Group, Align: c.Align, Format: c.Format}
		theirs := head
		if c.Paired && s.Paper != nil {
			head.Head, head.Group = Ours, c.Head
			theirs.Head, theirs.Group = Theirs, c.Head
			t.Columns = append(t.Columns, head, theirs)
			cells = append(cells, c.print, func(row int) table.Cell { return s.paperPrint(c, s.Key(row)) })
			continue
		}
		t.Columns = append(t.Columns, head)
		cells = append(cells, c.print)
	}
	for i := range s.Rows {
		if s.Heading != nil {
			if head := s.Heading(i); i == 0 || head != s.Heading(i-1) {
				t.Sections = append(t.Sections, table.Section{Row: i, Head: head})
			}
		}
		line := make([]table.Cell, len(cells))
		for j, cell := range cells {
			line[j] = cell(i)
		}
		t.Rows = append(t.Rows, line)
	}
}

// paperPrint is the paper's number as it is printed.
func (s *Sheet) paperPrint(c Column, key paper.Key) table.Cell {
	if c.Rule.Printed != nil {
		return c.Rule.Printed(key)
	}
	return s.paperCell(c, key)
}

// print is a cell as it is printed.
func (c Column) print(row int) table.Cell {
	show := c.Cell
	if c.Shown != nil {
		show = c.Shown
	}
	cell := show(row)
	if c.PlusMinus != nil {
		if v := c.PlusMinus(row); v != nil {
			cell = cell.PlusMinus(*v)
		}
	}
	return cell
}

// Heads of paired columns.
var (
	Ours   = table.Head{Plain: "ours"}
	Theirs = table.Head{Plain: "paper"}
)

// BudgetHead is a budget as a heading of columns or of a section.
func BudgetHead(budget int32) table.Head {
	return table.Head{Plain: fmt.Sprintf("b = %d", budget), TeX: fmt.Sprintf("$b=%d$", budget)}
}

// ProfileName is a profile as files spell it.
func ProfileName(benchmark, model string) string {
	return profile.Profile{Benchmark: benchmark, Model: model}.Name()
}

var modelID = regexp.MustCompile(`^qwen(\d+)_(\d+)_(\d+)b$`)

// ModelName is a checkpoint as the paper prints it; an identifier of another
// form is its own name.
func ModelName(id string) string { return modelID.ReplaceAllString(id, "Qwen$1.$2-${3}B") }

// Between is the least and the greatest of some counts: "107", or "3 to 107".
func Between(counts []int) string {
	if least, most := slices.Min(counts), slices.Max(counts); least != most {
		return fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprint(counts[0])
}

// Grouped is a count with commas: 200,000.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Spelled is a number as the words of its digits: 64 is SixFour.
func Spelled(n int32) string {
	words := [10]string{"Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"}
	var b strings.Builder
	for _, digit := range strconv.Itoa(int(n)) {
		b.WriteString(words[digit-'0'])
	}
	return b.String()
}

// Words that tables share.
const (
	BudgetWords    = "The average budget b: rollouts per task, N·b in all (Section 2)."
	TasksWords     = "The number of tasks N of the benchmark."
	BenchmarkWords = "The benchmark of the profile."
	ModelWords     = "The checkpoint whose rollouts the profile counts."
	PolicyWords    = "The policy that allocates the rollouts."
	DonorsWords    = "What the policy knows of the tasks beforehand: none, as all of the paper's; siblings, the published counts of the other checkpoints on the benchmark; " +
		"siblings16, 16 rollouts of each, drawn anew; earlier16 and earlier64, an earlier evaluation of the same model with so many rollouts per task, drawn anew."
)

// NameKey is a key column of names.
func NameKey(kind KeyKind, name, words string, of func(row int) string) Column {
	return Column{Name: name, Role: Key, Kind: kind, Words: words, Align: table.Left,
		Cell: func(i int) table.Cell { return table.Text(of(i)) }}
}

// CountKey is a key column of counts.
func CountKey(kind KeyKind, name, words string, of func(row int) int32) Column {
	return Column{Name: name, Role: Key, Kind: kind, Words: words,
		Cell: func(i int) table.Cell { return table.Integer(of(i)) }}
}

// BudgetKey is the column of budgets, in CSV alone.
func BudgetKey(of func(row int) int32) Column {
	return CountKey(ByBudget, "budget", BudgetWords, of)
}

// BudgetRow is a budget that heads its row in print: b = 8.
func BudgetRow(of func(row int) int32) Column {
	c := BudgetKey(of)
	c.Align = table.Left
	c.Shown = func(i int) table.Cell {
		head := BudgetHead(of(i))
		return table.Math(head.Plain, head.TeX)
	}
	return c
}

// BudgetColumn is a budget in a printed column of its own.
func BudgetColumn(of func(row int) int32) Column {
	c := BudgetKey(of)
	c.Head = table.Head{Plain: "b", TeX: "$b$"}
	return c
}

// PolicyKeys are the columns of policies and their donors, in print one of titles.
func PolicyKeys(words string, of func(row int) *policy.Policy) []Column {
	c := StoredPolicyKeys(words, func(i int) policy.Key { return of(i).Key() })
	c[0].Head = table.Head{Plain: "Policy"}
	c[0].Shown = func(i int) table.Cell { return table.Text(of(i).Title()) }
	return c
}

// StoredPolicyKeys are the same of policies that the program need not know, in CSV
// alone.
func StoredPolicyKeys(words string, of func(row int) policy.Key) []Column {
	return []Column{
		NameKey(ByPolicy, "policy", words, func(i int) string { return of(i).Name }),
		NameKey(ByDonors, "donors", DonorsWords, func(i int) string { return of(i).Donors }),
	}
}

// Numbers is the cells of numbers, which must be finite.
func Numbers(of func(row int) float64) func(int) table.Cell {
	return func(i int) table.Cell { return table.Number(of(i)) }
}

// Counts is the cells of counts.
func Counts[T ~int | ~int32 | ~int64](of func(row int) T) func(int) table.Cell {
	return func(i int) table.Cell { return table.Integer(of(i)) }
}

// ByBudgets heads sections of rows by their budgets.
func ByBudgets(of func(row int) int32) func(int) table.Head {
	return func(i int) table.Head { return BudgetHead(of(i)) }
}
