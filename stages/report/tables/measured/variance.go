package measured

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Variance holds the spread of what repeated runs under real rewards estimate
// against the replay's.
//
// Variances are about the runs' own means. About the mean of the profile they
// would have one degree of freedom more, but would also count its error, b/K of
// Uniform's variance, and whatever bias there is, which has a test of its own
// here.
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
}

// sample is the runs of a strategy in a setting, and what they estimate.
type sample struct {
	series
	agreement.Sample
}

// spread is a row: what the runs of a strategy estimate, or of HBN's together.
type spread struct {
	setting
	strategy string
	samples  []sample // by strategy
	uniform  sample   // of the same setting; of no runs where it has none
	together agreement.Sample

	ratio, replayed agreement.Estimate   // unknown where there is none, as of Uniform
	z               float64              // of their difference
	verdict         agreement.Verdict    // on it
	truth           agreement.Estimate   // the mean of the profile
	bias            agreement.Difference // from it
}

func makeVariance(src *stored.Source) (*model.Sheet, error) {
	rows, err := spreads(src)
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{Rows: len(rows), Title: "How estimates spread over runs under real rewards with fresh seeds, and the replay's prediction of it. " +
		"Variances are about the runs' own means; ±: standard error. z: difference in standard errors, of ratios on the logarithmic scale. " +
		"Bias: mean of the estimates minus the mean of the profile, in percentage points, with the error of both. " +
		"Up to 3 standard errors agree; fewer than 10 runs are not judged."}
	s.Add(model.NameKey(model.ByProvenance, "provenance", answeredWords, func(i int) string { return rows[i].provenance }))
	s.Add(profileKeys(func(i int) (string, string) { return rows[i].benchmark, rows[i].model })...)
	s.Add(model.BudgetColumn(func(i int) int32 { return rows[i].budget }),
		strategyKey(strategyWords+" Rows hbn are both of HBN's together: what they estimate has the same law.", func(i int) string { return rows[i].strategy }),
		count("runs", runsWords+" Each has seeds of its own, and its rewards are verdicts of scorers.", head("Runs"), table.Head{}, func(i int) int { return rows[i].together.Runs }))
	s.Add(ratioColumns(rows)...)
	s.Add(biasColumns(rows)...)
	return s, nil
}

// spreads are the strategies of every setting, and both of HBN's together.
func spreads(src *stored.Source) (rows []spread, err error) {
	runs, err := src.Runs()
	if err != nil {
		return nil, err
	}
	profiles, err := src.Profiles()
	if err != nil {
		return nil, err
	}
	replayed, err := replayedRatios(src)
	if err != nil {
		return nil, err
	}
	settings, samples := samplesOf(grouped(runs, func(r measurement.Run) bool { return r.Rewards == measurement.Scored }))
	for _, in := range settings {
		truth := unknown
		if at := slices.IndexFunc(profiles, func(p profile.Profile) bool { return p.Name() == in.profile() }); at >= 0 {
			truth = meanOf(profiles[at])
		}
		of := samples[in]
		add := func(strategy string, samples ...sample) {
			row := spread{setting: in, strategy: strategy, samples: samples, uniform: of[measurement.Uniform], replayed: replayed(in), truth: truth}
			if !slices.ContainsFunc(samples, func(s sample) bool { return s.Runs == 0 }) {
				rows = append(rows, row.judged())
			}
		}
		for _, s := range []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync} {
			add(s, of[s])
		}
		add(both, of[measurement.HBNSync], of[measurement.HBNAsync])
	}
	return rows, nil
}

// samplesOf is series by setting and strategy, with the settings in their order.
func samplesOf(all []series) (settings []setting, samples map[setting]map[string]sample) {
	samples = map[setting]map[string]sample{}
	for _, s := range all {
		if samples[s.setting] == nil {
			settings, samples[s.setting] = append(settings, s.setting), map[string]sample{}
		}
		var estimates []float64
		for _, r := range s.runs {
			estimates = append(estimates, r.Estimate)
		}
		samples[s.setting][s.strategy] = sample{s, agreement.NewSample(estimates)}
	}
	return settings, samples
}

// unknown is an estimate that is not there.
var unknown = agreement.Estimate{Value: math.NaN(), SE: math.NaN()}

// replayedRatios reads the replay's ratios of HBN, unknown where there is none, with
// their errors: of the replay's draws and, where profiles have been redrawn, of the
// profile.
func replayedRatios(src *stored.Source) (func(setting) agreement.Estimate, error) {
	ratios, err := src.TwoStage()
	if err != nil {
		return nil, err
	}
	redrawn, err := src.ProfileErrors()
	return func(s setting) agreement.Estimate {
		r, ok := variance.ProfileRatio(ratios, policy.HBN, s.profile(), s.budget)
		if !ok {
			return unknown
		}
		return agreement.Estimate{Value: r.VarianceRatio, SE: math.Hypot(r.RatioSE, redrawn[variance.EntryOf(r)].ProfileSE)}
	}, err
}

