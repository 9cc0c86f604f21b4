package model

import (
	"speceval/internal/policy"
	"speceval/internal/table"
)

// Words that tables share.
const (
	BudgetWords    = "The average budget «b»: rollouts per task, «N·b¦N b» in all (Section 2)."
	TasksWords     = "The number of tasks «N» of the benchmark."
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
