package replay

import (
	"cmp"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/variance"
)

// tsMeans are the means over profiles of every candidate at every budget, by
// budget, prior strength and warm start.
func tsMeans(rows []tsRow) []variance.Search {
	type place struct {
		budget int32
		tsFinalist
	}
	type group struct {
		mse, raw []tsError
		draws    int32
	}
	groups := map[place]*group{}
	var places []place
	for _, r := range rows {
		at := place{r.Budget, tsFinalist{r.Alpha, r.M0}}
		g := groups[at]
		if g == nil {
			g = &group{draws: r.Draws}
			groups[at], places = g, append(places, at)
		}
		g.mse = append(g.mse, tsError{r.MSE, r.MSESE})
		g.raw = append(g.raw, tsError{r.Raw, r.RawSE})
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.budget, b.budget), cmp.Compare(a.Alpha, b.Alpha), cmp.Compare(a.M0, b.M0))
	})
	var means []variance.Search
	for _, at := range places {
		g := groups[at]
		mse, raw := tsMean(g.mse), tsMean(g.raw)
		means = append(means, variance.Search{
			Budget: at.budget, Alpha: at.Alpha, M0: at.M0,
			MSE: mse.value, MSESE: mse.se, Raw: raw.value, RawSE: raw.se, Draws: g.draws,
		})
	}
	return means
}

// tsBest are the candidates that are among the best of some budget, so many of
// each, by prior strength and warm start.
func tsBest(means []variance.Search, each int) []tsFinalist {
	var best []tsFinalist
	for start := 0; start < len(means); {
		end := start
		for end < len(means) && means[end].Budget == means[start].Budget {
			end++
		}
		ranked := slices.Clone(means[start:end])
		slices.SortStableFunc(ranked, func(a, b variance.Search) int { return cmp.Compare(a.MSE, b.MSE) })
		for _, m := range ranked[:min(each, len(ranked))] {
			if f := (tsFinalist{m.Alpha, m.M0}); !slices.Contains(best, f) {
				best = append(best, f)
			}
		}
		start = end
	}
	slices.SortFunc(best, func(a, b tsFinalist) int {
		return cmp.Or(cmp.Compare(a.Alpha, b.Alpha), cmp.Compare(a.M0, b.M0))
	})
	return best
}

// tsSelect sums up a search: every candidate as first found out, or for finalists
// as last, and of each budget the finalist with the least mean, with its ratios
// on the profiles. A tie goes to the smaller prior strength and warm start.
func tsSelect(first, last []tsRow) (search []variance.Search, ratios []variance.Ratio) {
	type place struct {
		budget int32
		tsFinalist
	}
	final := map[place]variance.Search{}
	best := map[int32]variance.Search{}
	for _, m := range tsMeans(last) {
		m.Finalist = true
		final[place{m.Budget, tsFinalist{m.Alpha, m.M0}}] = m
		if top, ok := best[m.Budget]; !ok || m.MSE < top.MSE {
			best[m.Budget] = m
		}
	}
	for _, m := range tsMeans(first) {
		if f, ok := final[place{m.Budget, tsFinalist{m.Alpha, m.M0}}]; ok {
			m = f
		}
		top := best[m.Budget]
		m.Selected = m.Alpha == top.Alpha && m.M0 == top.M0
		search = append(search, m)
	}
	for _, r := range last {
		if top := best[r.Budget]; r.Alpha == top.Alpha && r.M0 == top.M0 {
			ratios = append(ratios, variance.Ratio{
				Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: r.Budget,
				Policy: policy.TS.Name, Donors: policy.TS.Donors.Name, Alpha: &r.Alpha, M: &r.M0,
				VarianceRatio: r.MSE, RatioSE: r.MSESE, Draws: r.Draws,
			})
		}
	}
	return search, ratios
}
