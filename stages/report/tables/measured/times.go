package measured

import (
	"speceval/internal/policy"
	"speceval/internal/results/agreement"
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
	Words: strategyWords + `
runs               How many runs the row is of.
measured_seconds   The wall-clock time of a run, from the first dispatch to the last selected reward (Section 4.3): the mean over runs. Of systems/predictions.parquet.
measured_se        The standard error of measured_seconds: the spread over runs, over the root of their number; none of a single run.
predicted_seconds  What a timing model says of the same setting that was fitted to the runs of Uniform alone, on the same servers: the mean over executions under a virtual clock. Of
                   systems/predictions.parquet.
predicted_sd       The standard deviation of the executions under the virtual clock: their lengths are drawn where Uniform had no such rollout.
difference         Measured minus predicted, over measured: 1 − predicted/measured.
difference_se      The standard error of difference: error_seconds over the measured time.
error_seconds      The standard error of measured minus predicted: s·predicted/√runs and predicted_sd, added in squares. s is how far single runs of HBN were from what was predicted of them,
                   relatively: their standard deviation about the means of their rows, in all settings of the model together; there is none if no row has two runs. Of
                   systems/predictions.parquet.
scale              How much longer the times of the fitted speed are made, that those of Uniform and its equivalent come out in sum in each repeat: the mean over repeats. Of
                   systems/predictions.parquet.
verdict            Agreement within 5%, whatever the error; or within noise, up to 3 standard errors. Uniform's times are fitted and not judged.
`,
}

type timeRow struct {
	profileKeys
	Budget       int32             `csv:"budget" head:"b|$b$"`
	Strategy     strategy          `csv:"strategy" head:"Strategy" align:"left"`
	Runs         int32             `csv:"runs" head:"Runs"`
	Measured     float64           `csv:"measured_seconds" head:"measured" group:"Seconds" format:".2±" missing:"NaN"`
	MeasuredSE   float64           `csv:"measured_se" of:"measured_seconds" missing:"NaN"`
	Predicted    float64           `csv:"predicted_seconds" head:"predicted" group:"Seconds" format:".2±" missing:"NaN"`
	PredictedSD  float64           `csv:"predicted_sd" of:"predicted_seconds" missing:"NaN"`
	Difference   float64           `csv:"difference" head:"Difference" format:"+.1%±" missing:"NaN"`
	DifferenceSE float64           `csv:"difference_se" missing:"NaN"`
	Error        float64           `csv:"error_seconds" missing:"NaN"`
	Scale        float64           `csv:"scale" head:"Scale" format:".2" missing:"NaN"`
	Verdict      agreement.Verdict `csv:"verdict" head:"Verdict" align:"left"`

	claim agreement.Comparison
}

func makeTimes(src *stored.Source) (*model.Sheet, error) {
	all, err := stored.Predictions(src)
	if err != nil {
		return nil, err
	}
	var rows []timeRow
	for _, p := range all {
		c := agreement.Time(p.Measured, p.Predicted, p.DifferenceSE)
		if s := policy.FindStrategy(p.Strategy); s != nil && s.Policy == policy.Uniform {
			c.Verdict = agreement.Fitted // at whichever budget
		}
		rows = append(rows, timeRow{
			profileKeys: profileKeys{p.Benchmark, model.Checkpoint(p.Model)}, Budget: p.Budget, Strategy: strategy(p.Strategy), Runs: p.Runs,
			Measured: p.Measured, MeasuredSE: p.MeasuredSE, Predicted: p.Predicted, PredictedSD: p.PredictedSD,
			Difference: (p.Measured - p.Predicted) / p.Measured, DifferenceSE: p.DifferenceSE / p.Measured, Error: p.DifferenceSE, Scale: p.Scale,
			Verdict: c.Verdict, claim: c,
		})
	}
	s := model.NewSheet("Measured times, and those that a timing model predicts which has seen the runs of Uniform alone. "+
		"±: of a measured time the standard error by the spread of its runs; of a predicted one the spread by the lengths of rollouts that Uniform did not have, one draw of which all runs share; "+
		"of the difference the standard error, by that and by how far single runs of HBN were from what was predicted of them, relatively and in all settings together. "+
		"Scale: how much slower the replicas were than the speed that was fitted to all settings, by the times of Uniform in the same repeats. "+
		"Difference: measured minus predicted, over measured; it agrees within 5%, or within 3 standard errors. Of Uniform it is how well the model fits.", rows)
	s.Column("measured_seconds").Claim = func(i int) agreement.Comparison { return rows[i].claim }
	return s, nil
}
