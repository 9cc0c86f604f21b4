package measured

import (
	"fmt"

	"speceval/internal/agreement"
	"speceval/internal/profile"
	"speceval/internal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Profile holds profiles of a second generation against the first, a row each.
var Profile = &model.Table{
	Base: "prediction_profile", Label: "tab:prediction-profile", Live: true,
	Reads: secondReads, Has: hasSecond, Chapter: chapter,
	Remarks: []string{`<ref prediction_profile> asks whether a second, independent generation finds the same pass probabilities.`},
	Make:    makeProfile,
}

// Tasks is every task of both generations.
var Tasks = &model.Table{
	Base: "prediction_tasks", Label: "tab:prediction-tasks",
	Reads: secondReads, Has: hasSecond, Chapter: chapter, Make: makeTasks,
}

var secondReads = stored.Reads{Profiles: true, Second: true}

func hasSecond(s *stored.Settings) bool { return s.Live.Second != nil }

var pHead = table.Head{Plain: "p", TeX: "$p$"}

// Words on the two generations, and on their tests.
const (
	firstWords  = "of the first generation"
	secondWords = "of the second generation, ‹report.second›"
	fisherWords = "twice the smaller tail of the hypergeometric distribution of the passes, given those of both (Fisher's exact test), 1 at most"
)

// comparisons are the profiles that both generations have, held against each other
// at the level agreement.FalseAlarms, with a note where there is no second one.
func comparisons(src *stored.Source) (all []profile.Comparison, notes []string, err error) {
	first, err := src.Profiles()
	if err != nil {
		return nil, nil, err
	}
	second := src.Live.Second
	if second == nil {
		return nil, nil, nil
	}
	for _, a := range first {
		for _, b := range second.Profiles {
			if a.Name() == b.Name() {
				all = append(all, profile.Compare(a, b, agreement.FalseAlarms))
			}
		}
	}
	if len(second.Profiles) == 0 {
		notes = append(notes, fmt.Sprintf("There is no second generation: %s does not exist. Sample one with another experiment.seed and another output folder (`speceval run score --set experiment.seed=… --out …`), then run `speceval tables`.", second.Path))
	}
	return all, notes, nil
}

// unlike says where two generations are not of the same tasks or scorer.
func unlike(all []profile.Comparison) (notes []string) {
	for _, c := range all {
		name := model.ProfileName(c.Benchmark, c.Model)
		if n, m := len(c.Only[0]), len(c.Only[1]); n+m > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d tasks are in the first generation alone, %d in the second alone.", name, n, m))
		}
		if a, b := c.Scorer[0], c.Scorer[1]; a != b && a != "" && b != "" {
			notes = append(notes, fmt.Sprintf("%s: the generations were scored by other rules, %s and %s.", name, a, b))
		}
	}
	return notes
}

func makeProfile(src *stored.Source) (*model.Sheet, error) {
	rows, notes, err := comparisons(src)
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{Rows: len(rows), Title: "A second, independent generation against the first. Tasks: exact tests of two binomial proportions (Fisher), how many have p ≤ 1% by themselves, " +
		"and how many differ by Holm's procedure. Mean: pass probability over the tasks, and the exact p-value of the difference, in percentage points ± standard error. " +
		"If nothing has changed, a verdict other than agreement has a probability of at most 1% for a whole row, half of it for the tasks and half for the mean.", Notes: append(unlike(rows), notes...)}
	s.Add(profileKeys(func(i int) (string, string) { return rows[i].Benchmark, rows[i].Model })...)
	s.Add(testColumns(rows)...)
	s.Add(meanColumns(rows)...)
	return s, nil
}

// testColumns are the tests of the tasks.
func testColumns(rows []profile.Comparison) []model.Column {
	tasks, rollouts := head("Tasks"), head("Rollouts")
	n := model.CountKey(model.ByTasks, "n_tasks", "How many tasks both generations have.", func(i int) int32 { return int32(len(rows[i].Tasks)) })
	n.Head, n.Group = head("all"), tasks
	none := 0.0
	return []model.Column{n,
		count("rollouts", "The rollouts of each task "+firstWords+".", head("first"), rollouts, func(i int) int { return rows[i].TestedK[0] }),
		count("second_rollouts", "The rollouts of each task "+secondWords+".", head("second"), rollouts, func(i int) int { return rows[i].TestedK[1] }),
		count("tasks_below", "On how many tasks the p-value is 1% or less by itself, of which chance gives 1% at most.", table.Head{Plain: "p ≤ 1%", TeX: `$p\le1\%$`}, tasks, func(i int) (below int) {
			for _, t := range rows[i].Tasks {
				if t.P <= agreement.FalseAlarms {
					below++
				}
			}
			return below
		}),
		{Name: "tasks_differing", Role: model.Count, Words: "How many tasks differ by Holm's procedure, under which a false alarm on any of them has a probability of 0.5% at most.",
			Head: head("differing"), Group: tasks, Cell: model.Counts(func(i int) int { return rows[i].Differing() }),
			Prediction: &model.Prediction{Bound: &none, Verdict: "tasks_verdict"}},
		{Name: "smallest_p", Words: "The smallest p-value of the tasks: " + fisherWords + ".", Head: table.Head{Plain: "least p", TeX: "least $p$"}, Group: tasks, Format: decimals(4),
			Cell: numbers(func(i int) float64 {
				least := 1.0
				for _, t := range rows[i].Tasks {
					least = min(least, t.P)
				}
				return least
			})},
		verdictColumn("tasks_verdict", "Agreement if no task differs.", head("Verdict"), table.Head{}, func(i int) agreement.Verdict { return differs(rows[i].Differing() > 0) }),
	}
}

