package report_test

import (
	"fmt"
	"math"
	"testing"

	"speceval/internal/paper"
	"speceval/internal/policy"
	"speceval/internal/variance"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// withCase is made-up results with the case study as the paper prints it: its
// profile, its ratios, and sampling distributions that are centred and as wide as
// the formula says.
func withCase(t testing.TB, s study) study {
	t.Helper()
	numbers := paperNumbers(t)
	s.caseStudy = stored.CaseStudy{Profile: tables.PaperCase, Budget: 32}
	set := s.settings(t)
	var err error
	if s.Experiment, err = stored.NewExperiment(&set, nil, nil); err != nil {
		t.Fatal(err)
	}
	ratio := func(of *policy.Policy, budget int32) float64 {
		if budget == 16 { // the paper has none
			return map[*policy.Policy]float64{policy.HBN: 0.892, policy.Oracle: 0.649}[of]
		}
		return numbers.Number(paper.CaseStudy, fmt.Sprintf("%s_ratio_b%d", of.Name, budget))
	}
	for i := range s.ratios {
		r := &s.ratios[i]
		for _, p := range []*policy.Policy{policy.HBN, policy.Oracle} {
			if r.Profile() == tables.PaperCase && r.Policy == p.Name {
				r.VarianceRatio = ratio(p, r.Budget)
			}
		}
	}
	for i := range s.designs { // Table 5 prints one decimal less
		if d := &s.designs[i]; d.Policy == variance.HBN && d.NTasks == 30 && d.Budget == 32 && d.Selected {
			d.W = numbers.Number(paper.CaseStudy, "w_b32")
			d.Risk = float64(d.Budget) * d.W / float64(d.M)
		}
	}
	s.estimates = madeEstimates(*s.CaseStudy, s.ratios)
	return s
}

// madeEstimates is the normal law of each policy, in twenty bins.
func madeEstimates(fact stored.CaseFact, ratios []variance.Ratio) []variance.Estimates {
	c := variance.NewCase(fact.Evaluated(), fact.Budget, ratios, nil)
	truth := c.Mean()
	const repetitions, bins, reach = 200_000, 20, 4.0
	var out []variance.Estimates
	for _, p := range policy.CaseStudy {
		r, ok := c.Ratio(p, fact.Budget)
		if !ok {
			continue
		}
		sd := c.HalfWidth(r.VarianceRatio, fact.Budget) / variance.GainZ
		below := func(k int) float64 {
			return 0.5 * math.Erfc(-(2*reach*float64(k)/bins-reach)/math.Sqrt2)
		}
		for k := range bins {
			out = append(out, variance.Estimates{
				Benchmark: fact.Benchmark, Model: fact.Model, Budget: fact.Budget, Policy: p.Name,
				Low: truth + sd*(2*reach*float64(k)/bins-reach), High: truth + sd*(2*reach*float64(k+1)/bins-reach),
				Count:       int64(math.Round(repetitions * (below(k+1) - below(k)))),
				Repetitions: repetitions, Truth: truth, Mean: truth + 1e-6, MeanSE: sd / math.Sqrt(repetitions),
				SD: 1.0005 * sd, Expected: sd,
			})
		}
	}
	return out
}
