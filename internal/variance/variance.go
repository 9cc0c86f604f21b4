// Package variance holds what the replay stage finds out: ex-ante designs,
// Uniform-normalized variance ratios with their differences and errors, and the
// search for TS-Neyman, in the Parquet form in which later stages read them.
// Stages meet in these files, never in each other.
package variance

import "speceval/internal/policy"

// Names of policies, for readers that know one by its name alone.
var (
	Oracle   = policy.Oracle.Name
	TunedEN  = policy.EN.Name
	TunedIBN = policy.IBN.Name
	HBN      = policy.HBN.Name
	TSNeyman = policy.TS.Name
	Uniform  = policy.Uniform.Name
)

// Files of the output folder, with the rows that they hold.
const (
	DesignsFile     = "replay/designs.parquet"        // Design
	TwoStageFile    = "replay/two_stage.parquet"      // Ratio, of all policies but sequential ones
	RatiosFile      = "replay/ratios.parquet"         // Ratio, of all policies
	CandidatesFile  = "replay/ibn_candidates.parquet" // Ratio, of every prior strength of those in two stages
	SearchFile      = "replay/ts_candidates.parquet"  // Search
	DifferencesFile = "replay/differences.parquet"    // Difference
	ErrorsFile      = "replay/profile_errors.parquet" // ProfileError
	EstimatesFile   = "replay/case_study.parquet"     // Estimates
)

// Design is one candidate of an ex-ante design: a pilot size with its optimal
// stage weight and the risk that they give (paper, Eqs. 11 and 12).
type Design struct {
	Policy string   `parquet:"policy"`
	NTasks int32    `parquet:"n_tasks"`
	Budget int32    `parquet:"budget"` // rollouts per task
	Alpha  *float64 `parquet:"alpha"`  // prior strength; null where there is none
	M      int32    `parquet:"m"`      // pilot rollouts per task
	W      float64  `parquet:"w"`      // stage weight of the pilot, b·w/m = risk

	Risk   float64 `parquet:"risk"`    // relative to Uniform, 1 = no gain
	RiskSE float64 `parquet:"risk_se"` // Monte Carlo standard error of Risk

	Selected bool `parquet:"selected"` // least risk of its policy, n_tasks, budget and alpha

	// Gap is Risk minus the selected candidate's, and GapSE its Monte Carlo
	// standard error; common random numbers make it far smaller than RiskSE.
	Gap   float64 `parquet:"gap"`
	GapSE float64 `parquet:"gap_se"`

	Donors string `parquet:"donors"` // what the policy knows beforehand, by name; "none" for nothing

	// Fractions are the shares of what is left that each further stage executes,
	// separated by spaces; null for a policy in two stages.
	Fractions *string `parquet:"fractions"`

	// The profile that the design is for; null where it is for any of as many tasks. A
	// policy with donors has one for each profile, by what is known of its tasks.
	Benchmark *string `parquet:"benchmark"`
	Model     *string `parquet:"model"`
}

// For reports whether a design is for a profile of as many tasks.
func (d Design) For(benchmark, model string) bool {
	return d.Benchmark == nil || *d.Benchmark == benchmark && *d.Model == model
}

// Ratio is the Uniform-normalized variance of one policy on one profile at one
// budget (paper, Eq. 9 over the variance of Uniform).
type Ratio struct {
	Benchmark string   `parquet:"benchmark"`
	Model     string   `parquet:"model"`
	NTasks    int32    `parquet:"n_tasks"`
	Budget    int32    `parquet:"budget"` // rollouts per task
	Policy    string   `parquet:"policy"`
	Donors    string   `parquet:"donors"` // what the policy knows beforehand, by name; "none" for nothing
	Alpha     *float64 `parquet:"alpha"`  // prior strength; null where there is none
	M         *int32   `parquet:"m"`      // pilot rollouts per task; null for the Oracle
	W         *float64 `parquet:"w"`      // stage weight of the pilot; null where tasks have no single one

	VarianceRatio float64 `parquet:"variance_ratio"` // 1 = as Uniform
	RatioSE       float64 `parquet:"ratio_se"`       // Monte Carlo standard error given (m, w); 0 when analytic
	Draws         int32   `parquet:"draws"`          // pilot vectors replayed; 0 when analytic
}

