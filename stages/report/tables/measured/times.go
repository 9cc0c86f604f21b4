package measured

import (
	"fmt"
	"math"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Times holds measured times against those that a timing model predicts which has
// seen Uniform's alone. Of Uniform it says how well the model fits.
var Times = &model.Table{
	Base: "prediction_times", Label: "tab:prediction-times", Live: true,
	Reads:   stored.Reads{Units: []dag.Ref{stored.PredictionsRef}},
	Has:     func(s *stored.Settings) bool { return s.Live.Timed && s.Live.Predicted },
	Chapter: chapter,
	Remarks: []string{`<ref prediction_times> asks whether a timing model that has seen the runs of Uniform alone knows how long those of HBN take on the same servers.`},
	Make:    makeTimes,
}

func makeTimes(src *stored.Source) (*model.Sheet, error) {
	rows, err := src.Predictions()
	if err != nil {
		return nil, err
	}
	const ofPredictions = " Of " + measurement.PredictionsFile + "."
	seconds := head("Seconds")
	difference := func(i int) agreement.Estimate { return timeDifference(rows[i]).Estimate }
	s := &model.Sheet{Rows: len(rows), Title: "Measured times, and those that a timing model predicts which has seen the runs of Uniform alone. " +
		"±: of a measured time the standard error by the spread of its runs; of a predicted one the spread by the lengths of rollouts that Uniform did not have, one draw of which all runs share; " +
		"of the difference the standard error, by that and by how far single runs of HBN were from what was predicted of them, relatively and in all settings together. " +
		"Scale: how much slower the replicas were than the speed that was fitted to all settings, by the times of Uniform in the same repeats. " +
		"Difference: measured minus predicted, over measured; it agrees within 5%, or within 3 standard errors. Of Uniform it is how well the model fits."}
	s.Add(profileKeys(func(i int) (string, string) { return rows[i].Benchmark, rows[i].Model })...)
	s.Add(model.BudgetColumn(func(i int) int32 { return rows[i].Budget }),
		strategyKey(strategyWords, func(i int) string { return rows[i].Strategy }),
		count("runs", runsWords, head("Runs"), table.Head{}, func(i int) int { return int(rows[i].Runs) }))
	s.Add(estimated(
		model.Column{Name: "measured_seconds", Words: "The wall-clock time of a run, from the first dispatch to the last selected reward (Section 4.3): the mean over runs." + ofPredictions,
			Head: head("measured"), Group: seconds, Format: decimals(2),
			Prediction: &model.Prediction{Predicted: "predicted_seconds", Errors: []string{"error_seconds"}, Verdict: "verdict", Decimals: 2, Tolerance: timeTolerance}},
		model.Column{Name: "measured_se", Role: model.Error, Words: "The standard error of measured_seconds: the spread over runs, over the root of their number; none of a single run."},
		func(i int) agreement.Estimate {
			return agreement.Estimate{Value: rows[i].Measured, SE: rows[i].MeasuredSE}
		})...)
	s.Add(estimated(
		model.Column{Name: "predicted_seconds", Words: "What a timing model says of the same setting that was fitted to the runs of Uniform alone, on the same servers: the mean over executions under a virtual clock." + ofPredictions,
			Head: head("predicted"), Group: seconds, Format: decimals(2)},
		model.Column{Name: "predicted_sd", Role: model.Spread, Words: "The standard deviation of the executions under the virtual clock: their lengths are drawn where Uniform had no such rollout."},
		func(i int) agreement.Estimate {
			return agreement.Estimate{Value: rows[i].Predicted, SE: rows[i].PredictedSD}
		})...)
	s.Add(estimated(
		model.Column{Name: "difference", Words: "Measured minus predicted, over measured: 1 − predicted/measured.",
			Head: head("Difference"), Format: table.Format{Decimals: 1, Percent: true, Signed: true}},
		model.Column{Name: "difference_se", Role: model.Error, Words: "The standard error of difference: error_seconds over the measured time."},
		difference)...)
	s.Add(
		model.Column{Name: "error_seconds",
			Words: "The standard error of measured minus predicted: s·predicted/√runs and predicted_sd, added in squares. s is how far single runs of HBN were from what was predicted of them, relatively: their standard deviation about the means of their rows, in all settings of the model together; there is none if no row has two runs." + ofPredictions,
			Cell:  numbers(func(i int) float64 { return rows[i].DifferenceSE })},
		model.Column{Name: "scale", Words: "How much longer the times of the fitted speed are made, that those of Uniform and its equivalent come out in sum in each repeat: the mean over repeats." + ofPredictions,
			Head: head("Scale"), Format: decimals(2), Cell: numbers(func(i int) float64 { return rows[i].Scale })},
		verdictColumn("verdict", "Agreement within 5%, whatever the error; or within noise, up to 3 standard errors. Uniform's times are fitted and not judged.", head("Verdict"), table.Head{},
			func(i int) agreement.Verdict { return timeDifference(rows[i]).Verdict }))
	return s, nil
}

// timeDifference is the measured time less the predicted one, over the measured one.
// The times of Uniform, at whichever budget, are those that the model was fitted to.
func timeDifference(p measurement.Prediction) agreement.Difference {
	d := agreement.Time(p.Measured, p.Predicted, p.DifferenceSE)
	if s := policy.FindStrategy(p.Strategy); s != nil && s.Policy == policy.Uniform {
		d.Verdict = agreement.Fitted
	}
	return d
}

// timeTolerance is how far a prediction may be from a measured time, in seconds.
func timeTolerance(measured *float64) *float64 {
	if measured == nil {
		return nil
	}
	t := agreement.TimeTolerance * *measured
	return &t
}

// Orchestrator is what our own program took of the runs on servers. Runs under
// the virtual clock, which count no processor time, are left out.
//
// The claim is on timed runs, which are those under coupled rewards on real
// servers: under real rewards the program scores responses as well, and a
// simulated server answers faster than any other.
var Orchestrator = &model.Table{
	Base: "orchestrator", Label: "tab:orchestrator", Live: true,
	Reads:   stored.Reads{Units: []dag.Ref{stored.RunsRef}},
	Has:     func(s *stored.Settings) bool { return s.Live.Timed },
	Chapter: chapter,
	Remarks: []string{`<ref orchestrator> has what the program that submits the rollouts took itself, on the machine that it shares with the servers.`},
	Make:    makeOrchestrator,
}

// usage is a row: what the runs of a series took, means over them.
type usage struct {
	Series
	wall, cpu, cores, handling, gapMedian, gapP99 float64
}

func newUsage(s Series) usage {
	mean := func(of func(measurement.Run) float64) float64 {
		sum := 0.0
		for _, r := range s.Runs {
			sum += of(r)
		}
		return sum / float64(len(s.Runs))
	}
	return usage{Series: s,
		wall:      mean(func(r measurement.Run) float64 { return r.Time }),
		cpu:       mean(func(r measurement.Run) float64 { return r.CPU }),
		cores:     mean(func(r measurement.Run) float64 { return float64(r.Cores) }),
		handling:  mean(func(r measurement.Run) float64 { return r.Handling }),
		gapMedian: mean(func(r measurement.Run) float64 { return r.GapMedian }),
		gapP99:    mean(func(r measurement.Run) float64 { return r.GapP99 }),
	}
}

// share is that of all cores.
func (u usage) share() float64 { return u.cpu / u.wall / u.cores }

func (u usage) verdict() agreement.Verdict {
	if u.Rewards != measurement.Coupled || u.Provenance != measurement.Measured || math.IsNaN(u.share()) {
		return agreement.Shown
	}
	return agreement.CPU(u.share())
}

func makeOrchestrator(src *stored.Source) (*model.Sheet, error) {
	runs, err := src.Runs()
	if err != nil {
		return nil, err
	}
	var rows []usage
	for _, s := range Grouped(runs, func(r measurement.Run) bool { return r.CPU > 0 }) {
		rows = append(rows, newUsage(s))
	}
	rewards := model.NameKey(model.ByRewards, "rewards", "Whether rewards are drawn by hash with the probabilities of the profile (coupled, Section 4.3) or verdicts of scorers on the responses (scored).",
		func(i int) string { return rows[i].Rewards })
	rewards.Head = head("Rewards")
	s := &model.Sheet{Rows: len(rows), Title: "What the orchestrator itself took: wall-clock time of a run, its processor time over that, in percent of one core and of all cores of its machine, the part of the time that the router was at work, " +
		"and the time from a completion to the next submission. Means over runs. Of runs under coupled rewards on real servers the claim is less than 5% of all; " +
		"under real rewards it scores responses as well."}
	s.Add(model.NameKey(model.ByProvenance, "provenance", answeredWords, func(i int) string { return rows[i].Provenance }))
	s.Add(profileKeys(func(i int) (string, string) { return rows[i].Benchmark, rows[i].Model })...)
	s.Add(rewards, model.BudgetColumn(func(i int) int32 { return rows[i].Budget }),
		strategyKey(strategyWords, func(i int) string { return rows[i].Strategy }),
		count("runs", runsWords, head("Runs"), table.Head{}, func(i int) int { return len(rows[i].Runs) }))
	cell := func(of func(usage) float64) func(int) table.Cell {
		return numbers(func(i int) float64 { return of(rows[i]) })
	}
	cpu, gap, milliseconds := head("CPU"), head("Gap (ms)"), table.Format{Decimals: 2, Scale: 1000}
	s.Add(
		model.Column{Name: "wall_seconds", Words: "The wall-clock time of a run, the mean over runs." + ofRuns, Head: head("Seconds"), Format: decimals(2), Cell: cell(func(u usage) float64 { return u.wall })},
		model.Column{Name: "cpu_seconds", Words: "Processor time of the whole program during a run, the mean over runs; servers are other processes." + ofRuns, Cell: cell(func(u usage) float64 { return u.cpu })},
		model.Column{Name: "cores", Words: "Processor cores of the machine that the program runs on." + ofRuns, Cell: cell(func(u usage) float64 { return u.cores })},
		model.Column{Name: "core_share", Words: "cpu_seconds over wall_seconds: the share of one processor core.", Head: head("of a core"), Group: cpu, Format: percent(2), Cell: cell(func(u usage) float64 { return u.cpu / u.wall })},
		model.Column{Name: "cpu_share", Words: "core_share over cores: the program's share of the processors, which it may have in common with servers.", Head: head("of all"), Group: cpu, Format: percent(2), Cell: cell(usage.share),
			Prediction: &model.Prediction{Verdict: "verdict", Decimals: 4, Tolerance: func(*float64) *float64 { return finite(agreement.MostCPU) }}},
		model.Column{Name: "router_share", Words: "The part of the time that the router was at work, which decides and submits: its seconds over wall_seconds." + ofRuns, Head: head("Router"), Format: percent(2), Cell: cell(func(u usage) float64 { return u.handling / u.wall })},
		model.Column{Name: "gap_median_seconds", Words: "From a completion to the next submission in its place: the median of a run, the mean over runs." + ofRuns, Head: head("median"), Group: gap, Format: milliseconds, Cell: cell(func(u usage) float64 { return u.gapMedian })},
		model.Column{Name: "gap_p99_seconds", Words: "From a completion to the next submission in its place: the 99th percentile of a run, the mean over runs." + ofRuns, Head: head("99%"), Group: gap, Format: milliseconds, Cell: cell(func(u usage) float64 { return u.gapP99 })},
		verdictColumn("verdict", "Agreement if cpu_share is below 5%, of runs under coupled rewards on real servers. Others are shown.", head("Verdict"), table.Head{}, func(i int) agreement.Verdict { return rows[i].verdict() }))
	return s, nil
}

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
	secondWords = "of the second generation, report.second"
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
		{Name: "tasks_differing", Words: "How many tasks differ by Holm's procedure, under which a false alarm on any of them has a probability of 0.5% at most.",
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
			Words: "The standard error of difference if nothing has changed: √(Σ p(1−p)(1/K₁ + 1/K₂))/N, with the rates p of both together."},
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
			Words: "The standard error of difference if the pass probability is the same: √(p(1−p)(1/K₁ + 1/K₂)), with the rate p of both together."},
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
