//go:build drill

package evaluations_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"speceval/drills/drill"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

// coverage draws evaluations of the published profiles and of others that were made to
// hurt, and holds the estimates and intervals to the truth.
func coverage(b *bench) {
	all, _ := published(b.Lab)
	profiles, _, err := profile.Evaluated(all)
	b.OK(err)
	made, laws := hardProfiles()
	plans := plansFor(b.Lab, slices.Concat(profiles, made))
	root := seed.Root(drill.Seed()).Child("drill").Child("coverage")
	cells, hurt := publishedCells(b.Lab, profiles, plans), hardCells(b.Lab, made, laws, plans, root)
	b.Logf("coverage: evaluations of %d published profiles and of %d made ones, drawn from seed %d", len(profiles), len(made), drill.Seed())

	// On all processors, those first that take longest. Random streams belong to what is
	// drawn, so that the outcome does not depend on the processor.
	work := func(c *cell) int { return c.number * c.profile.N() * c.plan.budget }
	drawn := slices.SortedStableFunc(slices.Values(slices.Concat(cells, hurt)), func(a, b *cell) int { return work(b) - work(a) })
	inParallel(b.Lab, runtime.GOMAXPROCS(0), 0, len(drawn), func(l *drill.Lab, _, i int) { drawn[i].draw(l, b.prior, root) })

	rows, hard := summaries(cells), hurtBy(hurt)
	coverageTable(rows)
	hardTable(hard)
	coverageChecks(b.Lab, rows)
	hardChecks(b.Lab, hard)
}

// publishedCells are empty cells of every published profile, policy and budget, with
// fewer evaluations by policies that take long.
func publishedCells(l *drill.Lab, profiles []profile.Profile, plans map[shape][]plan) (all []*cell) {
	for _, p := range profiles {
		others := slices.DeleteFunc(siblings(p, profiles), func(o profile.Profile) bool { return !slices.Equal(o.TaskIDs, p.TaskIDs) })
		for _, budget := range budgets {
			for _, plan := range plans[shape{p.N(), budget}] {
				if plan.policy == wellKnown && len(others) == 0 {
					continue
				}
				number := l.Often(20, 200)
				if plan.policy == hbn || plan.policy == plain {
					number = l.Often(100, 1000)
				}
				all = append(all, &cell{profile: p, rewards: passes, others: others, plan: plan, number: number})
			}
		}
	}
	return all
}

// fewEffective is a number of effective tasks below which Uniform's coverage is not
// judged: the error is that of a single task, whose passes are counted in steps.
const fewEffective = 2

// summary is all profiles by one policy at one budget, or one profile by all.
type summary struct {
	name     string
	profiles int

	coverage, coverageSE float64 // mean over profiles, and its Monte Carlo error
	least                *cell   // the one that is covered least
	judged               float64 // the least of those profiles that are judged
	calibration          float64 // of the mean over profiles of seen over stated variances
	bias                 float64 // of the profile where it is largest, in standard errors
	ratio                float64 // of the mean squared error to Uniform's variance, mean over profiles
	length               float64 // relative to Uniform's, geometric mean over profiles

	equivalents equivalents // what Uniform would have needed, over all profiles
}

// summaries are the rows of the table: by budget, Uniform last.
func summaries(cells []*cell) (rows []*summary) {
	for _, budget := range budgets {
		byUniform := map[string]*cell{}
		for _, c := range cellsOf(cells, plain, budget) {
			byUniform[c.profile.Name()] = c
		}
		for _, policy := range policiesDrawn {
			if all := cellsOf(cells, policy, budget); len(all) > 0 {
				rows = append(rows, summarize(fmt.Sprintf("%s at %d", policy, budget), all, byUniform))
			}
		}
	}
	return rows
}

// cellsOf are the cells of a policy at a budget.
func cellsOf(cells []*cell, policy string, budget int) []*cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.plan.policy != policy || c.plan.budget != budget })
}

// summarize sums cells up, with Uniform's of the same profiles, if there are any.
func summarize(name string, all []*cell, byUniform map[string]*cell) *summary {
	n := float64(len(all))
	s := &summary{name: name, profiles: len(all), judged: 1, least: all[0]}
	variance, length, seen := 0.0, 0.0, 0.0
	for _, c := range all {
		if c.plan.policy != plain || effective(c.profile) >= fewEffective {
			s.judged = min(s.judged, c.coverage())
		}
		if c.coverage() < s.least.coverage() {
			s.least = c
		}
		s.coverage += c.coverage() / n
		variance += c.coverageVariance()
		seen += 1 / (c.calibration() * c.calibration()) / n
		s.bias = max(s.bias, math.Abs(c.biasScore()))
		square, _ := c.meanSquare()
		s.ratio += square / uniformVariance(c.profile, float64(c.plan.budget)) / n
		if u := byUniform[c.profile.Name()]; u != nil {
			length += math.Log(c.meanLength()/u.meanLength()) / n
		}
		s.equivalents.join(c.equivalents)
	}
	s.coverageSE, s.length, s.calibration = math.Sqrt(variance)/n, math.Exp(length), 1/math.Sqrt(seen)
	return s
}

// effective is the number of tasks that matter to the error: as many of equal variance
// would share it like these, (Σ v)² / Σ v².
func effective(p profile.Profile) float64 {
	squares := 0.0
	for i := range p.N() {
		v := p.P(i) * (1 - p.P(i))
		squares += v * v
	}
	return p.VarianceSum() * p.VarianceSum() / squares
}