// Difference is by how much another policy's ratio on a profile is above HBN's,
// from the draws that both share.
type Difference struct {
	Benchmark string   `parquet:"benchmark"`
	Model     string   `parquet:"model"`
	NTasks    int32    `parquet:"n_tasks"`
	Budget    int32    `parquet:"budget"`
	Policy    string   `parquet:"policy"` // the other one
	Donors    string   `parquet:"donors"` // what it knows beforehand
	Alpha     *float64 `parquet:"alpha"`  // its prior strength; null where there is none

	Difference   float64 `parquet:"difference"`    // its variance ratio minus HBN's
	DifferenceSE float64 `parquet:"difference_se"` // Monte Carlo standard error, given both designs
	Draws        int32   `parquet:"draws"`         // pilot vectors that both were replayed on
}

// ProfileError is the error of a ratio that comes from its profile: the pass
// probabilities are estimates, of so many rollouts each.
type ProfileError struct {
	Benchmark string   `parquet:"benchmark"`
	Model     string   `parquet:"model"`
	NTasks    int32    `parquet:"n_tasks"`
	Budget    int32    `parquet:"budget"`
	Policy    string   `parquet:"policy"`
	Donors    string   `parquet:"donors"` // what it knows beforehand
	Alpha     *float64 `parquet:"alpha"`

	// ProfileSE is the standard deviation of the ratio over profiles redrawn by
	// the binomial law of their pass counts, under the same designs, less what the
	// replay's Monte Carlo error adds to it: the square is unbiased, but 0 where
	// it came out negative, which is too small to be told from the draws. Shift is
	// by how much the mean ratio of redrawn profiles exceeds the profile's.
	ProfileSE float64 `parquet:"profile_se"`
	Shift     float64 `parquet:"shift"`
	ShiftSE   float64 `parquet:"shift_se"`
	Resamples int32   `parquet:"resamples"` // profiles redrawn
	Draws     int32   `parquet:"draws"`     // pilot vectors of each; 0 when analytic
}

// Estimates is a bin of the sampling distribution of the estimated benchmark
// mean, over simulated evaluations of one profile.
type Estimates struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	Budget    int32  `parquet:"budget"`
	Policy    string `parquet:"policy"` // of policy.CaseStudy

	Low   float64 `parquet:"low"` // the bin is [Low, High), of estimates of the mean
	High  float64 `parquet:"high"`
	Count int64   `parquet:"count"` // evaluations in it

	// The same for all bins of a policy: what they are evaluations of.
	Repetitions int64   `parquet:"repetitions"`
	Truth       float64 `parquet:"truth"` // the benchmark mean
	Mean        float64 `parquet:"mean"`  // of the estimates
	MeanSE      float64 `parquet:"mean_se"`
	SD          float64 `parquet:"sd"`          // of the estimates
	Expected    float64 `parquet:"expected_sd"` // by the variance formula, Eqs. 1 and 9
}

// Search is a candidate of the search for TS-Neyman: the mean over profiles of
// its Uniform-normalized MSE at one budget (paper, Appendix C.3).
type Search struct {
	Budget int32   `parquet:"budget"`
	Alpha  float64 `parquet:"alpha"` // prior strength
	M0     int32   `parquet:"m0"`    // warm start, rollouts per task

	MSE      float64 `parquet:"mse"`    // with the control variate
	MSESE    float64 `parquet:"mse_se"` // Monte Carlo standard error
	Raw      float64 `parquet:"raw"`    // the plain mean of squared errors
	RawSE    float64 `parquet:"raw_se"`
	RawSD    float64 `parquet:"raw_sd"`   // of the mean over one trajectory of each profile
	Draws    int32   `parquet:"draws"`    // trajectories of each profile, at least
	Finalist bool    `parquet:"finalist"` // it ran all trajectories
	Selected bool    `parquet:"selected"` // least MSE of the finalists at its budget

	// By how much the mean is above that of the selected candidate, as the race or
	// the exhaustive search tells: after a race, by a curve through the candidates.
	Excess   float64 `parquet:"excess"`
	ExcessSE float64 `parquet:"excess_se"`
}
