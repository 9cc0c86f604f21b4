package measured

import (
	"fmt"
	"math"

	"speceval/internal/agreement"
	"speceval/internal/profile"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Profile holds profiles of a second generation against the first, a row each.
var Profile = &model.Table{
	Base: "prediction_profile", Label: "tab:prediction-profile", Live: true,
	Reads: secondReads, Has: hasSecond, Chapter: chapter,
	Remarks: []string{`<ref prediction_profile> asks whether a second, independent generation finds the same pass probabilities.`},
	Make:    makeProfile,
	Words: `
n_tasks          How many tasks both generations have.
rollouts         The rollouts of each task of the first generation.
second_rollouts  The rollouts of each task of the second generation, report.second.
tasks_below      On how many tasks the p-value is 1% or less by itself, of which chance gives 1% at most.
tasks_differing  How many tasks differ by Holm's procedure, under which a false alarm on any of them has a probability of 0.5% at most.
smallest_p       The smallest p-value of the tasks: twice the smaller tail of the hypergeometric distribution of the passes, given those of both (Fisher's exact test), 1 at most.
tasks_verdict    Agreement if no task differs.
mean             The mean pass probability of the first generation.
second_mean      The mean pass probability of the second generation, report.second.
difference       The mean of the second generation minus that of the first.
difference_se    The standard error of difference if nothing has changed: √(Σ p(1−p)(1/K₁ + 1/K₂))/N, with the rates p of both together.
z                The difference in standard errors.
p                The p-value of the passes of all tasks together: the sum of the hypergeometric distributions of the tasks, exactly or, where it is as good as normal, by the normal law.
mean_verdict     Agreement if p is above 0.5%, the rate of its false alarms.
`,
}

// Tasks is every task of both generations.
var Tasks = &model.Table{
	Base: "prediction_tasks", Label: "tab:prediction-tasks",
	Reads: secondReads, Has: hasSecond, Chapter: chapter, Make: makeTasks,
	Words: `
task_id          The task.
passes           Rollouts that passed of the first generation.
rollouts         Rollouts of the task of the first generation.
second_passes    Rollouts that passed of the second generation, report.second.
second_rollouts  Rollouts of the task of the second generation, report.second.
difference       The pass rate of the second generation minus that of the first.
difference_se    The standard error of difference if the pass probability is the same: √(p(1−p)(1/K₁ + 1/K₂)), with the rate p of both together.
p                The p-value of the task: twice the smaller tail of the hypergeometric distribution of the passes, given those of both (Fisher's exact test), 1 at most.
verdict          Whether the task differs by Holm's procedure over all tasks of the profile.
`,
}

type profileRow struct {
	profileKeys
	NTasks         int               `csv:"n_tasks" head:"all" group:"Tasks"`
	Rollouts       int               `csv:"rollouts" head:"first" group:"Rollouts"`
	SecondRollouts int               `csv:"second_rollouts" head:"second" group:"Rollouts"`
	Below          int               `csv:"tasks_below" head:"p ≤ 1%|$p\\le1\\%$" group:"Tasks"`
	Differing      int               `csv:"tasks_differing" head:"differing" group:"Tasks"`
	SmallestP      model.Maybe       `csv:"smallest_p" head:"least p|least $p$" group:"Tasks" format:".4"`
	TasksVerdict   agreement.Verdict `csv:"tasks_verdict" head:"Verdict" align:"left"`
	Mean           model.Maybe       `csv:"mean" head:"first" group:"Mean" format:".2%"`
	SecondMean     model.Maybe       `csv:"second_mean" head:"second" group:"Mean" format:".2%"`
	Difference     model.Maybe       `csv:"difference" head:"difference" group:"Mean" format:"+.2pt±"`
	DifferenceSE   model.Maybe       `csv:"difference_se"`
	Z              model.Maybe       `csv:"z"`
	P              model.Maybe       `csv:"p" head:"p|$p$" group:"Mean" format:".3"`
	MeanVerdict    agreement.Verdict `csv:"mean_verdict" head:"verdict" group:"Mean" align:"left"`
}

type taskRow struct {
	profileKeys
	Task           string            `csv:"task_id" head:"Task" align:"left"`
	Passes         int               `csv:"passes" head:"passes" group:"First"`
	Rollouts       int               `csv:"rollouts" head:"of" group:"First"`
	SecondPasses   int               `csv:"second_passes" head:"passes" group:"Second"`
	SecondRollouts int               `csv:"second_rollouts" head:"of" group:"Second"`
	Difference     model.Maybe       `csv:"difference" head:"Difference" format:"+.1pt±"`
	DifferenceSE   model.Maybe       `csv:"difference_se"`
	P              model.Maybe       `csv:"p" head:"p|$p$" format:".4"`
	Verdict        agreement.Verdict `csv:"verdict" head:"Verdict" align:"left"`
}

var secondReads = stored.Reads{Profiles: true, Second: true}

func hasSecond(s *stored.Settings) bool { return s.Live.Second != nil }

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

func makeProfile(src *stored.Source) (*model.Sheet, error) {
	all, notes, err := comparisons(src)
	if err != nil {
		return nil, err
	}
	var rows []profileRow
	var unlike []string
	for _, c := range all {
		name := model.ProfileName(c.Benchmark, c.Model)
		if n, m := len(c.Only[0]), len(c.Only[1]); n+m > 0 {
			unlike = append(unlike, fmt.Sprintf("%s: %d tasks are in the first generation alone, %d in the second alone.", name, n, m))
		}
		if a, b := c.Scorer[0], c.Scorer[1]; a != b && a != "" && b != "" {
			unlike = append(unlike, fmt.Sprintf("%s: the generations were scored by other rules, %s and %s.", name, a, b))
		}
		row := profileRow{
			profileKeys: profileKeys{c.Benchmark, model.Checkpoint(c.Model)}, NTasks: len(c.Tasks), Rollouts: c.TestedK[0], SecondRollouts: c.TestedK[1],
			Differing: c.Differing(), SmallestP: 1, TasksVerdict: differs(c.Differing() > 0),
			Mean: model.Maybe(c.Mean[0]), SecondMean: model.Maybe(c.Mean[1]), Difference: model.Maybe(0 - c.Bias), DifferenceSE: model.Maybe(c.SE),
			P: model.Maybe(c.P), MeanVerdict: differs(c.Biased),
		}
		if row.Difference != 0 {
			row.Z = row.Difference / row.DifferenceSE
		}
		for _, t := range c.Tasks {
			row.SmallestP = min(row.SmallestP, model.Maybe(t.P))
			if t.P <= agreement.FalseAlarms {
				row.Below++
			}
		}
		rows = append(rows, row)
	}
	s := model.NewSheet("A second, independent generation against the first. Tasks: exact tests of two binomial proportions (Fisher), how many have p ≤ 1% by themselves, "+
		"and how many differ by Holm's procedure. Mean: pass probability over the tasks, and the exact p-value of the difference, in percentage points ± standard error. "+
		"If nothing has changed, a verdict other than agreement has a probability of at most 1% for a whole row, half of it for the tasks and half for the mean.", rows)
	s.Notes = append(unlike, notes...)
	s.Claims = []model.Claim{
		{Column: "tasks_differing", Of: func(i int) agreement.Comparison {
			return agreement.Against(rows[i].TasksVerdict, float64(rows[i].Differing), 0, 0, math.NaN())
		}},
		{Column: "second_mean", Decimals: 4, Of: func(i int) agreement.Comparison {
			r := rows[i]
			return agreement.Against(r.MeanVerdict, r.SecondMean.Float(), r.Mean.Float(), r.DifferenceSE.Float(), r.Z.Float())
		}},
	}
	return s, nil
}

func differs(yes bool) agreement.Verdict {
	if yes {
		return agreement.Differs
	}
	return agreement.Agrees
}

func makeTasks(src *stored.Source) (*model.Sheet, error) {
	all, notes, err := comparisons(src)
	if err != nil {
		return nil, err
	}
	var rows []taskRow
	for _, c := range all {
		for _, t := range c.Tasks {
			rows = append(rows, taskRow{
				profileKeys{c.Benchmark, model.Checkpoint(c.Model)}, t.TaskID, t.Passes[0], t.Rollouts[0], t.Passes[1], t.Rollouts[1],
				model.Maybe(0 - t.Difference), model.Maybe(t.SE), model.Maybe(t.P), differs(t.Differs),
			})
		}
	}
	s := model.NewSheet("Every task in both generations: rollouts that passed, the difference of the pass probabilities (second minus first, in percentage points ± standard error), "+
		"the exact two-sided p-value, and whether the task differs by Holm's procedure.", rows)
	s.Notes = notes
	return s, nil
}
