package measured

import (
	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/table"
)

// TimesTable is the base name of the table of times.
const TimesTable = "prediction_times"

var timeColumns = []column{
	benchmarkColumn, modelColumn, budgetColumn, strategyColumn, runsColumn,
	{name: "measured_seconds", head: table.Head{Plain: "measured"}, group: table.Head{Plain: "Seconds"}, format: decimals(2), spread: "measured_se"},
	{name: "measured_se"},
	{name: "predicted_seconds", head: table.Head{Plain: "predicted"}, group: table.Head{Plain: "Seconds"}, format: decimals(2), spread: "predicted_sd"},
	{name: "predicted_sd"},
	{name: "difference", head: table.Head{Plain: "Difference"}, format: table.Format{Decimals: 1, Percent: true, Signed: true}, spread: "difference_se"},
	{name: "difference_se"},
	{name: "error_seconds"},
	{name: "scale", head: table.Head{Plain: "Scale"}, format: decimals(2)},
	verdictColumn("verdict", "Verdict"),
}

// Times sets measured times beside those that a timing model predicts which has
// seen Uniform's alone. Of Uniform the table says how well the model fits.
func Times(predictions []measurement.Prediction) Sheet {
	var rows [][]table.Cell
	for _, p := range predictions {
		d := agreement.Time(p.Measured, p.Predicted, p.DifferenceSE)
		if p.Strategy == measurement.Uniform || p.Strategy == measurement.UniformEquivalent {
			d.Verdict = agreement.Fitted
		}
		rows = append(rows, []table.Cell{table.Text(p.Benchmark), table.Text(p.Model), table.Integer(p.Budget), table.Text(p.Strategy), table.Integer(p.Runs),
			number(p.Measured), number(p.MeasuredSE), number(p.Predicted), number(p.PredictedSD), number(d.Value), number(d.SE), number(p.DifferenceSE), number(p.Scale), verdict(d.Verdict)})
	}
	return newSheet(TimesTable, "Measured times, and those that a timing model predicts which has seen the runs of Uniform alone. "+
		"±: of a measured time the standard error by the spread of its runs; of a predicted one the spread by the lengths of rollouts that Uniform did not have, one draw of which all runs share; "+
		"of the difference the standard error, by that and by how far single runs of HBN were from what was predicted of them, relatively and in all settings together. "+
		"Scale: how much slower the replicas were than the speed that was fitted to all settings, by the times of Uniform in the same repeats. "+
		"Difference: measured minus predicted, over measured; it agrees within 5%, or within 3 standard errors. Of Uniform it is how well the model fits.", timeColumns, rows)
}
