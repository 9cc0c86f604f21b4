package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// TSNeyman is the paper's Table 8: the hindsight envelope of Bernoulli TS-Neyman
// against HBN.
var TSNeyman = &model.Table{
	Base: paper.TSNeyman, Label: "tab:ts-neyman-envelope",
	Reads:   stored.Reads{Units: []dag.Ref{stored.SearchRef, stored.DesignsRef, stored.RatiosRef}, Paper: true},
	Chapter: "A sequential baseline",
	Remarks: []string{
		`<ref table8_ts_neyman> holds HBN against the sequential baseline, Bernoulli TS-Neyman, which chooses the task of every single rollout and cannot run rollouts side by side.`,
		`Its mean less HBN's is \specHBNBelowTS<LOW>{} percentage points at $b=<low>$ and \specHBNBelowTS<HIGH>{} at $b=<high>$.`,
		`Over other benchmarks, the 95\% interval of that difference \specTSOverHBNInterval{}; \specTSOverHBNProfiles{}.`,
	},
	Make: makeTS, Macros: tsMacros,
	Words: `
alpha       The prior strength of TS-Neyman: with m0 the candidate whose mean over the profiles is least at this budget, among those that ran all trajectories (Appendix C.3). Of
            replay/ts_candidates.parquet.
m0          The warm start of TS-Neyman, rollouts of every task before the sequential choices begin; selected together with alpha (Appendix C.3). Of replay/ts_candidates.parquet.
ts          The mean squared error of TS-Neyman over that of Uniform, V_U = Σ v_i/(N²b), the mean over the profiles at the selected candidate: of whole sequential trajectories by Eq. 24,
            less a control variate of known mean. The row of replay/ts_candidates.parquet that is selected at this budget.
ts_se       The Monte Carlo standard error of ts, from the spread over trajectories; the choice of the candidate by the same trajectories is not in it.
hbn         HBN's entry of Table 1, which is its mean squared error as well, since it has no bias. Of the hbn rows in replay/ratios.parquet.
delta       TS-Neyman minus HBN: ts − hbn.
draws       The trajectories of each profile that ts is the mean over, at least: profiles with less than 100 tasks have more.
hbn_se      <mean_se>
delta_se    The Monte Carlo standard error of delta: those of ts and of hbn, which share no draws, added in squares.
raw         The same mean squared error without the control variate: the plain mean of squared errors. The row of replay/ts_candidates.parquet that is selected at this budget.
raw_se      The Monte Carlo standard error of raw.
candidates  How many pairs of prior strength and warm start were searched at this budget: the rows of replay/ts_candidates.parquet.
ties        How many other candidates are no worse than the selected one beyond 3 standard errors of the difference: excess against excess_se. Of replay/ts_candidates.parquet.
`,
}

// paperTrajectories is the number of trajectories of every candidate on every
// profile in the paper.
const paperTrajectories = 8192

// tsRow is a row of Table 8.
type tsRow struct {
	Budget     int32   `csv:"budget" head:"b|$b$"`
	Choice     string  `head:"(alpha, m0)|$(\\alpha, m_0)$" align:"center" paper:"0 paired"`
	Alpha      float64 `csv:"alpha" paper:"2"`
	M0         int32   `csv:"m0" paper:"0"`
	TS         float64 `csv:"ts" head:"TS-Neyman" align:"center" format:".2%±" paper:"4 paired"`
	TSSE       float64 `csv:"ts_se"`
	HBN        float64 `csv:"hbn" head:"HBN" align:"center" format:".2%" paper:"4 paired"`
	Delta      float64 `csv:"delta" head:"Delta|$\\Delta$" align:"center" format:".2%±" paper:"4 paired"`
	Draws      int32   `csv:"draws"`
	HBNSE      float64 `csv:"hbn_se"`
	DeltaSE    float64 `csv:"delta_se"`
	Raw        float64 `csv:"raw"`
	RawSE      float64 `csv:"raw_se"`
	Candidates int     `csv:"candidates"`
	Ties       int     `csv:"ties"`
}

// envelopes are the best candidates of the search, by budget.
func envelopes(src *stored.Source) ([]variance.Envelope, error) {
	standings, err := stored.Standings(src)
	search, noSearch := stored.Search(src)
	return variance.Envelopes(standings, search), cmp.Or(err, noSearch)
}