// judged compares the variance with the replay's, which Uniform has none of, and the
// mean with that of the profile.
func (s spread) judged() spread {
	var of []agreement.Sample
	for _, x := range s.samples {
		of = append(of, x.Sample)
	}
	s.together, s.ratio, s.z = combined(of), unknown, math.NaN()
	if s.strategy == measurement.Uniform {
		s.replayed = unknown
	} else if ratio, ok := agreement.Over(of, s.uniform.Sample); !ok {
		s.verdict = agreement.TooFew
	} else if s.ratio, s.verdict = ratio.Estimate, agreement.Shown; !math.IsNaN(s.replayed.Value) {
		d := ratio.Against(s.replayed)
		s.z, s.verdict = d.Z, d.Verdict
	}
	s.bias = agreement.Mean(s.together, s.truth)
	if math.IsNaN(s.truth.Value) {
		s.bias.Verdict = agreement.Shown
	}
	return s
}

// combined is the mean of all runs with the variance about the samples' own means.
func combined(samples []agreement.Sample) agreement.Sample {
	if len(samples) == 1 {
		return samples[0]
	}
	var all agreement.Sample
	for _, s := range samples {
		all.Mean += float64(s.Mean * float64(s.Runs))
		all.Runs += s.Runs
	}
	all.Mean /= float64(all.Runs)
	all.Variance, _ = agreement.Pool(samples...)
	return all
}

// noiseWords says when something agrees with what is expected of it.
const noiseWords = "Agreement within noise up to 3 standard errors; fewer than 10 runs are not judged."

var zHead = table.Head{Plain: "z", TeX: "$z$"}

// ratioColumns hold variances over Uniform's against the replay's.
func ratioColumns(rows []spread) []model.Column {
	group := head("Variance over Uniform's")
	all := []model.Column{
		{Name: "uniform_runs", Role: model.Count, Words: "How many runs of Uniform the ratio is relative to.", Cell: model.Counts(func(i int) int { return rows[i].uniform.Runs })},
		{Name: "variance",
			Words: "The variance of the runs' estimates of the benchmark mean (Eq. 4) about their own mean, unbiased: «Σ_j (x_j − x̄)²/(n−1)¦\\sum_j(x_j-\\bar x)^2/(n-1)»; of two strategies together, each about its own mean." + ofRuns,
			Cell:  numbers(func(i int) float64 { return rows[i].together.Variance }),
			Break: func(i int) (model.Breakdown, error) { return varianceParts(rows[i].samples...) }},
		{Name: "uniform_variance", Words: "The same of Uniform's runs, in the same setting." + ofRuns,
			Cell:  numbers(func(i int) float64 { return rows[i].uniform.Variance }),
			Break: func(i int) (model.Breakdown, error) { return varianceParts(rows[i].uniform) }},
	}
	all = append(all, estimated(
		model.Column{Name: "ratio", Words: "The variance over that of Uniform, both as measured.",
			Head: head("measured"), Group: group, Format: decimals(3),
			Break:      func(i int) (model.Breakdown, error) { return rows[i].ratioParts() },
			Prediction: &model.Prediction{Predicted: "replayed", Errors: []string{"ratio_se", "replayed_se"}, Z: "z", Verdict: "verdict", Decimals: 3}},
		model.Column{Name: "ratio_se", Role: model.Error,
			Words: "The standard error of ratio, by the delta method: «ratio·√(ψ'(k/2) + ψ'(k_U/2))¦\\mathrm{ratio}\\cdot(\\psi'(k/2)+\\psi'(k_{\\mathrm{U}}/2))^{1/2}» on «k» and «k_U¦k_{\\mathrm{U}}» degrees of freedom, " +
				"which holds for estimates that are nearly normal, as means over many rollouts are."},
		func(i int) agreement.Estimate { return rows[i].ratio })...)
	all = append(all, estimated(
		model.Column{Name: "replayed", Words: "What the replay says of this ratio: the hbn row of this profile and budget in ‹" + variance.TwoStageFile + "›.",
			Head: head("replayed"), Group: group, Format: decimals(3)},
		model.Column{Name: "replayed_se", Role: model.Error, Words: "The standard error of replayed: its Monte Carlo error and the error that comes from the profile, of ‹" + variance.ErrorsFile + "›, added in squares."},
		func(i int) agreement.Estimate { return rows[i].replayed })...)
	return append(all,
		model.Column{Name: "z",
			Words: "The difference of ratio and replayed in standard errors, on the logarithmic scale: «{ln(ratio) − bias − ln(replayed)}/√(ψ'(k/2) + ψ'(k_U/2) + s²/replayed²)" +
				"¦\\{\\ln(\\mathrm{ratio})-\\mathrm{bias}-\\ln(\\mathrm{replayed})\\}/(\\psi'(k/2)+\\psi'(k_{\\mathrm{U}}/2)+s^2/\\mathrm{replayed}^2)^{1/2}», the bias that of the logarithm of a «χ²¦\\chi^2» variable.",
			Head: zHead, Group: group, Format: table.Format{Decimals: 1, Signed: true},
			Cell: numbers(func(i int) float64 { return rows[i].z })},
		verdictColumn("verdict", noiseWords, head("verdict"), group,
			func(i int) agreement.Verdict { return rows[i].verdict }))
}

