package measured

import (
	"cmp"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Variance holds the spread of what repeated runs under real rewards estimate
// against the replay's.
var Variance = &model.Table{
	Base: "prediction_variance", Label: "tab:prediction-variance", Live: true,
	Reads:   stored.Reads{Units: []dag.Ref{stored.RunsRef, stored.TwoStageRef, stored.ErrorsRef}, Profiles: true},
	Has:     func(s *stored.Settings) bool { return s.Live.Scored },
	Chapter: chapter,
	Remarks: []string{
		`<ref prediction_variance> asks whether the estimates of repeated runs, under real rewards and fresh seeds, spread as the replay of the profile says.`,
		`The replay knows the profile from a finite number of rollouts: its error is in that of the prediction.`,
	},
	Make: makeVariance,
	Words: answeredWords + strategyWords + `
runs              How many runs the row is of. Each has seeds of its own, and its rewards are verdicts of scorers.
uniform_runs      How many runs of Uniform the ratio is relative to.
variance          The variance of the runs' estimates of the benchmark mean (Eq. 4) about their own mean, unbiased: Σ_j (x_j − x̄)²/(n−1). Of systems/runs.parquet.
uniform_variance  The same of Uniform's runs, in the same setting. Of systems/runs.parquet.
ratio             The variance over that of Uniform, both as measured.
ratio_se          The standard error of ratio, by the delta method: ratio·√(ψ'(k/2) + ψ'(k_U/2)) on k and k_U degrees of freedom, which holds for estimates that are nearly normal, as means
                  over many rollouts are.
replayed          What the replay says of this ratio: the hbn row of this profile and budget in replay/two_stage.parquet.
replayed_se       The standard error of replayed: its Monte Carlo error and the error that comes from the profile, of replay/profile_errors.parquet, added in squares.
z                 The difference of ratio and replayed in standard errors, on the logarithmic scale: {ln(ratio) − bias − ln(replayed)}/√(ψ'(k/2) + ψ'(k_U/2) + s²/replayed²), the bias that of
                  the logarithm of a χ² variable.
verdict           Agreement within noise up to 3 standard errors; fewer than 10 runs are not judged.
mean              The mean of the runs' estimates. Of systems/runs.parquet.
profile_mean      The mean of the profile's pass probabilities, which the runs estimate.
bias              The mean of the estimates minus that of the profile.
bias_se           The standard error of bias: that of the mean of the runs, and that of the profile's mean, √(Σ p(1−p)/K)/N, added in squares. The variance ratios do not have the profile's
                  error: about the profile's mean it would add b/K of Uniform's variance to each.
bias_z            The bias in standard errors.
bias_verdict      Agreement within noise up to 3 standard errors; fewer than 10 runs are not judged.
`,
}

type varianceRow struct {
	Provenance string `csv:"provenance"`
	profileKeys
	Budget          int32             `csv:"budget" head:"b|$b$"`
	Strategy        strategy          `csv:"strategy" head:"Strategy" align:"left"`
	Runs            int               `csv:"runs" head:"Runs"`
	UniformRuns     int               `csv:"uniform_runs"`
	Variance        float64           `csv:"variance" missing:"NaN"`
	UniformVariance float64           `csv:"uniform_variance" missing:"NaN"`
	Ratio           float64           `csv:"ratio" head:"measured" group:"Variance over Uniform's" format:".3±" missing:"NaN"`
	RatioSE         float64           `csv:"ratio_se" missing:"NaN"`
	Replayed        float64           `csv:"replayed" head:"replayed" group:"Variance over Uniform's" format:".3±" missing:"NaN"`
	ReplayedSE      float64           `csv:"replayed_se" missing:"NaN"`
	Z               float64           `csv:"z" head:"z|$z$" group:"Variance over Uniform's" format:"+.1" missing:"NaN"`
	Verdict         agreement.Verdict `csv:"verdict" head:"verdict" group:"Variance over Uniform's" align:"left"`
	Mean            float64           `csv:"mean" missing:"NaN"`
	ProfileMean     float64           `csv:"profile_mean" missing:"NaN"`
	Bias            float64           `csv:"bias" head:"points" group:"Bias" format:"+.2pt±" missing:"NaN"`
	BiasSE          *float64          `csv:"bias_se"`
	BiasZ           float64           `csv:"bias_z" head:"z|$z$" group:"Bias" format:"+.1" missing:"NaN"`
	BiasVerdict     agreement.Verdict `csv:"bias_verdict" head:"verdict" group:"Bias" align:"left"`

	ratio, mean agreement.Comparison
}

// makeVariance has the strategies of every setting of runs under real rewards.
//
// Variances are about the runs' own means. About the mean of the profile they
// would have one degree of freedom more, but would also count its error, b/K of
// Uniform's variance, and whatever bias there is, which has a test of its own
// here.
func makeVariance(src *stored.Source) (*model.Sheet, error) {
	runs, err := stored.Runs(src)
	profiles, noProfiles := stored.Profiles(src)
	ratios, noRatios := stored.TwoStage(src)
	redrawn, noErrors := stored.ProfileErrors(src)
	if err := cmp.Or(err, noProfiles, noRatios, noErrors); err != nil {
		return nil, err
	}
	all := grouped(runs, func(r measurement.Run) bool { return r.Rewards == measurement.Scored })
	uniform := map[setting]agreement.Sample{}
	for _, s := range all {
		if s[0].Strategy == measurement.Uniform {
			uniform[settingOf(s[0])] = s.estimates()
		}
	}
	var rows []varianceRow
	for _, s := range all {
		truth, replayed, of := unknown, unknown, settingOf(s[0])
		if at := slices.IndexFunc(profiles, func(p profile.Profile) bool { return p.Name() == of.profile() }); at >= 0 {
			truth = meanOf(profiles[at])
		}
		// with the errors of the replay's draws and, where profiles have been redrawn, of the profile
		if r, ok := variance.ProfileRatio(ratios, policy.HBN, of.profile(), of.budget); ok {
			replayed = agreement.Estimate{Value: r.VarianceRatio, SE: math.Hypot(r.RatioSE, redrawn[r.Entry()].ProfileSE)}
		}
		rows = append(rows, newVarianceRow(s, uniform[of], replayed, truth))
	}
	s := model.NewSheet("How estimates spread over runs under real rewards with fresh seeds, and the replay's prediction of it. "+
		"Variances are about the runs' own means; ±: standard error. z: difference in standard errors, of ratios on the logarithmic scale. "+
		"Bias: mean of the estimates minus the mean of the profile, in percentage points, with the error of both. "+
		"Up to 3 standard errors agree; fewer than 10 runs are not judged.", rows)
	s.Column("ratio").Claim = func(i int) agreement.Comparison { return rows[i].ratio }
	s.Column("mean").Claim = func(i int) agreement.Comparison { return rows[i].mean }
	return s, nil
}

// newVarianceRow compares the variance of the runs of a series with the replay's ratio, which
// Uniform has none of, and their mean with the mean of the profile.
func newVarianceRow(runs series, uniform agreement.Sample, replayed, truth agreement.Estimate) varianceRow {
	of, own, nan := runs[0], runs.estimates(), math.NaN()
	row := varianceRow{
		Provenance: of.Provenance, profileKeys: profileKeys{of.Benchmark, model.Checkpoint(of.Model)}, Budget: of.ReferenceBudget, Strategy: strategy(of.Strategy),
		Runs: own.Runs, UniformRuns: uniform.Runs, Variance: own.Variance, UniformVariance: uniform.Variance,
		Ratio: nan, RatioSE: nan, Replayed: nan, ReplayedSE: nan, Z: nan,
		Mean: own.Mean, ProfileMean: truth.Value, Bias: own.Mean - truth.Value, mean: agreement.Mean(own, truth),
	}
	row.BiasSE, row.BiasZ, row.BiasVerdict = row.mean.SE, row.mean.Z, row.mean.Verdict
	if of.Strategy != measurement.Uniform {
		ratio, c := agreement.Ratio(own, uniform, replayed)
		row.ratio, row.Ratio, row.RatioSE, row.Replayed, row.ReplayedSE, row.Z, row.Verdict = c, ratio.Value, ratio.SE, replayed.Value, replayed.SE, c.Z, c.Verdict
	}
	return row
}
