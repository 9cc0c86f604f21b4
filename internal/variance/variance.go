// Package variance holds what the replay stage finds out: ex-ante designs and
// Uniform-normalized variance ratios, with the Parquet form in which the
// later stages read them. Stages meet in these files, never in each other.
package variance

// Policies, as named in designs.parquet, ratios.parquet and the tables.
const (
	Oracle   = "oracle"
	TunedEN  = "tuned_en"
	TunedIBN = "tuned_ibn"
	HBN      = "hbn"
	TSNeyman = "ts_neyman"
)

// Files of the output folder, with the rows that they hold.
const (
	DesignsFile    = "replay/designs.parquet"        // Design
	RatiosFile     = "replay/ratios.parquet"         // Ratio
	CandidatesFile = "replay/ibn_candidates.parquet" // Ratio, of every prior strength of IBN
)

// Design is one candidate of an ex-ante design: a pilot size with its optimal
// stage weight and the risk that they give (paper, Eqs. 11 and 12).
type Design struct {
	Policy string   `parquet:"policy"`
	NTasks int32    `parquet:"n_tasks"`
	Budget int32    `parquet:"budget"` // rollouts per task
	Alpha  *float64 `parquet:"alpha"`  // IBN's prior strength; null for the others
	M      int32    `parquet:"m"`      // pilot rollouts per task
	W      float64  `parquet:"w"`      // stage weight of the pilot, b·w/m = risk

	Risk   float64 `parquet:"risk"`    // relative to Uniform, 1 = no gain
	RiskSE float64 `parquet:"risk_se"` // Monte Carlo standard error of Risk

	Selected bool `parquet:"selected"` // least risk of its policy, n_tasks, budget and alpha

	// Gap is Risk minus the selected candidate's, and GapSE its Monte Carlo
	// standard error; common random numbers make it far smaller than RiskSE.
	Gap   float64 `parquet:"gap"`
	GapSE float64 `parquet:"gap_se"`
}

// Ratio is the Uniform-normalized variance of one policy on one profile at one
// budget (paper, Eq. 9 over the variance of Uniform).
type Ratio struct {
	Benchmark string   `parquet:"benchmark"`
	Model     string   `parquet:"model"`
	NTasks    int32    `parquet:"n_tasks"`
	Budget    int32    `parquet:"budget"` // rollouts per task
	Policy    string   `parquet:"policy"`
	Alpha     *float64 `parquet:"alpha"` // prior strength; null where there is none
	M         *int32   `parquet:"m"`     // pilot rollouts per task; null for the Oracle
	W         *float64 `parquet:"w"`     // stage weight of the pilot; null for the Oracle

	VarianceRatio float64 `parquet:"variance_ratio"` // 1 = as Uniform
	RatioSE       float64 `parquet:"ratio_se"`       // Monte Carlo standard error given (m, w); 0 when analytic
	Draws         int32   `parquet:"draws"`          // pilot vectors replayed; 0 when analytic
}
