package replay

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/variance"
)

// tsSearch is what the trajectories of all candidates say.
type tsSearch struct {
	profiles map[tsCandidateAt][]tsProfile
	order    []tsCandidateAt
}

func newSearch(rows []tsRow) tsSearch {
	s := tsSearch{profiles: tsProfiles(rows)}
	s.order = slices.SortedFunc(maps.Keys(s.profiles), tsCandidateAt.compare)
	return s
}

// atBudgets splits the candidates by budget.
func (s tsSearch) atBudgets() [][]tsCandidateAt {
	var groups [][]tsCandidateAt
	for _, c := range s.order {
		if n := len(groups); n == 0 || groups[n-1][0].Budget != c.Budget {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], c)
	}
	return groups
}

// finalists are the best candidates of every budget, so many of each.
func (s tsSearch) finalists(each int) []tsCandidateAt {
	var all []tsCandidateAt
	for _, group := range s.atBudgets() {
		best := s.rank(group, smooth).best(each)
		slices.SortFunc(best, tsCandidateAt.compare)
		all = append(all, best...)
	}
	return all
}

// found is what is known of a candidate.
func (s tsSearch) found(c tsCandidateAt) variance.Search {
	profiles := s.profiles[c]
	mse := tsMean(profiles, func(p tsProfile) tsError { return p.mse })
	raw := tsMean(profiles, func(p tsProfile) tsError { return p.raw })
	return variance.Search{
		Budget: c.Budget, Alpha: c.Alpha, M0: c.M0,
		MSE: mse.value, MSESE: mse.se, Raw: raw.value, RawSE: raw.se, RawSD: spread(profiles), Draws: fewest(profiles),
	}
}

// fewest is the least number of trajectories that there are of a profile.
func fewest(profiles []tsProfile) int32 {
	least := profiles[0].draws
	for _, p := range profiles {
		least = min(least, p.draws)
	}
	return least
}

// spread is the standard deviation of the mean of a single trajectory of each profile,
// without the control variate.
func spread(profiles []tsProfile) float64 {
	squares := 0.0
	for _, p := range profiles {
		squares += float64(p.draws) * p.raw.se * p.raw.se
	}
	return math.Sqrt(squares) / float64(len(profiles))
}

// selectTS sums up a search: every candidate as first found out, or for finalists
// as last, and of each budget the finalist with the least mean, with its ratios
// on the profiles. By how much the others are worse is of the first trajectories,
// which all of them have. A tie goes to the smaller prior strength and warm start.
func selectTS(first, last tsSearch, using smoothing) (search []variance.Search, ratios []variance.Ratio) {
	for _, group := range first.atBudgets() {
		var rows []variance.Search
		selected := -1
		for k, c := range group {
			row := first.found(c)
			if last.profiles[c] != nil {
				row = last.found(c)
				row.Finalist = true
				if selected < 0 || row.MSE < rows[selected].MSE {
					selected = k
				}
			}
			rows = append(rows, row)
		}
		rows[selected].Selected = true
		ranking := first.rank(group, using)
		for k := range rows {
			excess := ranking.excess(k, selected)
			rows[k].Excess, rows[k].ExcessSE = excess.value, excess.se
		}
		search = append(search, rows...)
		ratios = append(ratios, last.ratios(group[selected])...)
	}
	return search, ratios
}

// ratios are those of a candidate on the profiles.
func (s tsSearch) ratios(c tsCandidateAt) (ratios []variance.Ratio) {
	for _, p := range s.profiles[c] {
		ratios = append(ratios, variance.Ratio{
			Benchmark: p.benchmark, Model: p.model, NTasks: p.tasks, Budget: c.Budget,
			Policy: policy.TS.Name, Donors: policy.TS.Donors.Name, Alpha: &c.Alpha, M: &c.M0,
			VarianceRatio: p.mse.value, RatioSE: p.mse.se, Draws: p.draws,
		})
	}
	return ratios
}

// best are the candidates with the least means.
func (r tsRanking) best(each int) []tsCandidateAt {
	order := make([]int, len(r.candidates))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.mean(a), r.mean(b)) })
	var best []tsCandidateAt
	for _, k := range order[:min(each, len(order))] {
		best = append(best, r.candidates[k])
	}
	return best
}