// biasColumns hold means against those of the profiles.
func biasColumns(rows []spread) []model.Column {
	group := head("Bias")
	all := []model.Column{
		{Name: "mean", Words: "The mean of the runs' estimates." + ofRuns,
			Cell: numbers(func(i int) float64 { return rows[i].together.Mean }),
			Break: func(i int) (model.Breakdown, error) {
				return runParts(rows[i].samples, func(estimate, _ float64) float64 { return estimate / float64(rows[i].together.Runs) })
			},
			Prediction: &model.Prediction{Predicted: "profile_mean", Errors: []string{"bias_se"}, Z: "bias_z", Verdict: "bias_verdict", Decimals: 4}},
		{Name: "profile_mean", Words: "The mean of the profile's pass probabilities, which the runs estimate.",
			Cell: numbers(func(i int) float64 { return rows[i].truth.Value })},
	}
	all = append(all, estimated(
		model.Column{Name: "bias", Words: "The mean of the estimates minus that of the profile.",
			Head: head("points"), Group: group, Format: table.Format{Decimals: 2, Scale: 100, Signed: true}},
		model.Column{Name: "bias_se", Role: model.Error,
			Words: "The standard error of bias: that of the mean of the runs, and that of the profile's mean, «√(Σ p(1−p)/K)/N¦(\\sum_i p_i(1-p_i)/K)^{1/2}/N», added in squares. " +
				"The variance ratios do not have the profile's error: about the profile's mean it would add «b/K» of Uniform's variance to each."},
		func(i int) agreement.Estimate { return rows[i].bias.Estimate })...)
	return append(all,
		model.Column{Name: "bias_z", Words: "The bias in standard errors.",
			Head: zHead, Group: group, Format: table.Format{Decimals: 1, Signed: true},
			Cell: numbers(func(i int) float64 { return rows[i].bias.Z })},
		verdictColumn("bias_verdict", noiseWords, head("verdict"), group,
			func(i int) agreement.Verdict { return rows[i].bias.Verdict }))
}

// varianceParts are the runs of a variance about the samples' own means.
func varianceParts(of ...sample) (model.Breakdown, error) {
	freedom := 0
	for _, s := range of {
		freedom += s.Runs - 1
	}
	return runParts(of, func(_, away float64) float64 { return away * away / max(1, float64(freedom)) })
}

// runParts are runs whose shares add up to a number; a share is of the estimate, or
// of how far it is away from the mean of its sample.
func runParts(of []sample, share func(estimate, away float64) float64) (d model.Breakdown, err error) {
	var parts []model.Part
	for _, s := range of {
		if s.Runs == 0 {
			return d, fmt.Errorf("%s has no such runs of %s any more", measurement.RunsFile, measurement.Uniform)
		}
		for _, r := range s.runs {
			away := r.Estimate - s.Mean
			parts = append(parts, model.Shared(fmt.Sprintf("%s, repeat %d", r.Strategy, r.Repeat), share(r.Estimate, away), r.Estimate, away))
		}
	}
	d.Parts = model.Added("runs", []string{"estimate", "less the mean"}, parts)
	return d, nil
}

// ratioParts are the two variances of the ratio; nothing where there is none.
func (s spread) ratioParts() (d model.Breakdown, err error) {
	if math.IsNaN(s.ratio.Value) {
		return d, nil
	}
	d.Parts = model.Ranked("variances", "it is that of the strategy over that of Uniform", []string{"variance", "runs"}, []model.Part{
		model.Option(s.strategy, s.together.Variance, float64(s.together.Runs)),
		model.Option(measurement.Uniform, s.uniform.Variance, float64(s.uniform.Runs))}, false).Makes(s.together.Variance / s.uniform.Variance)
	d.Errors = []model.ErrorOf{{Cause: "finite number of runs", SE: finite(s.ratio.SE), About: "of both variances, as if the estimates were normal"}}
	return d, nil
}
