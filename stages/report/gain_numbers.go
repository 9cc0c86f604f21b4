package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// gainNumbers is what HBN gains, over budgets and beside the other policies: the
// least and the greatest reduction of the mean variance, by how many percentage
// points it is below EN's and IBN's, and the budget of a Uniform with HBN's
// precision, b/r averaged over profiles by their tasks as in Table 4.
func gainNumbers(rows []meanRow, ratios []variance.Ratio) []macro {
	var out []macro
	var reductions []float64
	for _, r := range rows {
		hbn, ok := r.means[variance.HBN]
		if !ok {
			continue
		}
		reductions = append(reductions, 1-hbn.Value)
		for _, other := range []string{variance.TunedEN, variance.TunedIBN} {
			if e, ok := r.means[other]; ok {
				out = append(out, macro{"specHBNBelow" + macroName[other] + "B" + spelled(r.budget), minus(table.Format{Decimals: 1, Scale: 100}.Print(e.Value - hbn.Value))})
			}
		}
		worth := meanEquivalent(pick(ratios, variance.HBN, r.budget))
		out = append(out,
			macro{"specEquivalentBudgetB" + spelled(r.budget), fmt.Sprintf("%.1f", worth)},
			macro{"specEquivalentGainB" + spelled(r.budget), minus(percent(worth/float64(r.budget) - 1))})
	}
	if len(reductions) > 0 {
		out = append(out, macro{"specHBNReductionLeast", minus(percent(slices.Min(reductions)))},
			macro{"specHBNReductionMost", minus(percent(slices.Max(reductions)))})
	}
	return out
}

// meanEquivalent is the mean of b/r over profiles, weighted by their tasks.
func meanEquivalent(hbn []variance.Ratio) float64 {
	var tasks, sum float64
	for _, r := range hbn {
		tasks += float64(r.NTasks)
		sum += float64(r.NTasks) * float64(r.Budget) / r.VarianceRatio
	}
	return sum / tasks
}

// minus gives a number the sign that Escape turns into TeX's.
func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

// experimentNumbers counts what was evaluated: profiles and their benchmarks, and
// the tasks and the responses of the corpus.
func experimentNumbers(e Experiment) []macro {
	benchmarks := map[string]bool{}
	for _, p := range e.Profiles {
		benchmark, _, _ := strings.Cut(p.Name, "__model=")
		benchmarks[benchmark] = true
	}
	return []macro{
		{"specProfiles", strconv.Itoa(len(e.Profiles))},
		{"specBenchmarks", strconv.Itoa(len(benchmarks))},
		{"specTasks", grouped(e.Corpus.Tasks)},
		{"specResponses", grouped(e.Corpus.Responses)},
	}
}

// tsNumbers is what the search for TS-Neyman found at each budget, beside HBN's
// mean variance there (Table 8).
func tsNumbers(candidates []variance.Search, hbn map[int32]float64) []macro {
	var out []macro
	for _, c := range candidates {
		if !c.Selected {
			continue
		}
		b := "B" + spelled(c.Budget)
		out = append(out,
			macro{"specTSVariance" + b, fmt.Sprintf("%.2f%%", 100*c.MSE)},
			macro{"specTSVarianceSE" + b, fmt.Sprintf("%.2f", 100*c.MSESE)},
			macro{"specTSAlpha" + b, strconv.FormatFloat(c.Alpha, 'g', -1, 64)},
			macro{"specTSWarmStart" + b, strconv.Itoa(int(c.M0))})
		if v, ok := hbn[c.Budget]; ok {
			out = append(out, macro{"specHBNBelowTS" + b, minus(table.Format{Decimals: 2, Scale: 100}.Print(c.MSE - v))})
		}
	}
	return out
}

// hbnMeans is HBN's mean variance at every budget.
func hbnMeans(res Results) (map[int32]float64, error) {
	rows, err := meanRows(res)
	means := map[int32]float64{}
	for _, r := range rows {
		if e, ok := r.means[variance.HBN]; ok {
			means[r.budget] = e.Value
		}
	}
	return means, err
}
