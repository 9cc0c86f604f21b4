package measured

import (
	"fmt"
	"math"

	"speceval/internal/agreement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/table"
	"speceval/internal/variance"
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
}

func makeVariance(src *stored.Source) (*model.Sheet, error) {
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
	rows := Spreads(runs, profiles, replayed)
	s := &model.Sheet{Rows: len(rows), Title: "How estimates spread over runs under real rewards with fresh seeds, and the replay's prediction of it. " +
		"Variances are about the runs' own means; ±: standard error. z: difference in standard errors, of ratios on the logarithmic scale. " +
		"Bias: mean of the estimates minus the mean of the profile, in percentage points, with the error of both. " +
		"Up to 3 standard errors agree; fewer than 10 runs are not judged."}
	s.Add(model.NameKey(model.ByProvenance, "provenance", answeredWords, func(i int) string { return rows[i].Provenance }))
	s.Add(profileKeys(func(i int) (string, string) { return rows[i].Benchmark, rows[i].Model })...)
	s.Add(model.BudgetColumn(func(i int) int32 { return rows[i].Budget }),
		strategyKey(strategyWords+" Rows hbn are both of HBN's together: what they estimate has the same law.", func(i int) string { return rows[i].Strategy }),
		count("runs", runsWords+" Each has seeds of its own, and its rewards are verdicts of scorers.", head("Runs"), table.Head{}, func(i int) int { return rows[i].Together.Runs }))
	s.Add(ratioColumns(rows)...)
	s.Add(biasColumns(rows)...)
	return s, nil
}

// replayedRatios reads the replay's ratios of HBN, unknown where there is none, with
// their errors: of the replay's draws and, where profiles have been redrawn, of the
// profile.
func replayedRatios(src *stored.Source) (func(Setting) agreement.Estimate, error) {
	ratios, err := src.TwoStage()
	if err != nil {
		return nil, err
	}
	redrawn, err := src.ProfileErrors()
	return func(s Setting) agreement.Estimate {
		r, ok := variance.ProfileRatio(ratios, policy.HBN, s.Profile(), s.Budget)
		if !ok {
			return Unknown
		}
		return agreement.Estimate{Value: r.VarianceRatio, SE: math.Hypot(r.RatioSE, redrawn[variance.EntryOf(r)].ProfileSE)}
	}, err
}

// noiseWords says when something agrees with what is expected of it.
const noiseWords = "Agreement within noise up to 3 standard errors; fewer than 10 runs are not judged."

var zHead = table.Head{Plain: "z", TeX: "$z$"}

// ratioColumns hold variances over Uniform's against the replay's.
func ratioColumns(rows []SpreadRow) []model.Column {
	group := head("Variance over Uniform's")
	all := []model.Column{
		{Name: "uniform_runs", Words: "How many runs of Uniform the ratio is relative to.", Cell: model.Counts(func(i int) int { return rows[i].Uniform.Runs })},
		{Name: "variance",
			Words: "The variance of the runs' estimates of the benchmark mean (Eq. 4) about their own mean, unbiased: Σ_j (x_j − x̄)²/(n−1); of two strategies together, each about its own mean." + ofRuns,
			Cell:  numbers(func(i int) float64 { return rows[i].Together.Variance })},
		{Name: "uniform_variance", Words: "The same of Uniform's runs, in the same setting." + ofRuns,
			Cell: numbers(func(i int) float64 { return rows[i].Uniform.Variance })},
	}
	all = append(all, estimated(
		model.Column{Name: "ratio", Words: "The variance over that of Uniform, both as measured.",
			Head: head("measured"), Group: group, Format: decimals(3),
			Prediction: &model.Prediction{Predicted: "replayed", Errors: []string{"ratio_se", "replayed_se"}, Z: "z", Verdict: "verdict", Decimals: 3}},
		model.Column{Name: "ratio_se", Role: model.Error,
			Words: "The standard error of ratio, by the delta method: ratio·√(ψ'(k/2) + ψ'(k_U/2)) on k and k_U degrees of freedom, " +
				"which holds for estimates that are nearly normal, as means over many rollouts are."},
		func(i int) agreement.Estimate { return rows[i].Ratio })...)
	all = append(all, estimated(
		model.Column{Name: "replayed", Words: "What the replay says of this ratio: the hbn row of this profile and budget in " + variance.TwoStageFile + ".",
			Head: head("replayed"), Group: group, Format: decimals(3)},
		model.Column{Name: "replayed_se", Role: model.Error, Words: "The standard error of replayed: its Monte Carlo error and the error that comes from the profile, of " + variance.ErrorsFile + ", added in squares."},
		func(i int) agreement.Estimate { return rows[i].Replayed })...)
	return append(all,
		model.Column{Name: "z",
			Words: "The difference of ratio and replayed in standard errors, on the logarithmic scale: {ln(ratio) − bias − ln(replayed)}/√(ψ'(k/2) + ψ'(k_U/2) + s²/replayed²), the bias that of the logarithm of a χ² variable.",
			Head:  zHead, Group: group, Format: table.Format{Decimals: 1, Signed: true},
			Cell: numbers(func(i int) float64 { return rows[i].Z })},
		verdictColumn("verdict", noiseWords, head("verdict"), group,
			func(i int) agreement.Verdict { return rows[i].Verdict }))
}