// coverageTable prints the rows as Markdown. The mean squared error and the length are
// relative to Uniform's.
func coverageTable(rows []*summary) {
	var cells [][]any
	for _, r := range rows {
		e, n := r.equivalents, float64(r.equivalents.number)
		equivalent := []any{"", "", "", ""} // Uniform is its own
		if r.least.plan.policy != plain {
			equivalent = []any{
				fmt.Sprintf("%.1f%%", 100*e.coverage()), fmt.Sprintf("%+.1f%%", 100*e.away/n), fmt.Sprintf("%.0f%%", 100*float64(e.claims)/n),
				fmt.Sprintf("%.1f%% of %d", 100*float64(e.wrong)/float64(max(1, e.losses)), e.losses),
			}
		}
		cells = append(cells, append([]any{
			r.least.plan.budget, r.least.plan.policy, fmt.Sprintf("%.2f%% ± %.2f", 100*r.coverage, 100*r.coverageSE),
			fmt.Sprintf("%.1f%% of %s", 100*r.least.coverage(), r.least.profile.Name()),
			fmt.Sprintf("%.3f", r.calibration), fmt.Sprintf("%.1f", r.bias), fmt.Sprintf("%.3f", r.ratio), fmt.Sprintf("%.3f", r.length),
		}, equivalent...))
	}
	drill.Table(strings.Split("b|policy|coverage|least|√(stated/seen)|largest bias|MSE|length|Uniform's equivalent|its bias|gains claimed|falsely", "|"), cells)
}

// What coverage must be: the mean over profiles within half a point of 95%, of policies in
// more than two stages up to one and a half above, two with donors; and no profile below
// 94% except by chance, Uniform's 90%. Standard errors may be off by a twentieth on
// average, and too large by a tenth with donors. What Uniform would have needed must be
// covered so often on average over profiles, and a gain may be claimed of so many
// evaluations that lost.
const (
	coverageSlack    = 0.005
	stagedAbove      = 0.015
	knownAbove       = 0.02
	leastCoverage    = 0.94
	leastUniform     = 0.90
	calibrationSlack = 0.05
	knownCalibration = 0.10
	leastEquivalent  = 0.93
	mostWrong        = 0.05
)

// coverageChecks hold the summaries to what they must be. Monte Carlo errors count three
// times. NaN holds nowhere.
func coverageChecks(l *drill.Lab, rows []*summary) {
	n := 0
	for _, r := range rows {
		n += r.profiles
	}
	informed := func(r *summary) bool {
		return slices.Contains([]string{wellKnown, misinformed, misled}, r.least.plan.policy)
	}
	each(l, fmt.Sprintf("mean coverage is within %.1f points of 95%%, in stages up to %.1f above, %.0f with donors",
		100*coverageSlack, 100*stagedAbove, 100*knownAbove), rows, func(l *drill.Lab, r *summary) {
		above := coverageSlack
		if r.least.plan.policy == inStages {
			above = stagedAbove
		} else if informed(r) {
			above = knownAbove
		}
		if noise := 3 * r.coverageSE; !(r.coverage >= nominal-coverageSlack-noise && r.coverage <= nominal+above+noise) {
			l.Errorf("%s: %.2f%% ± %.2f", r.name, 100*r.coverage, 100*r.coverageSE)
		}
	})
	each(l, fmt.Sprintf("no profile's coverage is below %.0f%% except by chance (Uniform's: %.0f%%, with %d effective tasks or more)",
		100*leastCoverage, 100*leastUniform, fewEffective), rows, func(l *drill.Lab, r *summary) {
		floor, allowance := leastCoverage, bonferroni(n, falseAlarms)
		if r.least.plan.policy == plain {
			floor, allowance = leastUniform, 3
		}
		if !(r.judged >= floor-allowance*shareError(floor, r.least.Evaluations)) {
			l.Errorf("%s: %.1f%%", r.name, 100*r.judged)
		}
	})
	each(l, "no estimate is biased by more than the most biased of unbiased ones in 1 of 100 drills", rows, func(l *drill.Lab, r *summary) {
		if !(r.bias <= bonferroniOfMeans(n, r.least.Evaluations, falseAlarms)) {
			l.Errorf("%s: %.1f standard errors", r.name, r.bias)
		}
	})
	each(l, fmt.Sprintf("standard errors are right within %.0f%% on average, with donors not too large by more than %.0f%%",
		100*calibrationSlack, 100*knownCalibration), rows, func(l *drill.Lab, r *summary) {
		large := calibrationSlack
		if informed(r) {
			large = knownCalibration
		}
		if !(r.calibration >= 1-calibrationSlack && r.calibration <= 1+large) {
			l.Errorf("%s: %.3f", r.name, r.calibration)
		}
	})
	each(l, fmt.Sprintf("what Uniform would have needed is covered %.0f%% of the time", 100*leastEquivalent), rows, func(l *drill.Lab, r *summary) {
		e := r.equivalents
		if e.number > 0 && e.coverage() < leastEquivalent-3*shareError(leastEquivalent, e.number) {
			l.Errorf("%s: %.1f%%", r.name, 100*e.coverage())
		}
	})
	each(l, fmt.Sprintf("no gain is claimed of more than %.0f%% of the evaluations that lost", 100*mostWrong), rows, func(l *drill.Lab, r *summary) {
		if e := r.equivalents; tooMany(e.wrong, e.losses, mostWrong) {
			l.Errorf("%s: %d of %d", r.name, e.wrong, e.losses)
		}
	})
}
