package measured

// Comparison says which columns of a table are held against each other, and where
// the verdict stands.
type Comparison struct {
	Table     string
	Column    string   // what was measured
	Predicted string   // the column of what was predicted; empty where Bound says it
	Bound     *float64 // what is expected of every row, or not to be reached
	Errors    []string // columns of the independent errors of the difference
	Z         string   // the column of the difference in standard errors; may be empty
	Verdict   string
	Decimals  int // with which the numbers are told
}

// Comparisons are those of all tables, in the order of the report.
func Comparisons() []Comparison {
	none := 0.0
	return []Comparison{
		{Table: TimesTable, Column: "measured_seconds", Predicted: "predicted_seconds", Errors: []string{"error_seconds"}, Verdict: "verdict", Decimals: 2},
		{Table: VarianceTable, Column: "ratio", Predicted: "replayed", Errors: []string{"ratio_se", "replayed_se"}, Z: "z", Verdict: "verdict", Decimals: 3},
		{Table: VarianceTable, Column: "mean", Predicted: "profile_mean", Errors: []string{"bias_se"}, Z: "bias_z", Verdict: "bias_verdict", Decimals: 4},
		{Table: ProfileTable, Column: "tasks_differing", Bound: &none, Verdict: "tasks_verdict"},
		{Table: ProfileTable, Column: "second_mean", Predicted: "mean", Errors: []string{"difference_se"}, Z: "z", Verdict: "mean_verdict", Decimals: 4},
		{Table: OrchestratorTable, Column: "cpu_share", Verdict: "verdict", Decimals: 4},
	}
}
