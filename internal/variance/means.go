package variance

import (
	"fmt"
	"math"

	"speceval/internal/agreement"
	"speceval/internal/policy"
)

// Mean is the mean over profiles of the ratios of one policy at one budget.
type Mean struct {
	agreement.Estimate
	Policy  *policy.Policy
	Ratios  []Ratio
	Designs Schedules // that they were replayed under
}

// NewMean is the mean of a policy's ratios, of no ratios where it was not replayed.
func NewMean(designs Schedules, ratios []Ratio, of *policy.Policy, budget int32) (Mean, error) {
	m := Mean{Policy: of, Ratios: Pick(ratios, of, budget), Designs: designs}
	if len(m.Ratios) == 0 {
		return m, nil
	}
	var err error
	m.Estimate, err = MeanRatio(designs, m.Ratios)
	return m, err
}

// Weights make a sum over the profiles their mean.
func (m Mean) Weights() []float64 {
	weights := make([]float64, len(m.Ratios))
	for i := range weights {
		weights[i] = 1 / float64(len(weights))
	}
	return weights
}

// Means are the means of several policies at one budget.
type Means struct {
	Budget   int32
	Profiles int
	Of       map[*policy.Policy]Mean // a policy that was not replayed is absent
	Alpha    *float64                // the selected prior strength of the one that has it
}

// NewMeans are the means at every budget. Every policy of a budget must cover the
// same number of profiles, and one prior strength: a mean over fewer profiles than
// its neighbour's would look like a gain.
func NewMeans(designs Schedules, ratios []Ratio, policies []*policy.Policy) (all []Means, err error) {
	for _, b := range Budgets(ratios) {
		row := Means{Budget: b, Of: map[*policy.Policy]Mean{}}
		for _, p := range policies {
			m, err := NewMean(designs, ratios, p, b)
			if err != nil {
				return nil, err
			}
			n := len(m.Ratios)
			if n == 0 {
				continue
			}
			if row.Profiles == 0 {
				row.Profiles = n
			}
			if n != row.Profiles {
				return nil, fmt.Errorf("ratios: %s covers %d profiles at budget %d where others cover %d; run the replay stage again",
					p.Key(), n, b, row.Profiles)
			}
			if row.Of[p] = m; p.Strength {
				if row.Alpha, err = oneAlpha(m.Ratios); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, row)
	}
	return all, nil
}

// oneAlpha is the prior strength that all ratios share.
func oneAlpha(ratios []Ratio) (*float64, error) {
	alpha := ratios[0].Alpha
	for _, r := range ratios {
		if AlphaOf(r.Alpha) != AlphaOf(alpha) {
			return nil, fmt.Errorf("ratios: %s has more than one selected alpha at budget %d", r.Key(), r.Budget)
		}
	}
	return alpha, nil
}

// Best is the feasible policy with the least mean, nil if none was replayed.
func (m Means) Best() (best *policy.Policy) {
	for _, p := range policy.All {
		e, ok := m.Of[p]
		if b, have := m.Of[best]; ok && !p.Clairvoyant && (!have || e.Value < b.Value) {
			best = p
		}
	}
	return best
}

// Envelope is the best candidate of TS-Neyman at a budget, in hindsight, beside HBN.
type Envelope struct {
	Best       Search
	HBN        Mean
	Candidates []Search // at the budget
	Ties       []Search // other candidates that are no worse beyond noise
}

// Delta is TS-Neyman's mean MSE less HBN's, with its Monte Carlo error.
func (e Envelope) Delta() agreement.Estimate {
	return agreement.Estimate{Value: e.Best.MSE - e.HBN.Value, SE: math.Hypot(e.Best.MSESE, e.HBN.SE)}
}

// Envelopes are those of the budgets at which a candidate was selected.
func Envelopes(designs Schedules, ratios []Ratio, search []Search) (all []Envelope, err error) {
	for _, b := range Budgets(ratios) {
		var e Envelope
		for _, s := range search {
			if s.Budget != b {
				continue
			}
			e.Candidates = append(e.Candidates, s)
			if s.Selected && !e.Best.Selected {
				e.Best = s
			}
		}
		if e.HBN, err = NewMean(designs, ratios, policy.HBN, b); err != nil {
			return nil, err
		}
		if !e.Best.Selected || len(e.HBN.Ratios) == 0 {
			continue
		}
		for _, s := range e.Candidates {
			if !s.Selected && s.Excess <= agreement.Sigmas*s.ExcessSE {
				e.Ties = append(e.Ties, s)
			}
		}
		all = append(all, e)
	}
	return all, nil
}
