package tables

import (
	"fmt"
	"math"
	"strconv"

	"speceval/internal/agreement"
	"speceval/internal/paper"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// TSNeyman is the paper's Table 8: the hindsight envelope of Bernoulli TS-Neyman
// against HBN.
var TSNeyman = &model.Table{
	Base: paper.TSNeyman, Section: paper.TSNeyman, Label: "tab:ts-neyman-envelope",
	Reads:   stored.Reads{Units: []dag.Ref{stored.SearchRef, stored.DesignsRef, stored.RatiosRef}, Paper: true},
	Chapter: "A sequential baseline",
	Remarks: []string{
		`<ref table8_ts_neyman> holds HBN against the sequential baseline, Bernoulli TS-Neyman, which chooses the task of every single rollout and cannot run rollouts side by side.`,
		`Its mean less HBN's is \specHBNBelowTS<LOW>{} percentage points at $b=<low>$ and \specHBNBelowTS<HIGH>{} at $b=<high>$.`,
		`Over other benchmarks, the 95\% interval of that difference \specTSOverHBNInterval{}; \specTSOverHBNProfiles{}.`,
	},
	Make: makeTS, Macros: tsMacros,
}

// paperTrajectories is the number of trajectories of every candidate on every
// profile in the paper.
const paperTrajectories = 8192

// tsRow is a row of Table 8.
type tsRow struct{ variance.Envelope }

// tsRows computes Table 8.
func tsRows(src *stored.Source) (rows []tsRow, err error) {
	res, err := src.Results()
	if err != nil {
		return nil, err
	}
	search, err := src.Search()
	if err != nil {
		return nil, err
	}
	all, err := variance.Envelopes(res.Designs, res.Ratios, search)
	for _, e := range all {
		rows = append(rows, tsRow{e})
	}
	return rows, err
}

func makeTS(src *stored.Source) (*model.Sheet, error) {
	rows, err := tsRows(src)
	if err != nil {
		return nil, err
	}
	numbers, err := src.Paper()
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{
		Rows: len(rows),
		Title: "Bernoulli TS-Neyman against HBN: mean Uniform-normalized MSE over the profiles; lower is better. " +
			"At each budget the prior strength alpha and warm start m0 that do best in hindsight, the same on all profiles, " +
			"with Monte Carlo standard errors. Delta: TS-Neyman minus HBN.",
	}
	s.Key = func(i int) paper.Key { return paper.Key{Budget: rows[i].Best.Budget} }
	s.Lack = model.IfAbsent("not searched")
	for _, r := range rows {
		s.Notes = append(s.Notes, r.note())
	}
	s.Add(model.BudgetColumn(func(i int) int32 { return rows[i].Best.Budget }))
	s.Add(choiceColumns(rows, numbers)...)
	s.Add(tsColumns(rows)...)
	return s, nil
}

// choiceColumns are the selected prior strength and warm start, which stand in one
// column in print.
func choiceColumns(rows []tsRow, numbers *paper.Numbers) []model.Column {
	choice := func(alpha, m0 float64) table.Cell {
		return table.Text("(" + shortest(alpha) + ", " + strconv.Itoa(int(m0)) + ")")
	}
	want := func(key paper.Key) (alpha, m0 float64, ok bool) {
		alpha, ok = numbers.At(paper.TSNeyman, "alpha", key)
		m0, _ = numbers.At(paper.TSNeyman, "m0", key)
		return alpha, m0, ok
	}
	judged := func(i int) (alpha, m0 agreement.Comparison) {
		a, m, _ := want(paper.Key{Budget: rows[i].Best.Budget})
		return rows[i].judgeChoice(a, int32(m))
	}
	const printed = "(alpha, m0)"
	return []model.Column{
		{Head: table.Head{Plain: printed, TeX: `$(\alpha, m_0)$`}, Align: table.Center, Paired: true,
			Shown: func(i int) table.Cell { return choice(rows[i].Best.Alpha, float64(rows[i].Best.M0)) },
			Rule: &model.Rule{Unjudged: true, Cell: func(key paper.Key) table.Cell {
				if alpha, m0, ok := want(key); ok {
					return choice(alpha, m0)
				}
				return table.Missing()
			}}},
		{Name: "alpha", Cell: model.Numbers(func(i int) float64 { return rows[i].Best.Alpha }),
			Words: "The prior strength of TS-Neyman: with m0 the candidate whose mean over the profiles is least at this budget, among those that ran all trajectories (Appendix C.3). Of replay/ts_candidates.parquet.",
			Rule:  &model.Rule{Where: "Table 8", Class: agreement.Computed, Decimals: 2, Judge: func(i int, _ float64) agreement.Comparison { a, _ := judged(i); return a }}},
		{Name: "m0", Cell: model.Counts(func(i int) int32 { return rows[i].Best.M0 }),
			Words: "The warm start of TS-Neyman, rollouts of every task before the sequential choices begin; selected together with alpha (Appendix C.3). Of replay/ts_candidates.parquet.",
			Rule:  &model.Rule{Where: "Table 8", Class: agreement.Computed, Judge: func(i int, _ float64) agreement.Comparison { _, m := judged(i); return m }}},
	}
}

// tsColumns are the means of both policies, their difference, and the search.
func tsColumns(rows []tsRow) []model.Column {
	column := func(name, words string, value func(tsRow) float64) model.Column {
		return model.Column{Name: name, Words: words, Cell: model.Numbers(func(i int) float64 { return value(rows[i]) })}
	}
	counted := func(name, words string, value func(tsRow) int) model.Column {
		return model.Column{Name: name, Words: words, Cell: model.Counts(func(i int) int { return value(rows[i]) })}
	}
	judged := func(c model.Column, head table.Head, compare func(i int, want float64) agreement.Comparison) model.Column {
		c.Head, c.Align, c.Format, c.Paired = head, table.Center, percent2, true
		c.Rule = &model.Rule{Where: "Table 8", Class: agreement.Computed, Decimals: 4, Judge: compare}
		return c
	}
	ts := judged(column("ts", "The mean squared error of TS-Neyman over that of Uniform, V_U = Σ v_i/(N²b), "+
		"the mean over the profiles at the selected candidate: of whole sequential trajectories by Eq. 24, less a control variate of known mean. The row of replay/ts_candidates.parquet that is selected at this budget.",
		func(r tsRow) float64 { return r.Best.MSE }), table.Head{Plain: policy.TS.Label},
		func(i int, want float64) agreement.Comparison {
			b := rows[i].Best
			return warranted(b.MSE, math.Hypot(b.MSESE, paperNoise(b)), want)
		})
	ts.PlusMinus = func(i int) *float64 { return &rows[i].Best.MSESE }
	hbn := judged(column("hbn", "HBN's entry of Table 1, which is its mean squared error as well, since it has no bias. Of the hbn rows in replay/ratios.parquet.",
		func(r tsRow) float64 { return r.HBN.Value }), table.Head{Plain: policy.HBN.Label},
		func(i int, want float64) agreement.Comparison {
			return agreement.Compare(rows[i].HBN.Estimate, want, 4, 0)
		})
	delta := judged(column("delta", "TS-Neyman minus HBN: ts − hbn.", func(r tsRow) float64 { return r.Delta().Value }), deltaHead,
		func(i int, want float64) agreement.Comparison {
			r := rows[i]
			return warranted(r.Delta().Value, math.Hypot(math.Hypot(r.Delta().SE, r.HBN.SE), paperNoise(r.Best)), want)
		})
	delta.PlusMinus = func(i int) *float64 { se := rows[i].Delta().SE; return &se }
	noise := func(of, words string, se func(tsRow) float64) model.Column {
		return errorColumn(of+"_se", of, words, func(i int) float64 { return se(rows[i]) })
	}
	return []model.Column{
		ts,
		noise("ts", "The Monte Carlo standard error of ts, from the spread over trajectories; the choice of the candidate by the same trajectories is not in it.",
			func(r tsRow) float64 { return r.Best.MSESE }),
		hbn, delta,
		counted("draws", "The trajectories of each profile that ts is the mean over, at least: profiles with less than 100 tasks have more.", func(r tsRow) int { return int(r.Best.Draws) }),
		errorColumn("hbn_se", "hbn", meanErrorWords, func(i int) float64 { return rows[i].HBN.SE }),
		noise("delta", "The Monte Carlo standard error of delta: those of ts and of hbn, which share no draws, added in squares.",
			func(r tsRow) float64 { return r.Delta().SE }),
		column("raw", "The same mean squared error without the control variate: the plain mean of squared errors. The row of replay/ts_candidates.parquet that is selected at this budget.",
			func(r tsRow) float64 { return r.Best.Raw }),
		noise("raw", "The Monte Carlo standard error of raw.", func(r tsRow) float64 { return r.Best.RawSE }),
		counted("candidates", "How many pairs of prior strength and warm start were searched at this budget: the rows of replay/ts_candidates.parquet.",
			func(r tsRow) int { return len(r.Candidates) }),
		counted("ties", "How many other candidates are no worse than the selected one beyond 3 standard errors of the difference: excess against excess_se. Of replay/ts_candidates.parquet.",
			func(r tsRow) int { return len(r.Ties) }),
	}
}

// note says how thorough the search was at a budget, and which other finalists
// do as well.
func (r tsRow) note() string {
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

// judgeChoice compares the selected prior strength and warm start. Another
// choice is a tie if the paper's does no worse in our search than the noise of
// both searches allows.
func (r tsRow) judgeChoice(alpha float64, m0 int32) (a, m agreement.Comparison) {
	a = agreement.Compare(exactly(r.Best.Alpha), alpha, 2, 0)
	m = agreement.Compare(exactly(float64(r.Best.M0)), float64(m0), 0, 0)
	told := fmt.Sprintf("%d of the %d other candidates are as good within 3 s.e.", len(r.Ties), len(r.Candidates)-1)
	if a.Verdict == agreement.Agrees && m.Verdict == agreement.Agrees {
		return a.Noted(told), m.Noted(told)
	}
	for _, s := range r.Candidates {
		if s.Alpha != alpha || s.M0 != m0 {
			continue
		}
		loss, se := s.Excess, s.ExcessSE
		higher := "higher"
		if loss < 0 { // in the race, which did not decide between finalists
			higher = "lower"
		}
		note := fmt.Sprintf("the paper's (%g, %d) is %.4f %s here, s.e. %.4f; %s", alpha, m0, math.Abs(loss), higher, se, told)
		tie := func(c agreement.Comparison) agreement.Comparison {
			if c.Verdict == agreement.Agrees {
				return c.Noted(told)
			}
			theirs := math.Hypot(paperNoise(s), paperNoise(r.Best))
			return agreement.Choice(c, loss, math.Hypot(se, theirs)/math.Sqrt2).Noted(note)
		}
		return tie(a), tie(m)
	}
	const note = "the search lacks the paper's candidate"
	return a.Noted(note), m.Noted(note)
}

// tsMacros are what the search for TS-Neyman found at each budget, and HBN's
// mean variance there.
func tsMacros(src *stored.Source) (all []model.Macro, err error) {
	search, err := src.Search()
	if err != nil {
		return nil, err
	}
	rows, err := meanRows(src)
	if err != nil {
		return nil, err
	}
	hbn := map[int32]variance.Mean{}
	for _, r := range rows {
		if e, ok := r.Of[policy.HBN]; ok {
			hbn[r.Budget] = e
		}
	}
	for _, c := range search {
		if !c.Selected {
			continue
		}
		all = append(all,
			macroOf("TSVariance", c.Budget, fmt.Sprintf("%.2f%%", 100*c.MSE)),
			macroOf("TSVarianceSE", c.Budget, fmt.Sprintf("%.2f", 100*c.MSESE)),
			macroOf("TSAlpha", c.Budget, shortest(c.Alpha)),
			macroOf("TSWarmStart", c.Budget, strconv.Itoa(int(c.M0))))
		if e, ok := hbn[c.Budget]; ok {
			all = append(all, macroOf("HBNBelowTS", c.Budget, minus(table.Format{Decimals: 2, Scale: 100}.Print(c.MSE-e.Value))))
		}
	}
	return all, nil
}
