package tables

import (
	"cmp"
	"slices"

	"speceval/internal/results/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Errors compares the errors of the mean ratios, by cause. It is not
// in the paper.
var Errors = &model.Table{
	Base: "error_split", Label: "tab:error-split",
	Reads:   stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef, stored.ErrorsRef}},
	Chapter: "How sure these numbers are",
	Remarks: []string{`The draws of the replay are not all that is uncertain: the probabilities of the profiles are themselves estimates, from a finite number of rollouts. <ref error_split> splits the errors by cause.`},
	Make:    makeErrors,
	Words: `
variance_ratio  The variance of the policy over that of Uniform, <mean>: its entry of Table 1, or of Table 8 for TS-Neyman. Of replay/ratios.parquet.
replay_se       The part of its error that comes from the finite number of draws of the replay: (1/J)·√(Σ_j s_j²), with ratio_se of replay/ratios.parquet; profiles draw independently.
design_se       The part that comes from the estimation of the design: (1/J)·√(Σ_N (Σ_{j of N} (dr_j/dw)·s_w)²), with the error s_w of the stage weight that all profiles with one task count
                share. Of replay/designs.parquet; 0 for a policy without a design.
profile_se      The part that no longer replay would make smaller: the profiles are estimates, of K rollouts per task. (1/J)·√(Σ_j t_j²), with the standard deviation t_j of the ratio over
                profiles redrawn by the binomial law of their pass counts (profile_se of replay/profile_errors.parquet): to the leading order in 1/K, by the ratio's derivatives. Profiles are
                taken to err independently, as their rollouts were.
shift           By how much the mean ratio over redrawn profiles is above the ratio of the profiles themselves, (1/J)·Σ_j d_j: an estimate of the bias that redrawing adds once more, and so
                of the one that the finite K has given the table already. Of replay/profile_errors.parquet.
shift_se        The Monte Carlo standard error of shift, (1/J)·√(Σ_j e_j²), with shift_se of replay/profile_errors.parquet.
resamples       How many times each profile was redrawn: for the Oracle; 0 where the derivatives tell. Of replay/profile_errors.parquet.
`,
}

// errorRow is the mean of a policy at a budget with its errors. The last four are nil
// where the replay has no errors of the profiles.
type errorRow struct {
	Budget int32 `csv:"budget"`
	model.PolicyKeys
	Ratio   float64  `csv:"variance_ratio" head:"Variance" format:".1%"`
	Replay  float64  `csv:"replay_se" head:"replay" group:"Standard error (points)" format:".3pt"`
	Design  float64  `csv:"design_se" head:"design" group:"Standard error (points)" format:".3pt"`
	Profile *float64 `csv:"profile_se" head:"profiles" group:"Standard error (points)" format:".3pt"`
	Shift   *float64 `csv:"shift" head:"mean" group:"Shift (points)" format:"+.3pt"`
	ShiftSE *float64 `csv:"shift_se" head:"s.e." group:"Shift (points)" format:".3pt"`
	Draws   *int32   `csv:"resamples"`
}

// makeErrors has the policies that were replayed at every budget.
func makeErrors(src *stored.Source) (*model.Sheet, error) {
	all, err := stored.Standings(src)
	redrawn, noRedrawn := stored.ProfileErrors(src)
	res, noResults := stored.Results(src)
	if err := cmp.Or(err, noRedrawn, noResults); err != nil {
		return nil, err
	}
	var rows []errorRow
	for _, s := range all {
		n := len(s.Ratios)
		c, err := variance.SumErrors(res.Designs, s.Ratios, slices.Repeat([]float64{1 / float64(n)}, n))
		if err != nil {
			return nil, err
		}
		row := errorRow{Budget: s.Budget, PolicyKeys: model.KeysOf(s.Policy), Ratio: s.Value, Replay: c.Replay, Design: c.Design}
		if of := variance.NewProfileCauses(redrawn, s); of != nil {
			row.Profile, row.Shift, row.ShiftSE, row.Draws = &of.SE, &of.Shift, &of.ShiftSE, &of.Resamples
		}
		rows = append(rows, row)
	}
	s := model.NewSheet("Standard errors of the mean Uniform-normalized variances, by cause: the finite number of draws of the replay, "+
		"the estimated design that profiles share, and the finite number of rollouts that the profiles themselves are estimated from. "+
		"Shift: by how much the mean over redrawn profiles is above the mean itself. Profiles are taken to err independently.", rows)
	return s, nil
}
