package report

import (
	"strconv"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// caseNumbers is a macro for every number of the case study that a text would
// quote: \specCaseHBNRatioBThreeTwo is HBN's variance ratio at b = 32. There are
// none without a case study.
func caseNumbers(c caseStudy) []macro {
	if c.N() == 0 {
		return nil
	}
	fixed := func(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
	share := func(n int) string { return fixed(100*float64(n)/float64(c.N()), 1) + "%" }
	out := []macro{
		{"specCaseTasks", strconv.Itoa(c.N())},
		{"specCaseShareBelow", share(c.below(0.2))},
		{"specCaseShareAbove", share(c.above(0.8))},
		{"specCaseEndpoints", strconv.Itoa(c.endpoints())},
	}
	for _, b := range budgets(c.ratios) {
		for _, policy := range []string{variance.Uniform, variance.HBN, variance.Oracle} {
			r, ok := c.ratio(policy, b)
			if !ok {
				continue
			}
			short := caseMacro[policy]
			if policy != variance.Uniform {
				out = append(out, macro{"specCase" + short + "RatioB" + spelled(b), fixed(r.VarianceRatio, 3)})
			}
			out = append(out, macro{"specCase" + short + "HalfWidthB" + spelled(b), fixed(100*c.halfWidth(r.VarianceRatio, b), 2)})
		}
	}
	for _, policy := range []string{variance.Uniform, variance.HBN, variance.Oracle} {
		if bins := c.distribution(policy); len(bins) > 0 {
			e, short := bins[0], caseMacro[policy]
			out = append(out, macro{"specCase" + short + "Bias", table.Format{Decimals: 4, Scale: 100}.Print(e.Mean - e.Truth)},
				macro{"specCase" + short + "BiasSE", fixed(100*e.MeanSE, 4)}, macro{"specCase" + short + "SD", fixed(100*e.SD, 3)})
		}
	}
	if len(c.estimates) > 0 {
		out = append(out, macro{"specCaseRepetitions", grouped(c.estimates[0].Repetitions)})
	}
	return out
}

var caseMacro = map[string]string{variance.Uniform: "Uniform", variance.HBN: "HBN", variance.Oracle: "Oracle"}
