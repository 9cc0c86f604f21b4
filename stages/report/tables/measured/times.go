package measured

import (
	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/policy"
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
	const ofPredictions = " Of ‹" + measurement.PredictionsFile + "›."
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
		model.Column{Name: "difference", Words: "Measured minus predicted, over measured: «1 − predicted/measured¦1-\\mathrm{predicted}/\\mathrm{measured}».",
			Head: head("Difference"), Format: table.Format{Decimals: 1, Percent: true, Signed: true}},
		model.Column{Name: "difference_se", Role: model.Error, Words: "The standard error of difference: error_seconds over the measured time."},
		difference)...)
	s.Add(
		model.Column{Name: "error_seconds", Role: model.Cause, Of: "measured_seconds",
			Words: "The standard error of measured minus predicted: «s·predicted/√runs¦s\\cdot\\mathrm{predicted}/\\sqrt{\\mathrm{runs}}» and predicted_sd, added in squares. s is how far single runs of HBN were from what was predicted of them, relatively: their standard deviation about the means of their rows, in all settings of the model together; there is none if no row has two runs." + ofPredictions,
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
