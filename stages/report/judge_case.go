package report

import (
	"fmt"
	"math"

	"speceval/internal/variance"
)

const (
	caseTable = "case_study"

	// paperCase is the profile that the paper's case study is of.
	paperCase = "aime24__model=qwen3_5_4b"
)

// judgeCase compares the numbers that the paper's text and caption give of its
// case study, and holds the simulated evaluations against the formulas. There
// are no cells where another profile is studied.
func judgeCase(s stored, paper Targets) ([]Cell, error) {
	if s.CaseStudy == nil || s.CaseStudy.profile().Name() != paperCase {
		return nil, nil
	}
	c, targets := newCase(*s.CaseStudy, s.Ratios, s.estimates), paper.CaseStudy
	n := float64(c.N())
	three := rule{decimals: 3}
	cells := []Cell{
		compare(Estimate{Value: float64(c.below(0.2)) / n}, targets.ShareBelow, three).in(caseTable, "all", "share_below_02"),
		compare(Estimate{Value: float64(c.above(0.8)) / n}, targets.ShareAbove, three).in(caseTable, "all", "share_above_08"),
		compare(Estimate{Value: float64(c.endpoints())}, float64(targets.EndpointTasks), rule{}).in(caseTable, "all", "endpoint_tasks"),
	}
	designs := newSchedules(s.Designs)
	for _, want := range []struct {
		budget      int32
		hbn, oracle float64
	}{{8, targets.HBNRatioB8, targets.OracleB8}, {32, targets.HBNRatioB32, targets.OracleB32}, {64, targets.HBNRatioB64, targets.OracleB64}} {
		if !s.has(want.budget) {
			continue
		}
		row := fmt.Sprintf("b=%d", want.budget)
		hbn, err := judgeCaseRatio(designs, c, variance.HBN, want.budget, want.hbn)
		if err != nil {
			return nil, err
		}
		oracle, err := judgeCaseRatio(designs, c, variance.Oracle, want.budget, want.oracle)
		if err != nil {
			return nil, err
		}
		cells = append(cells, hbn.in(caseTable, row, "hbn_ratio"), oracle.in(caseTable, row, "oracle_ratio"))
		if want.budget == 32 {
			half := Estimate{Value: 100 * c.halfWidth(1, 32)}
			cells = append(cells, compare(half, targets.HalfwidthB32, rule{decimals: 2}).in(caseTable, row, "uniform_halfwidth_pp"),
				judgeCaseWeight(s, paper, int32(c.N())).in(caseTable, row, "hbn_w"))
		}
	}
	if s.has(c.budget) {
		cells = append(cells, judgeEstimates(c)...)
	}
	return cells, nil
}

// judgeCaseRatio compares the profile's ratio under a policy.
func judgeCaseRatio(designs schedules, c caseStudy, policy string, budget int32, paper float64) (Cell, error) {
	r, ok := c.ratio(policy, budget)
	if !ok {
		return absent(paper, 3, "not replayed"), nil
	}
	se, err := totalSE(designs, r)
	return compare(Estimate{r.VarianceRatio, se}, paper, rule{decimals: 3}), err
}

// judgeCaseWeight compares HBN's stage weight at b = 32, as Table 5 does with one
// decimal less.
func judgeCaseWeight(s stored, paper Targets, nTasks int32) Cell {
	p, _ := paper.schedule(paper.Table5, nTasks, 32)
	kind := hbnSchedule
	kind.decimals = 3
	_, w := judgeSchedule(s.Designs, kind, nTasks, 32, schedule{p.m, paper.CaseStudy.WB32})
	return w
}

// judgeEstimates holds the simulated evaluations of each policy against what the
// paper says of them: that they are centred, and spread as the variance formula
// says. What stands for the paper's number is zero, and the formula's.
func judgeEstimates(c caseStudy) []Cell {
	var cells []Cell
	for _, policy := range []string{variance.Uniform, variance.HBN, variance.Oracle} {
		row := fmt.Sprintf("b=%d", c.budget)
		bias, sd := absent(0, 4, "not simulated"), Cell{Verdict: Absent, Note: "not simulated", decimals: 4}
		if bins := c.distribution(policy); len(bins) > 0 {
			e := bins[0]
			note := fmt.Sprintf("in %s simulated evaluations", grouped(e.Repetitions))
			bias = against(100*e.Mean, 100*e.Truth, 100*e.MeanSE).centred().noted("of the estimates, " + note)
			sd = against(100*e.SD, 100*e.Expected, 100*c.spreadSE(e)).noted("beside the formula's, " + note)
		}
		cells = append(cells, bias.in(caseTable, row, policy+"_bias_pp"), sd.in(caseTable, row, policy+"_sd_pp"))
	}
	return cells
}

// spreadSE is the standard error of SD − Expected: of a standard deviation over
// that many nearly normal estimates, and of the replayed ratio in the formula.
func (c caseStudy) spreadSE(e variance.Estimates) float64 {
	own := e.SD / math.Sqrt(2*float64(e.Repetitions-1))
	r, ok := c.ratio(e.Policy, e.Budget)
	if !ok {
		return own
	}
	return math.Hypot(own, e.Expected*r.RatioSE/(2*r.VarianceRatio))
}

// against holds a noisy number against an exact one: within noise up to 3
// standard errors. Noise alone makes 0.3% of such cells differ.
func against(obtained, exact, se float64) Cell {
	c := beside(obtained, exact, 4)
	c.SE, c.Verdict = &se, Agrees
	if se > 0 {
		ses := math.Abs(*c.Difference) / se
		c.SEs = &ses
	}
	if d := math.Abs(*c.Difference); d > sigmas*se && d > float {
		c.Verdict = Differs
	}
	return c
}

// centred shows a comparison with a mean as one of the difference with zero.
func (c Cell) centred() Cell {
	zero := 0.0
	c.Obtained, c.Paper = c.Difference, &zero
	return c
}
