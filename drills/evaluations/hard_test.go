//go:build drill

package evaluations_test

import (
	"fmt"
	"strings"

	"speceval/drills/drill"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

// rewards is the law of a task's rewards, by their mean p.
type rewards struct {
	name     string
	draw     func(p float64, random *seed.Stream) float64
	variance func(p float64) float64
}

// The laws that are tried: passes, the share of three questions that pass, and rewards
// that are spread evenly over all that have the mean in their middle.
var (
	passes = rewards{"passes", pass, func(p float64) float64 { return p * (1 - p) }}
	thirds = rewards{"thirds", func(p float64, random *seed.Stream) float64 {
		return (pass(p, random) + pass(p, random) + pass(p, random)) / 3
	}, func(p float64) float64 { return p * (1 - p) / 3 }}
	even = rewards{"even", func(p float64, random *seed.Stream) float64 {
		return p + min(p, 1-p)*(2*random.Float64()-1)
	}, func(p float64) float64 { return min(p, 1-p) * min(p, 1-p) / 3 }}
)

// pass is 1 with the probability p, and else 0.
func pass(p float64, random *seed.Stream) float64 {
	if random.Float64() < p {
		return 1
	}
	return 0
}

// some is a number of tasks with one probability, in thousandths.
type some struct{ tasks, p int }

// hard is profiles made to hurt the error, with the law of their rewards: tasks that no
// Beta distribution has, failures that are rare, and few tasks.
var hard = []struct {
	rewards rewards
	parts   []some
}{
	{passes, []some{{50, 50}, {50, 950}}},
	{passes, []some{{15, 20}, {15, 980}}},
	{passes, []some{{40, 20}, {10, 500}}},
	{passes, []some{{10, 0}, {10, 500}, {10, 1000}}},
	{passes, []some{{90, 0}, {10, 50}}},
	{passes, []some{{95, 0}, {5, 20}}},
	{passes, []some{{98, 0}, {2, 500}}},
	{passes, []some{{50, 0}, {49, 1000}, {1, 500}}},
	{passes, []some{{97, 1000}, {3, 300}}},
	{passes, []some{{100, 990}}},
	{passes, []some{{30, 990}}},
	{passes, []some{{30, 900}}},
	{passes, []some{{200, 30}}},
	{passes, []some{{10, 100}}},
	{passes, []some{{10, 500}}},
	{passes, []some{{5, 500}}},
	{passes, []some{{3, 500}}},
	{passes, []some{{1, 200}, {1, 500}, {1, 900}}},
	{passes, []some{{2, 500}}},
	{passes, []some{{1, 300}, {1, 900}}},
	{thirds, []some{{50, 50}, {50, 950}}},
	{thirds, []some{{5, 500}}},
	{even, []some{{10, 100}, {10, 500}, {10, 900}}},
	{even, []some{{20, 0}, {3, 500}}},
}

// hardProfiles are the profiles made to hurt.
func hardProfiles() (all []profile.Profile, laws []rewards) {
	for _, h := range hard {
		p := profile.Profile{Benchmark: "hard", TestedK: 1000}
		var names []string
		for _, s := range h.parts {
			names = append(names, fmt.Sprintf("%d of %g", s.tasks, float64(s.p)/1000))
			for range s.tasks {
				p.TaskIDs = append(p.TaskIDs, fmt.Sprint(len(p.TaskIDs)))
				p.PassCounts = append(p.PassCounts, s.p)
			}
		}
		if p.Model = strings.Join(names, " + "); h.rewards.name != passes.name {
			p.Model += ", " + h.rewards.name
		}
		all, laws = append(all, p), append(laws, h.rewards)
	}
	return all, laws
}

// What the intervals of the profiles made to hurt must cover: each profile over all
// policies and budgets, and by each policy at each.
const (
	leastHard     = 0.94
	leastHardCell = 0.93
)

// donated is how many rollouts of each task a donor of a made profile has.
const donated = 64

// hardCells are empty cells of every profile made to hurt, policy and budget, except for
// Uniform, which has only a few values where failures are rare. The donor is drawn from
// the profile.
func hardCells(l *drill.Lab, made []profile.Profile, laws []rewards, plans map[shape][]plan, root seed.Seed) (all []*cell) {
	number := l.Often(100, 1000)
	for k, p := range made {
		random := root.Child("donor").Index(k).Stream()
		donor := earlier(p, donated, &random)
		donor.Model = "near"
		for _, budget := range budgets {
			for _, plan := range plans[shape{p.N(), budget}] {
				if plan.policy != plain {
					others := []profile.Profile{donor}
					all = append(all, &cell{profile: p, rewards: laws[k], others: others, plan: plan, number: number})
				}
			}
		}
	}
	return all
}

// hurtBy sums the cells of each profile up, in the order of the profiles.
func hurtBy(cells []*cell) (all []*summary) {
	for len(cells) > 0 {
		n := 1
		for n < len(cells) && cells[n].profile.Model == cells[0].profile.Model {
			n++
		}
		all = append(all, summarize(cells[0].profile.Model, cells[:n], nil))
		cells = cells[n:]
	}
	return all
}

// hardTable prints the coverage of the profiles made to hurt, the mean over policies and
// budgets.
func hardTable(all []*summary) {
	var lines [][]any
	for _, s := range all {
		lines = append(lines, []any{
			s.name, s.least.Evaluations, fmt.Sprintf("%.2f%% ± %.2f", 100*s.coverage, 100*s.coverageSE),
			fmt.Sprintf("%.1f%%", 100*s.least.coverage()), fmt.Sprintf("%s at %d", s.least.plan.policy, s.least.plan.budget),
		})
	}
	drill.Table([]string{"tasks", "evaluations by each policy", "coverage", "least", "by"}, lines)
}

// hardChecks hold the coverage to what it must be, with three Monte Carlo errors of each
// profile's mean, and four of the least of its cells.
func hardChecks(l *drill.Lab, all []*summary) {
	each(l, fmt.Sprintf("profiles made to hurt are covered %.0f%% of the time or more, over policies and budgets", 100*leastHard),
		all, func(l *drill.Lab, s *summary) {
			if s.coverage < leastHard-3*s.coverageSE {
				l.Errorf("%s: %.2f%% ± %.2f", s.name, 100*s.coverage, 100*s.coverageSE)
			}
		})
	each(l, fmt.Sprintf("and %.0f%% by each policy at each budget", 100*leastHardCell), all, func(l *drill.Lab, s *summary) {
		if c := s.least; c.coverage() < leastHardCell-4*shareError(leastHardCell, c.Evaluations) {
			l.Errorf("%s: by %s at %d: %.1f%%", s.name, c.plan.policy, c.plan.budget, 100*c.coverage())
		}
	})
}