// meanColumns are the means of the profiles, and their test.
func meanColumns(rows []profile.Comparison) []model.Column {
	group := head("Mean")
	difference := func(i int) agreement.Estimate { return agreement.Estimate{Value: 0 - rows[i].Bias, SE: rows[i].SE} }
	all := []model.Column{
		{Name: "mean", Words: "The mean pass probability " + firstWords + ".", Head: head("first"), Group: group, Format: percent(2),
			Cell: numbers(func(i int) float64 { return rows[i].Mean[0] })},
		{Name: "second_mean", Words: "The mean pass probability " + secondWords + ".", Head: head("second"), Group: group, Format: percent(2),
			Cell:       numbers(func(i int) float64 { return rows[i].Mean[1] }),
			Prediction: &model.Prediction{Predicted: "mean", Errors: []string{"difference_se"}, Z: "z", Verdict: "mean_verdict", Decimals: 4}},
	}
	all = append(all, estimated(
		model.Column{Name: "difference", Words: "The mean of the second generation minus that of the first.",
			Head: head("difference"), Group: group, Format: table.Format{Decimals: 2, Scale: 100, Signed: true}},
		model.Column{Name: "difference_se", Role: model.Error,
			Words: "The standard error of difference if nothing has changed: «√(Σ p(1−p)(1/K₁ + 1/K₂))/N¦(\\sum_i p_i(1-p_i)(1/K_1+1/K_2))^{1/2}/N», with the rates «p» of both together."},
		difference)...)
	return append(all,
		model.Column{Name: "z", Words: "The difference in standard errors.", Cell: numbers(func(i int) float64 {
			if d := difference(i); d.Value != 0 {
				return d.Value / d.SE
			}
			return 0
		})},
		model.Column{Name: "p", Words: "The p-value of the passes of all tasks together: the sum of the hypergeometric distributions of the tasks, exactly or, where it is as good as normal, by the normal law.",
			Head: pHead, Group: group, Format: decimals(3), Cell: numbers(func(i int) float64 { return rows[i].P })},
		verdictColumn("mean_verdict", "Agreement if p is above 0.5%, the rate of its false alarms.", head("verdict"), group, func(i int) agreement.Verdict { return differs(rows[i].Biased) }))
}

func differs(yes bool) agreement.Verdict {
	if yes {
		return agreement.Differs
	}
	return agreement.Agrees
}

// taskRow is a task of a profile that both generations have.
type taskRow struct {
	*profile.Comparison
	task profile.TaskDifference
}

func makeTasks(src *stored.Source) (*model.Sheet, error) {
	all, notes, err := comparisons(src)
	if err != nil {
		return nil, err
	}
	var rows []taskRow
	for i := range all {
		for _, t := range all[i].Tasks {
			rows = append(rows, taskRow{&all[i], t})
		}
	}
	first, second, passes, of := head("First"), head("Second"), head("passes"), head("of")
	task := model.NameKey(model.ByTask, "task_id", "The task.", func(i int) string { return rows[i].task.TaskID })
	task.Head = head("Task")
	s := &model.Sheet{Rows: len(rows), Title: "Every task in both generations: rollouts that passed, the difference of the pass probabilities (second minus first, in percentage points ± standard error), " +
		"the exact two-sided p-value, and whether the task differs by Holm's procedure.", Notes: notes}
	s.Add(profileKeys(func(i int) (string, string) { return rows[i].Benchmark, rows[i].Model })...)
	s.Add(task,
		count("passes", "Rollouts that passed "+firstWords+".", passes, first, func(i int) int { return rows[i].task.Passes[0] }),
		count("rollouts", "Rollouts of the task "+firstWords+".", of, first, func(i int) int { return rows[i].task.Rollouts[0] }),
		count("second_passes", "Rollouts that passed "+secondWords+".", passes, second, func(i int) int { return rows[i].task.Passes[1] }),
		count("second_rollouts", "Rollouts of the task "+secondWords+".", of, second, func(i int) int { return rows[i].task.Rollouts[1] }))
	s.Add(estimated(
		model.Column{Name: "difference", Words: "The pass rate of the second generation minus that of the first.",
			Head: head("Difference"), Format: table.Format{Decimals: 1, Scale: 100, Signed: true}},
		model.Column{Name: "difference_se", Role: model.Error,
			Words: "The standard error of difference if the pass probability is the same: «√(p(1−p)(1/K₁ + 1/K₂))¦(p(1-p)(1/K_1+1/K_2))^{1/2}», with the rate «p» of both together."},
		func(i int) agreement.Estimate {
			return agreement.Estimate{Value: 0 - rows[i].task.Difference, SE: rows[i].task.SE}
		})...)
	s.Add(
		model.Column{Name: "p", Words: "The p-value of the task: " + fisherWords + ".", Head: pHead, Format: decimals(4),
			Cell: numbers(func(i int) float64 { return rows[i].task.P })},
		verdictColumn("verdict", "Whether the task differs by Holm's procedure over all tasks of the profile.", head("Verdict"), table.Head{},
			func(i int) agreement.Verdict { return differs(rows[i].task.Differs) }))
	return s, nil
}
