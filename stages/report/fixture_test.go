package report

import (
	"fmt"
	"slices"
	"testing"

	"speceval/data"
	"speceval/internal/flops"
	"speceval/internal/variance"
)

func paperTargets(t *testing.T) Targets {
	t.Helper()
	targets, err := ParseTargets(data.PaperTargets())
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

// Sizes of the paper's study, and the noise that made-up results carry.
const (
	replaySE = 0.0004
	riskSE   = 0.0016
	gapSE    = 0.0002
)

var taskCounts = map[int32]int{19: 5, 30: 24, 86: 6, 93: 6, 100: 66} // profiles by task count

// paperStudy makes up stored results that reproduce the paper's numbers: every
// profile has the mean ratio of Table 1, but for the adverse one, for which
// the others make up.
func paperStudy(t *testing.T) stored {
	t.Helper()
	paper := paperTargets(t)
	s := stored{Experiment: Experiment{Published: true, Budgets: slices.Clone(paper.Table1.Budget)}}
	s.Designs = paperDesigns(paper)
	for _, n := range paper.Table5.NTasks {
		for i := range taskCounts[n] {
			benchmark, model := fmt.Sprintf("made_%d_%d", n, i), "qwen3_5_4b"
			if n == 100 && i == 0 {
				benchmark = "math_100"
			}
			fact := ProfileFact{Name: benchmark + "__model=" + model, NTasks: n}
			if n == 100 && i == 0 {
				fact.Outside = paper.Robustness.AdverseOutside
			}
			s.Profiles = append(s.Profiles, fact)
			for _, b := range paper.Table1.Budget {
				s.Ratios = append(s.Ratios, paperRatios(paper, variance.Ratio{
					Benchmark: benchmark, Model: model, NTasks: n, Budget: b, Draws: 8192})...)
			}
		}
	}
	s.Candidates = paperCandidates(s.Ratios)
	for i, model := range paper.Table7.Model {
		p := paper.Table7
		s.architectures = append(s.architectures, flops.Architecture{Model: model,
			ThetaCore: parameters(p.ThetaCore[i]) + 400, ThetaHead: parameters(p.ThetaHead[i]) - 400,
			FullAttentionLayers: p.Layers[i], AttentionWidth: p.AttentionWidth[i]})
	}
	return s
}

// paperRatios is the four policies on one profile at one budget.
func paperRatios(paper Targets, r variance.Ratio) []variance.Ratio {
	var out []variance.Ratio
	for _, policy := range policies {
		r.Policy, r.Alpha, r.M, r.W, r.RatioSE = policy, nil, nil, nil, 0
		mean, _ := at(paper.Table1.Budget, paper.Table1.list(policy), r.Budget)
		r.VarianceRatio = mean
		if policy != variance.Oracle {
			targets := paper.Table5
			if policy == variance.TunedEN {
				targets = paper.Table6
			}
			p, _ := paper.schedule(targets, r.NTasks, r.Budget)
			r.M, r.W, r.RatioSE = &p.m, &p.w, replaySE
		}
		if policy == variance.TunedIBN {
			alpha, _ := at(paper.Table1.Budget, paper.Table1.IBNAlpha, r.Budget)
			r.Alpha = &alpha
		}
		if adverse, ok := paper.Robustness.adverse(r.Budget); ok && policy == variance.HBN {
			if r.Benchmark == "math_100" {
				r.VarianceRatio = adverse
			} else {
				r.VarianceRatio -= (adverse - mean) / 106
			}
		}
		if policy == variance.Oracle && r.Benchmark == "math_100" {
			r.VarianceRatio = paper.Robustness.AdverseOracleRatio
		} else if policy == variance.Oracle {
			r.VarianceRatio -= (paper.Robustness.AdverseOracleRatio - mean) / 106
		}
		out = append(out, r)
	}
	return out
}

// paperDesigns is the paper's schedules as designs, each with a worse
// candidate on either side; IBN has those of HBN.
func paperDesigns(paper Targets) []variance.Design {
	var out []variance.Design
	for _, n := range paper.Table5.NTasks {
		for _, b := range paper.Table1.Budget {
			hbn, _ := paper.schedule(paper.Table5, n, b)
			en, _ := paper.schedule(paper.Table6, n, b)
			alpha, _ := at(paper.Table1.Budget, paper.Table1.IBNAlpha, b)
			out = append(out, candidates(variance.HBN, n, b, nil, hbn)...)
			out = append(out, candidates(variance.TunedEN, n, b, nil, en)...)
			out = append(out, candidates(variance.TunedIBN, n, b, &alpha, hbn)...)
		}
	}
	return out
}

func candidates(policy string, n, b int32, alpha *float64, p schedule) []variance.Design {
	var out []variance.Design
	best := float64(b) * p.w / float64(p.m)
	for _, m := range []int32{p.m - 1, p.m, p.m + 1} {
		d := variance.Design{Policy: policy, NTasks: n, Budget: b, Alpha: alpha, M: m, RiskSE: riskSE}
		if m == p.m {
			d.Selected = true
		} else {
			d.Gap, d.GapSE = 0.01, gapSE
		}
		d.Risk = best + d.Gap
		d.W = d.Risk * float64(m) / float64(b)
		out = append(out, d)
	}
	return out
}

// paperCandidates is the IBN ratios at the selected strength and, worse by
// 0.004, at the next.
func paperCandidates(ratios []variance.Ratio) []variance.Ratio {
	var out []variance.Ratio
	for _, r := range ratios {
		if r.Policy != variance.TunedIBN {
			continue
		}
		next := r
		alpha := *r.Alpha + 0.01
		next.Alpha, next.VarianceRatio = &alpha, r.VarianceRatio+0.004
		out = append(out, r, next)
	}
	return out
}
