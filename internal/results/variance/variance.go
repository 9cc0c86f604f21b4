// Package variance holds the results of the replay stage: ex-ante designs,
// Uniform-normalized variance ratios with their differences and errors, and the
// search for TS-Neyman, in the Parquet form in which later stages read them.
// Stages meet in these files, never in each other.
package variance

import (
	"fmt"
	"slices"

	"speceval/internal/policy"
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

// Subject is what a result is of: one policy on one profile at one budget.
type Subject struct {
	Benchmark string   `parquet:"benchmark"`
	Model     string   `parquet:"model"`
	NTasks    int32    `parquet:"n_tasks"`
	Budget    int32    `parquet:"budget"` // rollouts per task
	Policy    string   `parquet:"policy"`
	Donors    string   `parquet:"donors"` // what the policy knows beforehand, by name; "none" for nothing
	Alpha     *float64 `parquet:"alpha"`  // prior strength; null where there is none
}

// Ratio is the Uniform-normalized variance of its subject (paper, Eq. 9 over the variance
// of Uniform).
type Ratio struct {
	Subject
	M *int32   `parquet:"m"` // pilot rollouts per task; null for the Oracle
	W *float64 `parquet:"w"` // stage weight of the pilot; null where tasks have no single one

	VarianceRatio float64 `parquet:"variance_ratio"`               // 1 = as Uniform
	RatioSE       float64 `parquet:"ratio_se" of:"variance_ratio"` // Monte Carlo standard error given (m, w); 0 when analytic
	Draws         int32   `parquet:"draws"`                        // pilot vectors replayed; 0 when analytic
}

// Difference is by how much another policy's ratio on a profile is above HBN's,
// from the draws that both share.
type Difference struct {
	Subject              // the other policy
	Difference   float64 `parquet:"difference"`    // its variance ratio minus HBN's
	DifferenceSE float64 `parquet:"difference_se"` // Monte Carlo standard error, given both designs
	Draws        int32   `parquet:"draws"`         // pilot vectors that both were replayed on
}

// ProfileError is the error of a ratio that comes from its profile: the pass probabilities
// are estimates by a limited number of rollouts each.
type ProfileError struct {
	Subject

	// ProfileSE is the standard deviation of the ratio over profiles redrawn by the binomial
	// law of their pass counts, under the same designs. Shift is by how much the mean ratio
	// of redrawn profiles exceeds the profile's. Both are to the leading order in one over
	// the rollouts of a task, by the derivatives of the ratio: within a tenth from 32
	// rollouts on, too small by up to a quarter with 16. The squared ProfileSE is unbiased,
	// but 0 where it came out negative. The Oracle's are over redrawn profiles.
	ProfileSE float64 `parquet:"profile_se"`
	Shift     float64 `parquet:"shift"`
	ShiftSE   float64 `parquet:"shift_se"`
	Resamples int32   `parquet:"resamples"` // profiles redrawn; 0: by derivatives
	Draws     int32   `parquet:"draws"`     // evaluations behind the derivatives; 0: by redrawn profiles
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
	Raw      float64 `parquet:"raw"`    // the plain mean of squared errors; NaN without trajectories
	RawSE    float64 `parquet:"raw_se"`
	RawSD    float64 `parquet:"raw_sd"`   // of the mean over one trajectory of each profile
	Draws    int32   `parquet:"draws"`    // trajectories of each profile, at least; 0: the mean is by the curve of a race
	Finalist bool    `parquet:"finalist"` // it ran all trajectories
	Selected bool    `parquet:"selected"` // least MSE of the finalists at its budget

	// Excess is the mean less the mean of the selected candidate, by the race or the
	// exhaustive search: after a race, by a curve through the candidates that ran it.
	Excess   float64 `parquet:"excess"`
	ExcessSE float64 `parquet:"excess_se"`
}

// Entry names a result of one policy: alpha is 0 for policies without one.
type Entry struct {
	Profile string
	Policy  policy.Key
	Budget  int32
	Alpha   float64
}

// Entry names the result.
func (s Subject) Entry() Entry { return Entry{s.Profile(), s.Key(), s.Budget, AlphaOf(s.Alpha)} }

// Of is the subject, also of the rows that embed one.
func (s Subject) Of() Subject { return s }

// Key is the policy of the result.
func (s Subject) Key() policy.Key { return policy.Key{Name: s.Policy, Donors: s.Donors} }

// Profile is the profile of the result, as the paper's files spell it.
func (s Subject) Profile() string { return profileName(s.Benchmark, s.Model) }

func profileName(benchmark, model string) string { return benchmark + "__model=" + model }

// ProfileErrors is the errors from the profiles, by the ratio that has them.
type ProfileErrors = map[Entry]ProfileError

// Differences is the paired differences to HBN, by the other policy's ratio.
type Differences = map[Entry]Difference

// AlphaOf is a prior strength as a comparable value: 0, which no prior has,
// where there is none.
func AlphaOf(alpha *float64) float64 {
	if alpha == nil {
		return 0
	}
	return *alpha
}

// Budgets is the budgets of the ratios in rising order.
func Budgets(ratios []Ratio) []int32 {
	var all []int32
	for _, r := range ratios {
		all = append(all, r.Budget)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Key is the policy of a design.
func (d Design) Key() policy.Key { return policy.Key{Name: d.Policy, Donors: d.Donors} }

// keep is the rows for which a condition holds, in their order.
func keep[T any](rows []T, holds func(T) bool) (kept []T) {
	for _, r := range rows {
		if holds(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// Pick is the ratios of a policy at a budget, in stored order.
func Pick(ratios []Ratio, of *policy.Policy, budget int32) []Ratio {
	return keep(ratios, func(r Ratio) bool { return r.Key() == of.Key() && r.Budget == budget })
}

// ProfileRatio is the ratio of a policy on a profile at a budget.
func ProfileRatio(ratios []Ratio, of *policy.Policy, profile string, budget int32) (Ratio, bool) {
	for _, r := range ratios {
		if r.Key() == of.Key() && r.Budget == budget && r.Profile() == profile {
			return r, true
		}
	}
	return Ratio{}, false
}

// scheduleKey names an ex-ante design: alpha is 0 for policies without one.
type scheduleKey struct {
	policy         policy.Key
	nTasks, budget int32
	alpha          float64
}

// Schedules is the selected candidate of every design.
type Schedules map[scheduleKey]Design

// NewSchedules keeps the selected candidates.
func NewSchedules(designs []Design) Schedules {
	s := Schedules{}
	for _, d := range designs {
		if d.Selected {
			s[scheduleKey{d.Key(), d.NTasks, d.Budget, AlphaOf(d.Alpha)}] = d
		}
	}
	return s
}

// Selected is the selected candidate of a design.
func (s Schedules) Selected(of policy.Key, nTasks, budget int32, alpha *float64) (Design, error) {
	d, ok := s[scheduleKey{of, nTasks, budget, AlphaOf(alpha)}]
	if !ok {
		return d, fmt.Errorf("no design of %s for %d tasks at budget %d is selected; run the replay stage again", of, nTasks, budget)
	}
	return d, nil
}
