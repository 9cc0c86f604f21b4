package page

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/table"
	"speceval/stages/report/stored"
)

// savings are HBN's savings: the sentence that begins the page, and a bar for each budget.
type savings struct {
	Sentence string
	Errors   string // of what
	Bars     []bar
}

// bar is a budget and that of the Uniform with HBN's precision, in rollouts a task.
type bar struct {
	Budget       int32
	Needs        string
	Own, Uniform float64 // lengths, in percent of the longest

	worth float64
	clear bool // beyond the error
}

// newSavings averages b/r over profiles, weighted by their tasks, as Table 4 does. Errors
// are those of replay and design, and those of the profiles' pass rates.
func newSavings(src *stored.Source) (s savings, err error) {
	s.Sentence = "The replay stage has not run: what HBN saves is not known yet."
	results, profiles, err := replayed(src)
	if err != nil || len(results.Ratios) == 0 {
		return s, err
	}
	if s.Errors = errorsOf(profiles); src.Few != "" {
		s.Errors = src.Few + ". " + s.Errors
	}
	most, at := 0.0, -1
	for _, hbn := range variance.Spreads(results.Ratios, policy.HBN) {
		se, _, err := variance.EquivalentErrors(results.Designs, hbn.Ratios)
		if err != nil {
			return s, err
		}
		se = math.Hypot(se, equivalentError(hbn.Ratios, profiles))
		own := float64(hbn.Budget)
		b := bar{Budget: hbn.Budget, worth: variance.MeanEquivalent(hbn.Ratios)}
		needs := fmt.Sprintf("%.2f ± %.2f (%+.0f%%)", b.worth, se, math.Round(100*(b.worth/own-1))+0) // not -0
		if b.clear = math.Abs(b.worth-own) >= certain*se; !b.clear {
			needs += ": no difference beyond the error"
		}
		b.Needs = table.Minus(needs)
		most = max(most, b.worth, own)
		if s.Bars = append(s.Bars, b); b.Budget == int32(src.CaseStudy.Budget) {
			at = len(s.Bars) - 1
		}
	}
	for i := range s.Bars {
		b := &s.Bars[i]
		b.Own, b.Uniform = math.Round(1000*float64(b.Budget)/most)/10, math.Round(1000*b.worth/most)/10
	}
	if at < 0 {
		at = len(s.Bars) - 1
	}
	switch {
	case at < 0:
	case !s.Bars[at].clear:
		s.Sentence = fmt.Sprintf("At %d rollouts a task no difference of HBN to Uniform is beyond the error.", s.Bars[at].Budget)
	default:
		decimals := 0
		if math.Round(s.Bars[at].worth) == float64(s.Bars[at].Budget) { // the difference is smaller
			decimals = 2
		}
		s.Sentence = fmt.Sprintf("At %d rollouts a task HBN is as precise as Uniform at %.*f.", s.Bars[at].Budget, decimals, s.Bars[at].worth)
	}
	return s, nil
}

// certain is how many standard errors a saving is beyond, to be called one.
const certain = 2

// replayed is the stored ratios, and their errors that come from the profiles; both are
// empty where the replay has not run.
func replayed(src *stored.Source) (stored.Replay, variance.ProfileErrors, error) {
	results, err := stored.Results(src)
	if err != nil {
		return results, nil, err
	}
	errors, err := stored.ProfileErrors(src)
	return results, errors, err
}

// equivalentError is the standard error of the mean b/r that comes from the profiles.
func equivalentError(rows []variance.Ratio, profiles variance.ProfileErrors) float64 {
	var tasks, sum float64
	for _, r := range rows {
		n := float64(r.NTasks)
		tasks += n
		sum = math.Hypot(sum, n*float64(r.Budget)*profiles[r.Entry()].ProfileSE/(r.VarianceRatio*r.VarianceRatio))
	}
	return sum / tasks
}

// errorsOf says which errors are after a ±.
func errorsOf(profiles variance.ProfileErrors) string {
	if len(profiles) == 0 {
		return "± is the standard error by replay and design, without that of the profiles, which are not redrawn yet"
	}
	return "± is the standard error by replay, design and the rollouts of the profiles"
}

const savedWords = "1 − r, with the variance ratio r of the policy on this profile: Uniform needs b/r rollouts a task for the same variance, and the policy saves this share of them. %s; a saving within two of them is uncertain."

// byProfile is the saving of each policy on each profile, by budget: nil without ratios. Of
// many profiles it has HBN alone, or none: budget_equivalents.csv has all.
func byProfile(src *stored.Source) (*grid, error) {
	results, profiles, err := replayed(src)
	if err != nil || len(results.Ratios) == 0 {
		return nil, err
	}
	g := &grid{ID: "savings", Name: "What policies save", Open: true, Files: []string{"tables/profile_ratios.csv"},
		Title: "The share of Uniform’s rollouts that a policy saves at equal precision, on each profile, by the average budget b."}
	policies := slices.DeleteFunc(slices.Clone(policy.All), func(p *policy.Policy) bool {
		return !slices.ContainsFunc(results.Ratios, func(r variance.Ratio) bool { return r.Key() == p.Key() })
	})
	if len(src.Pairs)*len(policies) > mostRows {
		policies = policy.List{policy.HBN}
	}
	if g.Count = len(src.Pairs) * len(policies); g.Count > mostRows {
		return g, nil
	}
	budgets := variance.Budgets(results.Ratios)
	formula := fmt.Sprintf(savedWords, errorsOf(profiles))
	for _, b := range budgets {
		g.Heads = append(g.Heads, head{Name: fmt.Sprint(b), Words: fmt.Sprintf("b = %d", b), Formula: formula})
	}
	for _, pair := range src.Pairs {
		for _, p := range policies {
			r := row{Label: pair.Name() + ", " + p.Title()}
			for _, b := range budgets {
				ratio, ok := variance.ProfileRatio(results.Ratios, p, pair.Name(), b)
				if !ok {
					r.Cells = append(r.Cells, cell{})
					continue
				}
				se, err := variance.TotalSE(results.Designs, ratio)
				if err != nil {
					return nil, err
				}
				r.Cells = append(r.Cells, saved(ratio, math.Hypot(se, profiles[ratio.Entry()].ProfileSE)))
			}
			g.Rows = append(g.Rows, r)
		}
	}
	return g, nil
}

// saved is the cell of a ratio with its standard error.
func saved(r variance.Ratio, se float64) cell {
	c := cell{Value: printed(table.Format{Percent: true}, 1-r.VarianceRatio, 2), Spread: printed(table.Format{}, 100*se, 2), Exact: fmt.Sprintf("%.6g ± %.2g", 1-r.VarianceRatio, se),
		Source: fmt.Sprintf("profile_ratios\t%s b=%d %s\tvariance_ratio", r.Profile(), r.Budget, r.Key())}
	switch gain := 1 - r.VarianceRatio; {
	case math.Abs(gain) < certain*se:
		c.mark = mark{"?", "uncertain", "none"}
	case gain <= -0.00005: // as it is printed
		c.mark = mark{"!", "needs more", "noise"}
	}
	return c
}
