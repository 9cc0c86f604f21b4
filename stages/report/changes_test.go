package report_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
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
	each(s.ratios, func(r *variance.Ratio) {
		for _, p := range []*policy.Policy{policy.HBN, policy.Oracle} {
			if r.Profile() == tables.PaperCase && r.Policy == p.Name {
				r.VarianceRatio = ratio(p, r.Budget)
			}
		}
	})
	designs(policy.HBN.Name, 30, 32, func(d *variance.Design) { // Table 5 prints one decimal less
		if d.Selected {
			d.W = numbers.Number(paper.CaseStudy, "w_b32")
			d.Risk = float64(d.Budget) * d.W / float64(d.M)
		}
	})(&s)
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

// ratios changes every ratio of a policy at a budget.
func ratios(policy string, budget int32, change func(*variance.Ratio)) func(*study) {
	return func(s *study) {
		each(s.ratios, func(r *variance.Ratio) {
			if r.Policy == policy && r.Budget == budget {
				change(r)
			}
		})
	}
}

// designs changes the designs of a policy for n tasks at a budget.
func designs(policy string, n, b int32, change func(*variance.Design)) func(*study) {
	return func(s *study) {
		each(s.designs, func(d *variance.Design) {
			if d.Policy == policy && d.NTasks == n && d.Budget == b {
				change(d)
			}
		})
	}
}

// shift adds d to every ratio of a policy at a budget.
func shift(policy string, budget int32, d float64) func(*study) {
	return ratios(policy, budget, func(r *variance.Ratio) { r.VarianceRatio += d })
}

// swap makes another pilot size the selected one of a design: ours is m, and
// the paper's has a risk higher by gap.
func swap(policy string, n, b, m int32, gap float64) func(*study) {
	best := 0.0
	return do(designs(policy, n, b, func(d *variance.Design) {
		if d.Selected {
			best = d.Risk - gap
			d.Selected, d.Gap, d.GapSE = false, gap, gapSE
		}
	}), designs(policy, n, b, func(d *variance.Design) {
		if d.M == m {
			d.Selected, d.Risk, d.Gap, d.GapSE = true, best, 0, 0
			d.W = best * float64(m) / float64(b)
		}
	}), ratios(policy, b, func(r *variance.Ratio) {
		if r.NTasks == n {
			r.M = &m
		}
	}))
}

// strength selects another IBN strength at b = 8, where the paper's has a
// mean higher by loss.
func strength(loss float64) func(*study) {
	other := 0.14
	return do(ratios(policy.IBN.Name, 8, func(r *variance.Ratio) { r.Alpha = &other }), func(s *study) {
		each(s.candidates, func(r *variance.Ratio) {
			if r.Budget == 8 && *r.Alpha == other {
				r.VarianceRatio += -0.004 - loss
			}
		})
		for _, d := range slices.Clone(s.designs) {
			if d.Policy == policy.IBN.Name && d.Budget == 8 {
				d.Alpha = &other
				s.designs = append(s.designs, d)
			}
		}
	})
}

// noisy is twenty times the replay noise.
func noisy(s *study) { each(s.ratios, func(r *variance.Ratio) { r.RatioSE *= 20 }) }

// hbnOn sets HBN's ratio on one profile at one budget.
func hbnOn(profile string, budget int32, ratio float64) func(*study) {
	return ratios(policy.HBN.Name, budget, func(r *variance.Ratio) {
		if r.Profile() == profile {
			r.VarianceRatio = ratio
		}
	})
}

// adverse sets HBN's ratio on the paper's adverse profile.
func adverse(budget int32, ratio float64) func(*study) { return hbnOn(adverseProfile, budget, ratio) }

// another sets HBN's ratio on another profile at b = 16.
func another(ratio float64) func(*study) { return hbnOn("aime24__model=qwen3_5_4b", 16, ratio) }

// weight moves the selected EN weight for 30 tasks at b = 8.
func weight(d float64) func(*study) {
	return designs(policy.EN.Name, 30, 8, func(x *variance.Design) {
		if x.Selected {
			x.W += d
		}
	})
}

// without drops a policy altogether.
func without(policy string) func(*study) {
	return func(s *study) {
		s.ratios = slices.DeleteFunc(s.ratios, func(r variance.Ratio) bool { return r.Policy == policy })
		s.designs = slices.DeleteFunc(s.designs, func(d variance.Design) bool { return d.Policy == policy })
	}
}