// biasColumns hold means against those of the profiles.
func biasColumns(rows []SpreadRow) []model.Column {
	group := head("Bias")
	all := []model.Column{
		{Name: "mean", Words: "The mean of the runs' estimates." + ofRuns,
			Cell:       numbers(func(i int) float64 { return rows[i].Together.Mean }),
			Prediction: &model.Prediction{Predicted: "profile_mean", Errors: []string{"bias_se"}, Z: "bias_z", Verdict: "bias_verdict", Decimals: 4}},
		{Name: "profile_mean", Words: "The mean of the profile's pass probabilities, which the runs estimate.",
			Cell: numbers(func(i int) float64 { return rows[i].Truth.Value })},
	}
	all = append(all, estimated(
		model.Column{Name: "bias", Words: "The mean of the estimates minus that of the profile.",
			Head: head("points"), Group: group, Format: table.Format{Decimals: 2, Scale: 100, Signed: true}},
		model.Column{Name: "bias_se", Role: model.Error,
			Words: "The standard error of bias: that of the mean of the runs, and that of the profile's mean, √(Σ p(1−p)/K)/N, added in squares. " +
				"The variance ratios do not have the profile's error: about the profile's mean it would add b/K of Uniform's variance to each."},
		func(i int) agreement.Estimate { return rows[i].Bias.Estimate })...)
	return append(all,
		model.Column{Name: "bias_z", Words: "The bias in standard errors.",
			Head: zHead, Group: group, Format: table.Format{Decimals: 1, Signed: true},
			Cell: numbers(func(i int) float64 { return rows[i].Bias.Z })},
		verdictColumn("bias_verdict", noiseWords, head("verdict"), group,
			func(i int) agreement.Verdict { return rows[i].Bias.Verdict }))
}

// Spread is how sampled profiles spread from 0 to 1, and how long the responses are.
var Spread = &model.Table{
	Base: "profile_spread", Label: "tab:profile-spread",
	Reads:   stored.Reads{Units: []dag.Ref{stored.LengthsRef}, Profiles: true},
	Has:     func(s *stored.Settings) bool { return len(s.Live.Rollouts) > 0 },
	Chapter: "The sampled profiles",
	Remarks: []string{`<ref profile_spread> has how the tasks spread from never passed to always passed, and how long the responses are.`},
	Make:    makeSpread,
}

// nearEnds is how near to 0 or 1 a pass probability is near the end.
const nearEnds = 0.1

// class is tasks by pass probability.
type class struct {
	name, words string
	head        table.Head
	has         func(p float64) bool
}

var classes = []class{
	{"never", "Tasks that none of the K rollouts passes.", head("0"), func(p float64) bool { return p == 0 }},
	{"rarely", "Tasks with a pass probability above 0 and of at most 0.1.", table.Head{Plain: "≤ 0.1", TeX: `$\le0.1$`}, func(p float64) bool { return p > 0 && p <= nearEnds }},
	{"between", "Tasks with a pass probability above 0.1 and below 0.9.", head("between"), func(p float64) bool { return p > nearEnds && p < 1-nearEnds }},
	{"mostly", "Tasks with a pass probability of at least 0.9 and below 1.", table.Head{Plain: "≥ 0.9", TeX: `$\ge0.9$`}, func(p float64) bool { return p >= 1-nearEnds && p < 1 }},
	{"always", "Tasks that all of the K rollouts pass.", head("1"), func(p float64) bool { return p == 1 }},
}

