package report

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"speceval/data"
	"speceval/internal/flops"
	"speceval/internal/profile"
	"speceval/internal/variance"
)

func paperTargets(t testing.TB) Targets {
	t.Helper()
	targets, err := ParseTargets(data.PaperTargets())
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

// Cells of the paper's numbers, the timed runs of a fleet and of servers apart,
// and how many of them carry a verdict.
const (
	paperCells  = 223
	paperJudged = paperCells - 1 // the hours of generation are only shown
)

// Sizes of the paper's study, and the noise that made-up results carry.
const (
	replaySE = 0.0004
	riskSE   = 0.0016
	gapSE    = 0.0002
)

// publishedProfiles is the paper's 107 profiles.
var publishedProfiles = sync.OnceValues(func() ([]profile.Profile, error) {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	kept, _, err := profile.Evaluated(all)
	return kept, err
})

// paperStudy makes up stored results on the paper's profiles that reproduce the
// paper's numbers: every profile has the mean ratio of Table 1, but for the
// adverse one, for which the others make up. HBN's ratios are spread around
// the mean, so that the continuous budgets are those of Table 4.
func paperStudy(t testing.TB) stored {
	t.Helper()
	paperOnce.Do(func() { paperMade = makePaperStudy(t) })
	return paperMade.clone()
}

var (
	paperOnce sync.Once
	paperMade stored
)

// clone shares nothing with s that a test changes.
func (s stored) clone() stored {
	s.Budgets, s.Profiles = slices.Clone(s.Budgets), slices.Clone(s.Profiles)
	s.Designs, s.Ratios, s.Candidates = slices.Clone(s.Designs), slices.Clone(s.Ratios), slices.Clone(s.Candidates)
	s.Search = slices.Clone(s.Search)
	s.architectures = slices.Clone(s.architectures)
	s.costs = maps.Clone(s.costs)
	for base, rows := range s.costs {
		rows = slices.Clone(rows)
		for i := range rows {
			rows[i].cells = slices.Clone(rows[i].cells)
		}
		s.costs[base] = rows
	}
	return s
}

func makePaperStudy(t testing.TB) stored {
	t.Helper()
	paper := paperTargets(t)
	s := stored{Experiment: Experiment{Published: true, Budgets: slices.Clone(paper.Table1.Budget)}}
	s.Designs = paperDesigns(paper)
	profiles, err := publishedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		fact := ProfileFact{Name: p.Name(), NTasks: int32(p.N()), TestedK: p.TestedK}
		if p.Name() == paper.Robustness.AdverseProfile {
			fact.Outside = paper.Robustness.AdverseOutside
		}
		s.Profiles = append(s.Profiles, fact)
		for _, b := range paper.Table1.Budget {
			s.Ratios = append(s.Ratios, paperRatios(paper, variance.Ratio{
				Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), Budget: b, Draws: 8192})...)
		}
	}
	for b, continuous := range continuousBudgets {
		spreadRatios(s.Ratios, b, paper.Robustness.AdverseProfile, continuous)
	}
	s.Candidates = paperCandidates(s.Ratios)
	s.Search = paperSearch(paper)
	s.Corpus = CorpusFact{Tasks: paper.Corpus.Tasks, Responses: paper.Corpus.Responses}
	for i, model := range paper.Table7.Model {
		p := paper.Table7
		s.architectures = append(s.architectures, flops.Architecture{Model: model,
			ThetaCore: parameters(p.ThetaCore[i]) + 400, ThetaHead: parameters(p.ThetaHead[i]) - 400,
			FullAttentionLayers: p.Layers[i], AttentionWidth: p.AttentionWidth[i]})
	}
	s.costs = storedCosts(t, paperCosts(t, s))
	return s
}

// continuousBudgets is the averages of Table 4 with more digits than it prints.
var continuousBudgets = map[int32]float64{8: 9.373378, 16: 20.875106, 32: 47.036719, 64: 107.221559}

// spreadRatios gives every fifth profile a lower HBN ratio at a budget and the
// others a higher one, all but the adverse profile and with the same mean, so
// that the average of b/r weighted by tasks is continuous.
func spreadRatios(ratios []variance.Ratio, budget int32, but string, continuous float64) {
	var at []int
	var low int
	var before []float64
	for i, r := range ratios {
		if r.Policy == variance.HBN && r.Budget == budget && name(r) != but {
			if len(at)%5 == 0 {
				low++
			}
			at, before = append(at, i), append(before, r.VarianceRatio)
		}
	}
	down, up := 0.0, before[0]
	for range 60 {
		d := (down + up) / 2
		for k, i := range at {
			ratios[i].VarianceRatio = before[k] + d*float64(low)/float64(len(at)-low)
			if k%5 == 0 {
				ratios[i].VarianceRatio = before[k] - d
			}
		}
		var tasks, sum float64
		for _, r := range pick(ratios, variance.HBN, budget) {
			tasks += float64(r.NTasks)
			sum += float64(r.NTasks) * float64(budget) / r.VarianceRatio
		}
		if sum/tasks < continuous {
			down = d
		} else {
			up = d
		}
	}
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
			if name(r) == paper.Robustness.AdverseProfile {
				r.VarianceRatio = adverse
			} else {
				r.VarianceRatio -= (adverse - mean) / 106
			}
		}
		if policy == variance.Oracle && name(r) == paper.Robustness.AdverseProfile {
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

// paperSearch is the paper's candidates of TS-Neyman, and a worse one at each
// budget.
func paperSearch(paper Targets) []variance.Search {
	var out []variance.Search
	p := paper.Table8
	for i, b := range p.Budget {
		best := variance.Search{Budget: b, Alpha: p.Alpha[i], M0: p.M0[i], MSE: p.TS[i], MSESE: 0.002,
			Raw: p.TS[i] + 0.001, RawSE: 0.004, Draws: 800, Finalist: true, Selected: true}
		worse := best
		worse.Alpha, worse.MSE, worse.Draws, worse.Finalist, worse.Selected = 0.5, best.MSE+0.02, 40, false, false
		out = append(out, best, worse)
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
