package measured

import (
	"math"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/table"
)

// VarianceTable is the base name of the table of variances.
const VarianceTable = "prediction_variance"

var varianceColumns = []column{
	provenanceColumn, benchmarkColumn, modelColumn, budgetColumn, strategyColumn, runsColumn,
	{name: "uniform_runs"},
	{name: "variance"}, {name: "uniform_variance"},
	{name: "ratio", head: table.Head{Plain: "measured"}, group: ratioGroup, format: decimals(3), spread: "ratio_se"},
	{name: "ratio_se"},
	{name: "replayed", head: table.Head{Plain: "replayed"}, group: ratioGroup, format: decimals(3), spread: "replayed_se"},
	{name: "replayed_se"},
	{name: "z", head: table.Head{Plain: "z", TeX: "$z$"}, group: ratioGroup, format: table.Format{Decimals: 1, Signed: true}},
	{name: "verdict", head: table.Head{Plain: "verdict"}, group: ratioGroup, align: table.Left},
	{name: "mean"},
	{name: "profile_mean"},
	{name: "bias", head: table.Head{Plain: "points"}, group: biasGroup, format: table.Format{Decimals: 2, Scale: 100, Signed: true}, spread: "bias_se"},
	{name: "bias_se"},
	{name: "bias_z", head: table.Head{Plain: "z", TeX: "$z$"}, group: biasGroup, format: table.Format{Decimals: 1, Signed: true}},
	{name: "bias_verdict", head: table.Head{Plain: "verdict"}, group: biasGroup, align: table.Left},
}

var (
	ratioGroup = table.Head{Plain: "Variance over Uniform's"}
	biasGroup  = table.Head{Plain: "Bias"}
)

// Replayed is the replay's ratio of HBN's variance to Uniform's on a profile at a
// budget; ok is false where there is none.
type Replayed func(profile string, budget int32) (ratio agreement.Estimate, ok bool)

// Variance holds the spread of what repeated runs under real rewards estimate
// against the replay's.
//
// Variances are about the runs' own means. About the mean of the profile they
// would have one degree of freedom more, but would also count its error, b/K of
// Uniform's variance, and whatever bias there is, which has a test of its own
// here.
func Variance(runs []measurement.Run, replayed Replayed, profiles []profile.Profile) Sheet {
	var rows [][]table.Cell
	for _, g := range grouped(runs, func(r measurement.Run) bool { return r.Rewards == measurement.Scored }) {
		rows = append(rows, varianceRows(g, replayed, profiles)...)
	}
	return newSheet(VarianceTable, "How estimates spread over runs under real rewards with fresh seeds, and the replay's prediction of it. "+
		"Variances are about the runs' own means; ±: standard error. z: difference in standard errors, of ratios on the logarithmic scale. "+
		"Bias: mean of the estimates minus the mean of the profile, in percentage points, with the error of both. "+
		"Up to 3 standard errors agree; fewer than 10 runs are not judged.", varianceColumns, rows)
}

// varianceRows are the strategies of a setting, and both of HBN's together.
func varianceRows(g *group, replayed Replayed, profiles []profile.Profile) [][]table.Cell {
	samples := map[string]agreement.Sample{}
	for strategy, runs := range g.runs {
		var estimates []float64
		for _, r := range runs {
			estimates = append(estimates, r.Estimate)
		}
		samples[strategy] = agreement.NewSample(estimates)
	}
	truth := profileMean(g.setting, profiles)
	var rows [][]table.Cell
	for _, strategy := range []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync} {
		if s, ok := samples[strategy]; ok {
			rows = append(rows, varianceRow(g.setting, strategy, []agreement.Sample{s}, samples[measurement.Uniform], replayed, truth))
		}
	}
	sync, isSync := samples[measurement.HBNSync]
	async, isAsync := samples[measurement.HBNAsync]
	if isSync && isAsync {
		rows = append(rows, varianceRow(g.setting, HBN, []agreement.Sample{sync, async}, samples[measurement.Uniform], replayed, truth))
	}
	return rows
}

func varianceRow(s setting, strategy string, samples []agreement.Sample, uniform agreement.Sample, replayed Replayed, truth agreement.Estimate) []table.Cell {
	together := combined(samples)
	row := []table.Cell{table.Text(s.provenance), table.Text(s.benchmark), table.Text(s.model), table.Integer(s.budget), table.Text(strategy),
		table.Integer(together.Runs), table.Integer(uniform.Runs), number(together.Variance), number(uniform.Variance)}
	row = append(row, ratioCells(s, strategy, samples, uniform, replayed)...)
	d := agreement.Mean(together, truth)
	if math.IsNaN(truth.Value) {
		d.Verdict = agreement.Shown
	}
	return append(row, number(together.Mean), number(truth.Value), number(d.Value), number(d.SE), number(d.Z), verdict(d.Verdict))
}

// ratioCells are the ratio to Uniform beside the replay's; Uniform has none.
func ratioCells(s setting, strategy string, samples []agreement.Sample, uniform agreement.Sample, replayed Replayed) []table.Cell {
	cells := make([]table.Cell, 6)
	if strategy == measurement.Uniform {
		return cells
	}
	predicted, known := replayed(s.profile(), s.budget)
	if known {
		cells[2], cells[3] = number(predicted.Value), number(predicted.SE)
	}
	ratio, ok := agreement.Over(samples, uniform)
	if !ok {
		cells[5] = verdict(agreement.TooFew)
		return cells
	}
	cells[0], cells[1], cells[5] = number(ratio.Value), number(ratio.SE), verdict(agreement.Shown)
	if known {
		d := ratio.Against(predicted)
		cells[4], cells[5] = number(d.Z), verdict(d.Verdict)
	}
	return cells
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

// profileMean is the mean of a setting's profile with its error, √(Σv/K)/N; NaN
// where the profile is not there.
func profileMean(s setting, profiles []profile.Profile) agreement.Estimate {
	for _, p := range profiles {
		if p.Name() == s.profile() {
			return meanOf(p)
		}
	}
	return agreement.Estimate{Value: math.NaN(), SE: math.NaN()}
}

func meanOf(p profile.Profile) agreement.Estimate {
	sum := 0.0
	for i := range p.N() {
		sum += p.P(i)
	}
	n := float64(p.N())
	return agreement.Estimate{Value: sum / n, SE: math.Sqrt(p.VarianceSum()/float64(p.TestedK)) / n}
}

// profile is the name of the setting's profile.
func (s setting) profile() string {
	return profile.Profile{Benchmark: s.benchmark, Model: s.model}.Name()
}
