package report

import (
	"math"
	"testing"

	"speceval/internal/variance"
)

// withCase is the made-up results with the case study as the paper prints it:
// its profile, its ratios, and sampling distributions that are centred and as
// wide as the formula says.
func withCase(t *testing.T, s stored) stored {
	t.Helper()
	fact := publishedCase(t)
	s.CaseStudy = &fact
	targets := paperTargets(t).CaseStudy
	ratios := map[int32][2]float64{ // HBN, Oracle; the paper has none at 16
		8: {targets.HBNRatioB8, targets.OracleB8}, 16: {0.892, 0.649},
		32: {targets.HBNRatioB32, targets.OracleB32}, 64: {targets.HBNRatioB64, targets.OracleB64},
	}
	for i := range s.Ratios {
		if r := &s.Ratios[i]; name(*r) == paperCase {
			switch r.Policy {
			case variance.HBN:
				r.VarianceRatio = ratios[r.Budget][0]
			case variance.Oracle:
				r.VarianceRatio = ratios[r.Budget][1]
			}
		}
	}
	for i := range s.Designs { // Table 5 prints one decimal less
		if d := &s.Designs[i]; d.Policy == variance.HBN && d.NTasks == 30 && d.Budget == 32 && d.Selected {
			d.W = targets.WB32
			d.Risk = float64(d.Budget) * d.W / float64(d.M)
		}
	}
	s.estimates = madeEstimates(fact, s.Ratios)
	return s
}

// publishedCase is the paper's case study.
func publishedCase(t *testing.T) CaseFact {
	t.Helper()
	profiles, err := publishedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		if p.Name() == paperCase {
			return CaseFact{p.Benchmark, p.Model, 32, p.TestedK, p.TaskIDs, p.PassCounts}
		}
	}
	t.Fatal("no case study among the published profiles")
	return CaseFact{}
}

// madeEstimates is the normal law of each policy, in twenty bins.
func madeEstimates(fact CaseFact, ratios []variance.Ratio) []variance.Estimates {
	c := newCase(fact, ratios, nil)
	truth := 0.0
	for i := range c.N() {
		truth += c.P(i) / float64(c.N())
	}
	const repetitions, bins, reach = 200_000, 20, 4.0
	var out []variance.Estimates
	for _, policy := range []string{variance.Uniform, variance.HBN, variance.Oracle} {
		r, ok := c.ratio(policy, fact.Budget)
		if !ok {
			continue
		}
		sd := c.halfWidth(r.VarianceRatio, fact.Budget) / gainZ
		below := func(k int) float64 {
			return 0.5 * math.Erfc(-(2*reach*float64(k)/bins-reach)/math.Sqrt2)
		}
		for k := range bins {
			out = append(out, variance.Estimates{
				Benchmark: fact.Benchmark, Model: fact.Model, Budget: fact.Budget, Policy: policy,
				Low: truth + sd*(2*reach*float64(k)/bins-reach), High: truth + sd*(2*reach*float64(k+1)/bins-reach),
				Count:       int64(math.Round(repetitions * (below(k+1) - below(k)))),
				Repetitions: repetitions, Truth: truth, Mean: truth + 1e-6, MeanSE: sd / math.Sqrt(repetitions),
				SD: 1.0005 * sd, Expected: sd,
			})
		}
	}
	return out
}