func makeTS(src *stored.Source) (*model.Sheet, error) {
	all, err := envelopes(src)
	if err != nil {
		return nil, err
	}
	var rows []tsRow
	for _, e := range all {
		b, delta := e.Best, e.Delta()
		rows = append(rows, tsRow{
			Budget: b.Budget, Choice: choice(b.Alpha, float64(b.M0)), Alpha: b.Alpha, M0: b.M0, TS: b.MSE, TSSE: b.MSESE,
			HBN: e.HBN.Value, HBNSE: e.HBN.SE, Delta: delta.Value, DeltaSE: delta.SE, Draws: b.Draws,
			Raw: b.Raw, RawSE: b.RawSE, Candidates: len(e.Candidates), Ties: len(e.Ties),
		})
	}
	s := model.NewSheet("Bernoulli TS-Neyman against HBN: mean Uniform-normalized MSE over the profiles; lower is better. "+
		"At each budget the prior strength alpha and warm start m0 that do best in hindsight, the same on all profiles, "+
		"with Monte Carlo standard errors. Delta: TS-Neyman minus HBN.", rows)
	s.Absent = "not searched"
	for _, e := range all {
		s.Notes = append(s.Notes, searched(e))
	}
	theirs := func(key paper.Key) (alpha, m0 float64) {
		alpha, _ = s.Paper.At(paper.TSNeyman, "alpha", key)
		m0, _ = s.Paper.At(paper.TSNeyman, "m0", key)
		return alpha, m0
	}
	s.Column("").Rule.Cell = func(key paper.Key) table.Cell { return table.Text(choice(theirs(key))) }
	s.Column("alpha").Rule.Judge = func(i int, want float64) agreement.Comparison {
		_, m0 := theirs(s.Key(i))
		return judgeChoice(all[i], agreement.Compare(exactly(rows[i].Alpha), want, 2, 0), want, int32(m0))
	}
	s.Column("m0").Rule.Judge = func(i int, want float64) agreement.Comparison {
		alpha, _ := theirs(s.Key(i))
		return judgeChoice(all[i], agreement.Compare(exactly(float64(rows[i].M0)), want, 0, 0), alpha, int32(want))
	}
	s.Column("ts").Rule.Judge = func(i int, want float64) agreement.Comparison {
		return warranted(rows[i].TS, math.Hypot(rows[i].TSSE, paperNoise(all[i].Best)), want)
	}
	s.Column("delta").Rule.Judge = func(i int, want float64) agreement.Comparison {
		return warranted(rows[i].Delta, math.Hypot(math.Hypot(rows[i].DeltaSE, rows[i].HBNSE), paperNoise(all[i].Best)), want)
	}
	return s, nil
}

// choice is a prior strength and a warm start in print.
func choice(alpha, m0 float64) string { return fmt.Sprintf("(%g, %g)", alpha, m0) }

// searched says how thorough the search was at a budget, and which other finalists
// do as well.
func searched(r variance.Envelope) string {
	note := fmt.Sprintf("b = %d: at least %d trajectories on each profile, the best of %d candidates", r.Best.Budget, r.Best.Draws, len(r.Candidates))
	if n := len(r.Ties); n > 0 {
		note += fmt.Sprintf("; as good within noise: (%g, %d)", r.Ties[0].Alpha, r.Ties[0].M0)
		if n > 1 {
			note += fmt.Sprintf(" and %d more", n-1)
		}
	}
	return note + "."
}

// paperNoise is the standard error of the paper's mean for a candidate: that of
// our plain estimate, with its number of trajectories.
func paperNoise(s variance.Search) float64 { return s.RawSD / math.Sqrt(paperTrajectories) }

// warranted is agreement.Compare with a standard error of the difference, for a
// number of the paper that has less noise than ours. Agreement is worth what that
// error can tell.
func warranted(obtained, se, paper float64) agreement.Comparison {
	c := agreement.Compare(agreement.Estimate{Value: obtained, SE: se / math.Sqrt2}, paper, 4, 0)
	return c.Noted(fmt.Sprintf("its s.e. tells no less than %.2f points apart", 100*agreement.Sigmas*se))
}

// judgeChoice compares the selected prior strength, or warm start. Another choice is a tie
// if the paper's does no worse in our search than the noise of both searches allows.
func judgeChoice(r variance.Envelope, c agreement.Comparison, alpha float64, m0 int32) agreement.Comparison {
	told := fmt.Sprintf("%d of the %d other candidates are as good within 3 s.e.", len(r.Ties), len(r.Candidates)-1)
	at := slices.IndexFunc(r.Candidates, func(s variance.Search) bool { return s.Alpha == alpha && s.M0 == m0 })
	switch {
	case at < 0:
		return c.Noted("the search lacks the paper's candidate")
	case c.Verdict == agreement.Agrees:
		return c.Noted(told)
	}
	loss, se := r.Candidates[at].Excess, r.Candidates[at].ExcessSE
	higher := "higher"
	if loss < 0 { // in the race, which did not decide between finalists
		higher = "lower"
	}
	// the paper's noise is alike for both: a candidate that the curve alone knows has none of ours
	return agreement.Choice(c, loss, math.Hypot(se/math.Sqrt2, paperNoise(r.Best))).
		Noted(fmt.Sprintf("the paper's (%g, %d) is %.4f %s here, s.e. %.4f; %s", alpha, m0, math.Abs(loss), higher, se, told))
}

// tsMacros have the best candidate of TS-Neyman at each budget, and its distance to HBN.
func tsMacros(src *stored.Source) (all []model.Macro, err error) {
	found, err := envelopes(src)
	for _, e := range found {
		b := e.Best.Budget
		all = append(all,
			macroOf("TSVariance", b, table.Format{Decimals: 2, Percent: true}.Print(e.Best.MSE)),
			macroOf("TSVarianceSE", b, fixed(100*e.Best.MSESE, 2)),
			macroOf("TSAlpha", b, shortest(e.Best.Alpha)),
			macroOf("TSWarmStart", b, fmt.Sprint(e.Best.M0)),
			macroOf("HBNBelowTS", b, table.Format{Decimals: 2, Scale: 100}.Print(e.Delta().Value)))
	}
	return all, err
}