func makeSpread(src *stored.Source) (*model.Sheet, error) {
	rows, err := src.Profiles()
	if err != nil {
		return nil, err
	}
	lengths, err := src.Lengths()
	if err != nil {
		return nil, err
	}
	n := model.CountKey(model.ByTasks, "n_tasks", model.TasksWords, func(i int) int32 { return int32(rows[i].N()) })
	n.Head = table.Head{Plain: "N", TeX: "$N$"}
	s := &model.Sheet{Rows: len(rows), Title: "The sampled profiles: how many tasks are passed never, with a probability p of at most 0.1, in between, of at least 0.9, and always, among K rollouts of each; " +
		"the mean ± its standard error, the sum of variances, and how long the responses are."}
	s.Add(profileKeys(func(i int) (string, string) { return rows[i].Benchmark, rows[i].Model })...)
	s.Add(n, count("rollouts", "The rollouts K of each task.", table.Head{Plain: "K", TeX: "$K$"}, table.Head{}, func(i int) int { return rows[i].TestedK }))
	for _, c := range classes {
		s.Add(count(c.name, c.words, c.head, table.Head{Plain: "Tasks by pass probability p", TeX: "Tasks by pass probability $p$"}, func(i int) int {
			return tasksWith(rows[i], func(task int) bool { return c.has(rows[i].P(task)) })
		}))
	}
	s.Add(estimated(
		model.Column{Name: "mean", Words: "The mean of the pass probabilities, which an evaluation estimates.", Head: head("Mean"), Format: percent(2)},
		model.Column{Name: "mean_se", Role: model.Error, Words: "The standard error of mean: √(Σ p(1−p)/K)/N."},
		func(i int) agreement.Estimate { return MeanOf(rows[i]) })...)
	s.Add(model.Column{Name: "variance_sum", Words: "Σ p(1−p): over N²b it is the variance of Uniform (Eq. 1).",
		Head: table.Head{Plain: "Σ p(1−p)", TeX: `$\sum p(1-p)$`}, Format: decimals(2), Cell: numbers(func(i int) float64 { return rows[i].VarianceSum() })})
	s.Add(lengthColumns(func(i int) rollout.Lengths { return lengths[[2]string{rows[i].Benchmark, rows[i].Model}] })...)
	for tenth := range 10 {
		to := fmt.Sprintf("below %.1f", float64(tenth+1)/10)
		if tenth == 9 {
			to = "of at most 1"
		}
		s.Add(count(fmt.Sprintf("tenth_%d", tenth+1), fmt.Sprintf("Tasks with a pass probability of at least %.1f and %s.", float64(tenth)/10, to), table.Head{}, table.Head{}, func(i int) int {
			return tasksWith(rows[i], func(task int) bool { return min(9, 10*rows[i].PassCounts[task]/rows[i].Rollouts(task)) == tenth })
		}))
	}
	return s, nil
}

// tasksWith counts the tasks of a profile for which something holds.
func tasksWith(p profile.Profile, holds func(task int) bool) (n int) {
	for i := range p.N() {
		if holds(i) {
			n++
		}
	}
	return n
}

// lengthColumns are the lengths of responses, missing where none are stored.
func lengthColumns(lengths func(row int) rollout.Lengths) []model.Column {
	column := func(name, words, above string, of func(rollout.Lengths) int32) model.Column {
		return model.Column{Name: name, Words: words + ", reasoning included. Of " + stored.LengthsFile + ".",
			Head: head(above), Group: head("Response length (tokens)"),
			Cell: func(i int) table.Cell {
				l := lengths(i)
				if len(l) == 0 {
					return table.Missing()
				}
				return table.Integer(of(l))
			}}
	}
	return []model.Column{
		column("length_median", "The median of the tokens of a response", "median", func(l rollout.Lengths) int32 { return l.Quantile(0.5) }),
		column("length_p99", "The 99th percentile of the tokens of a response", "99%", func(l rollout.Lengths) int32 { return l.Quantile(0.99) }),
		column("length_max", "The tokens of the longest response", "most", func(l rollout.Lengths) int32 { return l[len(l)-1].Tokens }),
	}
}
