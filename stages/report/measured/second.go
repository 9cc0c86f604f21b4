package measured

import (
	"fmt"

	"speceval/internal/agreement"
	"speceval/internal/profile"
	"speceval/internal/table"
)

// Base names of the tables of a second generation.
const (
	ProfileTable = "prediction_profile"
	TasksTable   = "prediction_tasks"
)

var secondGroup = table.Head{Plain: "Tasks"}

var secondColumns = []column{
	benchmarkColumn, modelColumn,
	{name: "n_tasks", head: table.Head{Plain: "all"}, group: secondGroup},
	{name: "rollouts", head: table.Head{Plain: "first"}, group: table.Head{Plain: "Rollouts"}},
	{name: "second_rollouts", head: table.Head{Plain: "second"}, group: table.Head{Plain: "Rollouts"}},
	{name: "tasks_below", head: table.Head{Plain: "p ≤ 1%", TeX: `$p\le1\%$`}, group: secondGroup},
	{name: "tasks_differing", head: table.Head{Plain: "differing"}, group: secondGroup},
	{name: "smallest_p", head: table.Head{Plain: "least p", TeX: "least $p$"}, group: secondGroup, format: decimals(4)},
	verdictColumn("tasks_verdict", "Verdict"),
	{name: "mean", head: table.Head{Plain: "first"}, group: meanGroup, format: percent(2)},
	{name: "second_mean", head: table.Head{Plain: "second"}, group: meanGroup, format: percent(2)},
	{name: "difference", head: table.Head{Plain: "difference"}, group: meanGroup, format: table.Format{Decimals: 2, Scale: 100, Signed: true}, spread: "difference_se"},
	{name: "difference_se"}, {name: "z"},
	{name: "p", head: table.Head{Plain: "p", TeX: "$p$"}, group: meanGroup, format: decimals(3)},
	{name: "mean_verdict", head: table.Head{Plain: "verdict"}, group: meanGroup, align: table.Left},
}

var meanGroup = table.Head{Plain: "Mean"}

// Profiles holds profiles of a second generation against the first, a row each.
// Comparisons are at the level agreement.FalseAlarms.
func Profiles(comparisons []profile.Comparison) Sheet {
	var rows [][]table.Cell
	for _, c := range comparisons {
		below, least := 0, 1.0
		for _, t := range c.Tasks {
			least = min(least, t.P)
			if t.P <= agreement.FalseAlarms {
				below++
			}
		}
		rows = append(rows, []table.Cell{table.Text(c.Benchmark), table.Text(c.Model), table.Integer(len(c.Tasks)),
			table.Integer(c.TestedK[0]), table.Integer(c.TestedK[1]), table.Integer(below), table.Integer(c.Differing()), number(least),
			verdict(differs(c.Differing() > 0)), number(c.Mean[0]), number(c.Mean[1]), number(0 - c.Bias), number(c.SE), number(z(0-c.Bias, c.SE)), number(c.P), verdict(differs(c.Biased))})
	}
	s := newSheet(ProfileTable, "A second, independent generation against the first. Tasks: exact tests of two binomial proportions (Fisher), how many have p ≤ 1% by themselves, "+
		"and how many differ by Holm's procedure. Mean: pass probability over the tasks, and the exact p-value of the difference, in percentage points ± standard error. "+
		"If nothing has changed, a verdict other than agreement has a probability of at most 1% for a whole row, half of it for the tasks and half for the mean.", secondColumns, rows)
	s.Print.Notes = unlike(comparisons)
	return s
}

// unlike says where two generations are not of the same tasks or scorer.
func unlike(comparisons []profile.Comparison) []string {
	var notes []string
	for _, c := range comparisons {
		name := profile.Profile{Benchmark: c.Benchmark, Model: c.Model}.Name()
		if n, m := len(c.Only[0]), len(c.Only[1]); n+m > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d tasks are in the first generation alone, %d in the second alone.", name, n, m))
		}
		if a, b := c.Scorer[0], c.Scorer[1]; a != b && a != "" && b != "" {
			notes = append(notes, fmt.Sprintf("%s: the generations were scored by other rules, %s and %s.", name, a, b))
		}
	}
	return notes
}

func z(difference, se float64) float64 {
	if difference == 0 {
		return 0
	}
	return difference / se
}

func differs(yes bool) agreement.Verdict {
	if yes {
		return agreement.Differs
	}
	return agreement.Agrees
}

var taskColumns = []column{
	benchmarkColumn, modelColumn,
	{name: "task_id", head: table.Head{Plain: "Task"}, align: table.Left},
	{name: "passes", head: table.Head{Plain: "passes"}, group: table.Head{Plain: "First"}},
	{name: "rollouts", head: table.Head{Plain: "of"}, group: table.Head{Plain: "First"}},
	{name: "second_passes", head: table.Head{Plain: "passes"}, group: table.Head{Plain: "Second"}},
	{name: "second_rollouts", head: table.Head{Plain: "of"}, group: table.Head{Plain: "Second"}},
	{name: "difference", head: table.Head{Plain: "Difference"}, format: table.Format{Decimals: 1, Scale: 100, Signed: true}, spread: "difference_se"},
	{name: "difference_se"},
	{name: "p", head: table.Head{Plain: "p", TeX: "$p$"}, format: decimals(4)},
	verdictColumn("verdict", "Verdict"),
}

// Tasks is every task of both generations.
func Tasks(comparisons []profile.Comparison) Sheet {
	var rows [][]table.Cell
	for _, c := range comparisons {
		for _, t := range c.Tasks {
			rows = append(rows, []table.Cell{table.Text(c.Benchmark), table.Text(c.Model), table.Text(t.TaskID),
				table.Integer(t.Passes[0]), table.Integer(c.TestedK[0]), table.Integer(t.Passes[1]), table.Integer(c.TestedK[1]),
				number(0 - t.Difference), number(t.SE), number(t.P), verdict(differs(t.Differs))})
		}
	}
	return newSheet(TasksTable, "Every task in both generations: rollouts that passed, the difference of the pass probabilities (second minus first, in percentage points ± standard error), "+
		"the exact two-sided p-value, and whether the task differs by Holm's procedure.", taskColumns, rows)
}
