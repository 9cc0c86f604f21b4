package report

import (
	"slices"

	"speceval/internal/variance"
)

// shift adds d to every ratio of a policy at a budget.
func shift(policy string, budget int32, d float64) func(*stored) {
	return func(s *stored) {
		for i, r := range s.Ratios {
			if r.Policy == policy && r.Budget == budget {
				s.Ratios[i].VarianceRatio += d
			}
		}
	}
}

// swap makes another pilot size the selected one of a design: ours is m, and
// the paper's has a risk higher by gap.
func swap(policy string, n, b, m int32, gap float64) func(*stored) {
	return func(s *stored) {
		best := 0.0
		for i := range s.Designs {
			d := &s.Designs[i]
			if d.Policy != policy || d.NTasks != n || d.Budget != b {
				continue
			}
			if d.Selected {
				best = d.Risk - gap
				d.Selected, d.Gap, d.GapSE = false, gap, gapSE
			}
		}
		for i := range s.Designs {
			d := &s.Designs[i]
			if d.Policy == policy && d.NTasks == n && d.Budget == b && d.M == m {
				d.Selected, d.Risk, d.Gap, d.GapSE = true, best, 0, 0
				d.W = best * float64(m) / float64(b)
			}
		}
		for i := range s.Ratios {
			if r := &s.Ratios[i]; r.Policy == policy && r.NTasks == n && r.Budget == b {
				r.M = &m
			}
		}
	}
}

// strength selects another IBN strength at b = 8, where the paper's has a
// mean higher by loss.
func strength(loss float64) func(*stored) {
	return func(s *stored) {
		other := 0.14
		for i, r := range s.Ratios {
			if r.Policy == variance.TunedIBN && r.Budget == 8 {
				s.Ratios[i].Alpha = &other
			}
		}
		for i, r := range s.Candidates {
			if r.Budget == 8 && *r.Alpha == other {
				s.Candidates[i].VarianceRatio += -0.004 - loss
			}
		}
		for _, d := range slices.Clone(s.Designs) {
			if d.Policy == variance.TunedIBN && d.Budget == 8 {
				d.Alpha = &other
				s.Designs = append(s.Designs, d)
			}
		}
	}
}

// noisy is twenty times the replay noise.
func noisy(s *stored) {
	for i := range s.Ratios {
		s.Ratios[i].RatioSE *= 20
	}
}

// hbnOn sets HBN's ratio on one profile at one budget.
func hbnOn(profile string, budget int32, ratio float64) func(*stored) {
	return func(s *stored) {
		for i, r := range s.Ratios {
			if name(r) == profile && r.Policy == variance.HBN && r.Budget == budget {
				s.Ratios[i].VarianceRatio = ratio
			}
		}
	}
}

// adverse sets HBN's ratio on the paper's adverse profile.
func adverse(budget int32, ratio float64) func(*stored) {
	return hbnOn("math_100__model=qwen3_5_4b", budget, ratio)
}

// another sets HBN's ratio on another profile at b = 16.
func another(ratio float64) func(*stored) { return hbnOn("aime24__model=qwen3_5_4b", 16, ratio) }

// weight moves the selected EN weight for 30 tasks at b = 8.
func weight(d float64) func(*stored) {
	return func(s *stored) {
		for i := range s.Designs {
			if x := &s.Designs[i]; x.Policy == variance.TunedEN && x.NTasks == 30 && x.Budget == 8 && x.Selected {
				x.W += d
			}
		}
	}
}

// without drops a policy altogether.
func without(policy string) func(*stored) {
	return func(s *stored) {
		s.Ratios = slices.DeleteFunc(s.Ratios, func(r variance.Ratio) bool { return r.Policy == policy })
		s.Designs = slices.DeleteFunc(s.Designs, func(d variance.Design) bool { return d.Policy == policy })
	}
}

// cost adds d to a number of a stored row of Tables 2 to 4.
func cost(kind costKind, provenance string, budget int32, column string, d float64) func(*stored) {
	return func(s *stored) {
		for _, r := range s.costs[kind.base] {
			for i, c := range kind.columns {
				if r.provenance == provenance && r.budget == budget && c.name == column {
					r.cells[i].Value += d
				}
			}
		}
	}
}

// withoutCosts drops the rows of a table at one budget.
func withoutCosts(kind costKind, provenance string, budget int32) func(*stored) {
	return func(s *stored) {
		s.costs[kind.base] = slices.DeleteFunc(s.costs[kind.base], func(r costRow) bool {
			return r.provenance == provenance && r.budget == budget
		})
	}
}

// fewer takes a profile away from every row of a table and provenance.
func fewer(kind costKind, provenance string) func(*stored) {
	return func(s *stored) {
		for i := range s.costs[kind.base] {
			if r := &s.costs[kind.base][i]; r.provenance == provenance {
				r.profiles--
			}
		}
	}
}

// do is a list of changes.
func do(changes ...func(*stored)) []func(*stored) { return changes }