// do is several changes.
func do(changes ...func(*study)) func(*study) {
	return func(s *study) {
		for _, change := range changes {
			change(s)
		}
	}
}

// each changes the runs of a provenance, budget and strategy.
func (c costs) each(provenance string, budget int32, strategy string, change func(*measurement.Measurement)) {
	for i := range c.timed {
		if m := &c.timed[i]; m.Provenance == provenance && m.ReferenceBudget == budget && m.Strategy == strategy {
			change(m)
		}
	}
}

// cost changes the runs of a provenance and budget so that a number of Tables 2 to
// 4 is greater by d. Others that are made of the same runs change by no more.
func cost(provenance string, budget int32, column string, d float64) func(*study) {
	return func(s *study) {
		all := measurement.Settings(s.timed, provenance, budget)
		// sum is over all settings of one of the numbers of a strategy.
		sum := func(strategy string, of func(measurement.Measurement) float64) (v float64) {
			for _, x := range all {
				v += of(*x.Run(strategy))
			}
			return v
		}
		time := func(m measurement.Measurement) float64 { return m.TimeSeconds }
		useful := func(m measurement.Measurement) float64 { return m.UsefulFLOPs }
		wasted := func(m measurement.Measurement) float64 { return m.WastedFLOPs }
		scale := func(strategy string, field func(*measurement.Measurement) *float64, by float64) {
			s.each(provenance, budget, strategy, func(m *measurement.Measurement) { *field(m) *= by })
		}
		longer := func(strategy string) {
			scale(strategy, func(m *measurement.Measurement) *float64 { return &m.TimeSeconds }, 1+d*sum(measurement.Uniform, time)/sum(strategy, time))
		}
		switch column {
		case "sync_time":
			longer(measurement.HBNSync)
		case "async_time":
			longer(measurement.HBNAsync)
		case "delta":
			longer(measurement.UniformEquivalent)
		case "useful_flops":
			scale(measurement.HBNAsync, func(m *measurement.Measurement) *float64 { return &m.UsefulFLOPs }, 1+d*sum(measurement.Uniform, useful)/sum(measurement.HBNAsync, useful))
		case "wasted_flops":
			scale(measurement.HBNAsync, func(m *measurement.Measurement) *float64 { return &m.WastedFLOPs },
				1+d*sum(measurement.Uniform, useful)/sum(measurement.HBNAsync, wasted))
		case "extra_rollouts":
			left := d * sum(measurement.Uniform, func(m measurement.Measurement) float64 { return float64(m.AcceptedRollouts) })
			s.each(provenance, budget, measurement.HBNAsync, func(m *measurement.Measurement) {
				m.ExtraRollouts, left = m.ExtraRollouts+int32(left), left-float64(int32(left))
			})
		case "continuous_budget":
			s.raiseEquivalent(budget, d)
		case "rounded_budget":
			left := d * sum(measurement.Uniform, func(m measurement.Measurement) float64 { return float64(m.NTasks) })
			s.each(provenance, budget, measurement.UniformEquivalent, func(m *measurement.Measurement) {
				if left > 0 {
					left -= float64(m.NTasks)
					m.Budget, m.AcceptedRollouts = m.Budget+1, m.AcceptedRollouts+m.NTasks
				}
			})
		default:
			panic(column)
		}
	}
}

// raiseEquivalent lowers HBN's ratios at a budget, but on the adverse profile, so
// that the mean of b/r is greater by d.
func (s *study) raiseEquivalent(budget int32, d float64) {
	var own, fixed, tasks float64
	of := func(r variance.Ratio) float64 { return float64(r.NTasks) * float64(budget) / r.VarianceRatio }
	for _, r := range variance.Pick(s.ratios, policy.HBN, budget) {
		tasks += float64(r.NTasks)
		if r.Profile() == adverseProfile {
			fixed += of(r)
		} else {
			own += of(r)
		}
	}
	by := own / (own + d*tasks)
	for i := range s.ratios {
		if r := &s.ratios[i]; r.Policy == policy.HBN.Name && r.Budget == budget && r.Profile() != adverseProfile {
			r.VarianceRatio *= by
		}
	}
}

// withoutRuns drops the runs of a provenance at one budget.
func withoutRuns(provenance string, budget int32) func(*study) {
	return func(s *study) {
		s.timed = slices.DeleteFunc(s.timed, func(m measurement.Measurement) bool {
			return m.Provenance == provenance && m.ReferenceBudget == budget
		})
	}
}
