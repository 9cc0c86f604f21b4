package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"speceval/drills/evaluated"
	"speceval/drills/timed"
	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

// What the intervals of the profiles made to hurt must cover: each profile over all
// policies and budgets, and by each policy at each.
const (
	leastHard     = 0.94
	leastHardCell = 0.93
)

// donated is how many rollouts of each task a donor of a made profile has.
const donated = 64

// hardTallies are empty ones of every profile made to hurt, policy and budget, but for
// Uniform, which has a few values only where failures are rare. The donor is drawn from
// the profile.
func hardTallies(made []profile.Profile, laws []rewards, plans map[shape][]plan, small bool, root seed.Seed) (all []*tally) {
	number := 1000
	if small {
		number /= 10
	}
	for k, p := range made {
		random := root.Child("donor").Index(k).Stream()
		near := p
		near.Model, near.TestedK, near.PassCounts = "near", donated, nil
		for i := range p.N() {
			near.PassCounts = append(near.PassCounts, pilot.Binomial(donated, p.P(i), &random))
		}
		for _, budget := range budgets {
			for _, plan := range plans[shape{p.N(), budget}] {
				if plan.policy != uniform {
					all = append(all, &tally{profile: p, rewards: laws[k], others: []profile.Profile{near}, plan: plan, number: number})
				}
			}
		}
	}
	return all
}

// hurt is what came of a profile by all policies and budgets.
type hurt struct {
	tallies            []*tally
	coverage, variance float64 // the mean of its tallies, and the Monte Carlo variance
	least              *tally
}

// hurtBy puts the tallies of each profile together, in the order of the profiles.
func hurtBy(tallies []*tally) (all []*hurt) {
	at := map[string]*hurt{}
	for _, t := range tallies {
		name := t.profile.Name()
		h := at[name]
		if h == nil {
			h = &hurt{least: t}
			at[name], all = h, append(all, h)
		}
		h.tallies = append(h.tallies, t)
		if t.Coverage() < h.least.Coverage() {
			h.least = t
		}
	}
	for _, h := range all {
		n := float64(len(h.tallies))
		for _, t := range h.tallies {
			h.coverage += t.Coverage() / n
			h.variance += t.CoverageVariance() / (n * n)
		}
	}
	return all
}

// at is the mean coverage at a budget.
func (h *hurt) at(budget int) float64 {
	sum, n := 0.0, 0.0
	for _, t := range h.tallies {
		if t.plan.budget == budget {
			sum, n = sum+t.Coverage(), n+1
		}
	}
	return sum / n
}

// hardTable prints the coverage of the profiles made to hurt.
func hardTable(w io.Writer, tallies []*tally) error {
	var b strings.Builder
	fmt.Fprint(&b, "| tasks |")
	for _, budget := range budgets {
		fmt.Fprintf(&b, " b = %d |", budget)
	}
	fmt.Fprint(&b, " all | least | by |\n|---|")
	b.WriteString(strings.Repeat("---|", len(budgets)+3))
	for _, h := range hurtBy(tallies) {
		fmt.Fprintf(&b, "\n| %s |", h.tallies[0].profile.Model)
		for _, budget := range budgets {
			fmt.Fprintf(&b, " %.1f%% |", 100*h.at(budget))
		}
		fmt.Fprintf(&b, " %.2f%% ± %.2f | %.1f%% | %s at %d |", 100*h.coverage, 100*math.Sqrt(h.variance), 100*h.least.Coverage(), h.least.plan.policy, h.least.plan.budget)
	}
	fmt.Fprintf(&b, "\n\nCoverage of the 95%% interval on profiles made to hurt, the mean over HBN in two and in %d stages, and the latter with a donor of %d rollouts per task, with an adversary and with one that is wrong of a tenth of the tasks, %d evaluations each.\n\n", stages, donated, tallies[0].Evaluations)
	_, err := io.WriteString(w, b.String())
	return err
}

// checkHard holds the coverage to what it must be, with three Monte Carlo errors of each
// profile's mean, and four of the least of its tallies.
func checkHard(tallies []*tally, stdout io.Writer) error {
	var means, cells []error
	for _, h := range hurtBy(tallies) {
		where := h.tallies[0].profile.Model
		if h.coverage < leastHard-3*math.Sqrt(h.variance) {
			means = append(means, fmt.Errorf("%s: %.2f%% ± %.2f", where, 100*h.coverage, 100*math.Sqrt(h.variance)))
		}
		if t := h.least; t.Coverage() < leastHardCell-4*evaluated.ShareError(leastHardCell, t.Evaluations) {
			cells = append(cells, fmt.Errorf("%s by %s at %d: %.1f%%", where, t.plan.policy, t.plan.budget, 100*t.Coverage()))
		}
	}
	return timed.Print(stdout, []timed.Check{
		{What: fmt.Sprintf("profiles made to hurt are covered %.0f%% of the time or more, over policies and budgets", 100*leastHard), Fault: errors.Join(means...)},
		{What: fmt.Sprintf("and %.0f%% by each policy at each budget", 100*leastHardCell), Fault: errors.Join(cells...)},
	})
}
