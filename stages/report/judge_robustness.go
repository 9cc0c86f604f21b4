package report

import (
	"fmt"
	"math"

	"speceval/internal/variance"
)

const robustness = "robustness"

// judgeRobustness compares the counts of gaining profiles and the facts that
// the paper gives of its adverse profile.
func judgeRobustness(s stored, paper Targets) ([]Cell, error) {
	designs := newSchedules(s.Designs)
	var cells []Cell
	for i, b := range paper.Robustness.Budget {
		if !s.has(b) {
			continue
		}
		row := fmt.Sprintf("b=%d", b)
		hbn := pick(s.Ratios, variance.HBN, b)
		c, err := judgeGaining(designs, hbn, paper.Robustness.ProfilesGaining[i])
		if err != nil {
			return nil, err
		}
		cells = append(cells, c.in(robustness, row, "profiles_gaining"))
		ratio, named := paper.Robustness.adverse(b)
		if !named {
			continue
		}
		worst, value, err := judgeAdverse(designs, hbn, paper.Robustness.AdverseProfile, ratio)
		if err != nil {
			return nil, err
		}
		cells = append(cells, worst.in(robustness, row, "worst_profile"), value.in(robustness, row, "worst_ratio"))
	}
	return append(cells, judgeEndpoints(s, paper.Robustness)...), nil
}

// judgeGaining compares the number of profiles that meet the criterion
// ratio + 1.96 s.e. < 1. A profile whose left-hand side is within 3 standard
// errors of a difference from 1 could fall on either side in another run; a
// count that such profiles explain agrees within noise.
func judgeGaining(designs schedules, hbn []variance.Ratio, paper int64) (Cell, error) {
	if len(hbn) == 0 {
		return absent(float64(paper), 0, "not replayed"), nil
	}
	var gaining, lost, won int64 // lost: gaining profiles that may not gain; won: the reverse
	for _, r := range hbn {
		se, err := totalSE(designs, r)
		if err != nil {
			return Cell{}, err
		}
		margin := 1 - (r.VarianceRatio + gainZ*r.RatioSE)
		open := math.Abs(margin) <= sigmas*math.Sqrt2*se
		switch {
		case gains(r):
			gaining++
			if open {
				lost++
			}
		case open:
			won++
		}
	}
	c := compare(Estimate{Value: float64(gaining)}, float64(paper), rule{})
	if c.Verdict == Differs && gaining-lost <= paper && paper <= gaining+won {
		c.Verdict = WithinNoise
		c.Note = fmt.Sprintf("%d profiles are too close to the criterion to call", lost+won)
	}
	return c, nil
}

// judgeAdverse compares the worst profile at a budget, by name, and the ratio
// of the paper's worst.
func judgeAdverse(designs schedules, hbn []variance.Ratio, profile string, paper float64) (worst, value Cell, err error) {
	worst = Cell{PaperName: profile, Verdict: Absent}
	value = absent(paper, 3, "not replayed")
	if len(hbn) == 0 {
		return worst, value, nil
	}
	top := spreads(hbn)[0].worst
	worst.ObtainedName, worst.Verdict = name(top), Differs
	theirs, ok := profileRatio(hbn, variance.HBN, profile, top.Budget)
	if !ok {
		return worst, value, nil
	}
	se, err := totalSE(designs, theirs)
	if err != nil {
		return worst, value, err
	}
	value = compare(Estimate{theirs.VarianceRatio, se}, paper, rule{decimals: 3})
	if worst.ObtainedName == profile {
		worst.Verdict = Agrees
		return worst, value, nil
	}
	topSE, err := totalSE(designs, top)
	if err != nil {
		return worst, value, err
	}
	loss := top.VarianceRatio - theirs.VarianceRatio
	worst = choice(worst, loss, math.Hypot(se, topSE)).noted(fmt.Sprintf("the paper's has a ratio %.4f lower", loss))
	return worst, value, nil
}

// judgeEndpoints compares the adverse profile's Oracle ratio, at the smallest
// budget at which the paper calls it adverse, and its tasks near the
// endpoints.
func judgeEndpoints(s stored, paper robustnessTargets) []Cell {
	var cells []Cell
	if s.has(16) {
		c := absent(paper.AdverseOracleRatio, 3, "not replayed")
		if r, ok := profileRatio(s.Ratios, variance.Oracle, paper.AdverseProfile, 16); ok {
			c = compare(Estimate{Value: r.VarianceRatio}, paper.AdverseOracleRatio, rule{decimals: 3})
		}
		cells = append(cells, c.in(robustness, "b=16", "adverse_oracle_ratio"))
	}
	c := absent(float64(paper.AdverseOutside), 0, "no such profile")
	if p := s.find(paper.AdverseProfile); p != nil {
		c = compare(Estimate{Value: float64(p.Outside)}, float64(paper.AdverseOutside), rule{})
	}
	return append(cells, c.in(robustness, "all", "adverse_outside_02_08"))
}
