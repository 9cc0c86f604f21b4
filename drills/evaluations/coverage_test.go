//go:build drill

package evaluations_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"speceval/drills/drill"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// coverage draws evaluations of the published profiles and of others that were made to
// hurt, and holds the estimates and intervals to the truth.
func coverage(b *bench) {
	all, _ := published(b.Lab)
	profiles, _, err := profile.Evaluated(all)
	b.OK(err)
	prior, err := neyman.NewPrior(quadratureOrder)
	b.OK(err)
	made, laws := hardProfiles()
	plans, err := plansFor(b.Ctx, slices.Concat(profiles, made), b.Small, drill.Seed())
	b.OK(err)
	root := seed.Root(drill.Seed()).Child("drill").Child("coverage")
	cells, hurt := publishedCells(profiles, plans, b.Small), hardCells(made, laws, plans, b.Small, root)
	b.Logf("coverage: evaluations of %d published profiles and of %d made ones, drawn from seed %d", len(profiles), len(made), drill.Seed())
	b.OK(drawAll(b.Ctx, prior, slices.Concat(cells, hurt), root))
	rows, hard := summaries(cells), hurtBy(hurt)
	coverageTable(b.Lab, rows)
	worstTable(b.Lab, cells)
	hardTable(b.Lab, hard)
	judgeCoverage(b.Lab, rows)
	judgeHard(b.Lab, hard)
}

// publishedCells are empty cells of every published profile, policy and budget, with
// fewer evaluations by policies that take long.
func publishedCells(profiles []profile.Profile, plans map[shape][]plan, small bool) (all []*cell) {
	for _, p := range profiles {
		others := slices.DeleteFunc(siblings(p, profiles), func(o profile.Profile) bool { return !slices.Equal(o.TaskIDs, p.TaskIDs) })
		for _, budget := range budgets {
			for _, plan := range plans[shape{p.N(), budget}] {
				if plan.policy == wellKnown && len(others) == 0 {
					continue
				}
				number := 1000
				if plan.policy != hbn && plan.policy != plain {
					number = 200
				}
				if small {
					number /= 10
				}
				all = append(all, &cell{profile: p, rewards: passes, others: others, plan: plan, number: number})
			}
		}
	}
	return all
}

// drawAll draws the cells, on all processors, those first that take longest. Random
// streams belong to what is drawn, so that the outcome does not depend on the processor.
func drawAll(ctx context.Context, prior *neyman.Prior, cells []*cell, root seed.Seed) error {
	work := func(c *cell) int { return c.number * c.profile.N() * c.plan.budget }
	slices.SortStableFunc(cells, func(a, b *cell) int { return work(b) - work(a) })
	return inParallel(ctx, runtime.GOMAXPROCS(0), 0, len(cells), func(ctx context.Context, _, i int) error { return cells[i].draw(ctx, prior, root) })
}

// fewEffective is a number of effective tasks below which Uniform's coverage is not
// judged: the error is that of a single task, whose passes are counted in steps.
const fewEffective = 2

// summary is all profiles by one policy at one budget.
type summary struct {
	policy      string
	budget      int
	profiles    int
	evaluations int // of each

	coverage, coverageSE   float64 // mean over profiles, and its Monte Carlo error
	least, low, high       float64 // of a profile; 5% and 95% quantile over profiles
	judged                 float64 // the least of those profiles that are judged
	within, below, above   int     // profiles with a coverage of 93% to 97%, beyond the error, or less or more
	missedLow, missedHigh  float64 // shares of intervals below the truth, and above
	calibration            float64 // of the mean over profiles of seen over stated variances
	lowestCal, greatestCal float64
	bias                   float64 // of the profile where it is largest, in standard errors
	ratio                  float64 // of the mean squared error to Uniform's variance, mean over profiles
	length                 float64 // relative to Uniform's, geometric mean over profiles

	equivalents equivalents // what Uniform would have needed, over all profiles
}

func (s *summary) name() string { return fmt.Sprintf("%s at %d", s.policy, s.budget) }

// summaries are the rows of the table: by budget, Uniform last.
func summaries(cells []*cell) (rows []*summary) {
	for _, budget := range budgets {
		byUniform := map[string]*cell{}
		for _, c := range cellsOf(cells, plain, budget) {
			byUniform[c.profile.Name()] = c
		}
		for _, policy := range policiesDrawn {
			if all := cellsOf(cells, policy, budget); len(all) > 0 {
				rows = append(rows, summarize(all, byUniform))
			}
		}
	}
	return rows
}

// cellsOf are the cells of a policy at a budget, by the names of their profiles.
func cellsOf(cells []*cell, policy string, budget int) []*cell {
	all := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.plan.policy != policy || c.plan.budget != budget })
	slices.SortFunc(all, func(a, b *cell) int { return strings.Compare(a.profile.Name(), b.profile.Name()) })
	return all
}

// summarize sums cells up, with Uniform's of the same profiles.
func summarize(all []*cell, byUniform map[string]*cell) *summary {
	n := float64(len(all))
	s := &summary{policy: all[0].plan.policy, budget: all[0].plan.budget, profiles: len(all), evaluations: all[0].Evaluations, lowestCal: math.Inf(1), judged: 1}
	var coverages []float64
	variance, length, seen := 0.0, 0.0, 0.0
	for _, c := range all {
		coverages = append(coverages, c.coverage())
		if c.plan.policy != plain || effective(c.profile) >= fewEffective {
			s.judged = min(s.judged, c.coverage())
		}
		s.coverage += c.coverage() / n
		variance += c.coverageVariance()
		s.missedLow += c.missedLow() / n
		s.missedHigh += c.missedHigh() / n
		seen += 1 / (c.calibration() * c.calibration()) / n
		s.lowestCal, s.greatestCal = min(s.lowestCal, c.calibration()), max(s.greatestCal, c.calibration())
		s.bias = max(s.bias, math.Abs(c.biasScore()))
		s.ratio += c.ratio() / n
		length += math.Log(c.meanLength()/byUniform[c.profile.Name()].meanLength()) / n
		s.equivalents.join(c.equivalents)
		switch share := c.coverage(); {
		case share < lowest-2*shareError(lowest, c.Evaluations):
			s.below++
		case share > highest+2*shareError(highest, c.Evaluations):
			s.above++
		default:
			s.within++
		}
	}
	slices.Sort(coverages)
	s.least, s.low, s.high = coverages[0], quantile(coverages, 0.05), quantile(coverages, 0.95)
	s.coverageSE, s.length, s.calibration = math.Sqrt(variance)/n, math.Exp(length), 1/math.Sqrt(seen)
	return s
}

// certain is the share of tasks that pass at most one time in fifty or fail at most one
// time in fifty.
func certain(p profile.Profile) float64 {
	n := 0
	for i := range p.N() {
		if q := p.P(i); min(q, 1-q) <= 0.02 {
			n++
		}
	}
	return float64(n) / float64(p.N())
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

// coverageTable prints the rows as Markdown.
func coverageTable(l *drill.Lab, rows []*summary) {
	var cells [][]any
	for _, r := range rows {
		e, n := r.equivalents, float64(r.equivalents.number)
		equivalent := []any{"", "", "", ""} // Uniform is its own
		if r.policy != plain {
			equivalent = []any{
				fmt.Sprintf("%.1f%%", 100*e.coverage()), fmt.Sprintf("%+.1f%%", 100*e.away/n), fmt.Sprintf("%.0f%%", 100*float64(e.claims)/n),
				fmt.Sprintf("%.1f%% of %d", 100*float64(e.wrong)/float64(max(1, e.losses)), e.losses),
			}
		}
		cells = append(cells, append([]any{
			r.budget, r.policy, fmt.Sprintf("%.2f%% ± %.2f", 100*r.coverage, 100*r.coverageSE), fmt.Sprintf("%.1f–%.1f%%", 100*r.low, 100*r.high), fmt.Sprintf("%.1f%%", 100*r.least),
			fmt.Sprintf("%d of %d (%d below, %d above)", r.within, r.profiles, r.below, r.above), fmt.Sprintf("%.1f, %.1f%%", 100*r.missedLow, 100*r.missedHigh),
			fmt.Sprintf("%.3f", r.calibration), fmt.Sprintf("%.2f–%.2f", r.lowestCal, r.greatestCal), fmt.Sprintf("%.1f", r.bias), fmt.Sprintf("%.3f", r.ratio), fmt.Sprintf("%.3f", r.length),
		}, equivalent...))
	}
	drill.Table(strings.Split("b|policy|coverage|5%–95% of profiles|least|profiles in 93–97%|truth above, below|√(stated/seen)|its range|largest bias|MSE|length|Uniform's equivalent|its bias|gains claimed|falsely", "|"), cells)
	l.Logf("Coverage of the 95%% interval, mean over %d profiles with its Monte Carlo error (%d evaluations each). A profile is in 93–97%% unless it is out by more than two standard errors of its own, %.1f points. √(stated/seen) is of the mean over profiles of the mean squared error over the mean stated variance, and 1 where standard errors are right. Bias is in standard errors of the mean of a profile's estimates, of the profile where it is largest: of unbiased ones the median would be %.1f. MSE is relative to Uniform's variance (mean), length to Uniform's interval (geometric mean). What Uniform would have needed is covered by its interval so often; its bias is the mean log ratio to the truth, gains are claimed of so many evaluations, and falsely of so many of those that lost.",
		rows[0].profiles, rows[0].evaluations, 200*shareError(lowest, rows[0].evaluations), medianLargest(rows[0].profiles))
}

// worstShown is how many profiles of each policy and budget are named.
const worstShown = 2

// worstTable names the profiles on which intervals cover least, with what makes them hard.
func worstTable(l *drill.Lab, cells []*cell) {
	var lines [][]any
	for _, budget := range budgets {
		for _, policy := range policiesDrawn {
			all := cellsOf(cells, policy, budget)
			slices.SortStableFunc(all, func(a, b *cell) int { return b.Below + b.Above - a.Below - a.Above })
			for _, c := range all[:min(worstShown, len(all))] {
				p := c.profile
				lines = append(lines, []any{
					budget, policy, p.Name(), p.N(), fmt.Sprintf("%.1f%%", 100*c.coverage()), fmt.Sprintf("%.1f, %.1f%%", 100*c.missedLow(), 100*c.missedHigh()),
					fmt.Sprintf("%.2f", c.calibration()), fmt.Sprintf("%.0f%%", 100*certain(p)), fmt.Sprintf("%.1f", effective(p)), fmt.Sprintf("%.3f", p.Mean()),
				})
			}
		}
	}
	drill.Table(strings.Split("b|policy|profile|N|coverage|truth above, below|√(stated/seen)|certain tasks|effective tasks|mean", "|"), lines)
	l.Logf("A task is certain if its p is within 0.02 of 0 or 1. Effective tasks are (Σ v)²/Σ v² with v = p(1−p): as many of equal variance would share it like these. With fewer than %d the estimate by Uniform has a few values only, and no interval covers the truth as often as it claims.", fewEffective)
	for _, policy := range []string{hbn, plain} {
		low := map[string]bool{} // profiles on which the coverage is too low at some budget
		for _, c := range cells {
			if c.plan.policy == policy && c.coverage() < lowest-2*shareError(lowest, c.Evaluations) {
				low[c.profile.Name()] = true
			}
		}
		var bad, good [2][]float64 // shares of certain tasks, and effective ones
		for _, c := range cellsOf(cells, policy, budgets[0]) {
			of := &good
			if low[c.profile.Name()] {
				of = &bad
			}
			of[0], of[1] = append(of[0], 100*certain(c.profile)), append(of[1], effective(c.profile))
		}
		medians := func(of [2][]float64) []any {
			share, _ := medianAndMost(of[0])
			number, _ := medianAndMost(of[1])
			return []any{len(of[0]), share, number}
		}
		if len(low) > 0 {
			l.Logf("%s covers less than 93%%, by more than the error, at some budget for %d profiles, with %.0f%% certain tasks and %.1f effective ones in the median; the other %d have %.0f%% and %.1f.", append(append([]any{policy}, medians(bad)...), medians(good)...)...)
		}
	}
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

// judgeCoverage holds the summaries to what they must be. Monte Carlo errors count three
// times.
func judgeCoverage(l *drill.Lab, rows []*summary) {
	n := 0
	for _, r := range rows {
		n += r.profiles
	}
	informed := func(r *summary) bool { return slices.Contains([]string{wellKnown, misinformed, misled}, r.policy) }
	// unless is an error with a number, unless a condition holds.
	unless := func(holds bool, format string, args ...any) error {
		if holds {
			return nil
		}
		return fmt.Errorf(format, args...)
	}
	judge(l, rows,
		criterion[*summary]{fmt.Sprintf("mean coverage is within %.1f points of 95%%, in stages up to %.1f above, %.0f with donors", 100*coverageSlack, 100*stagedAbove, 100*knownAbove), func(r *summary) error {
			above := coverageSlack
			if r.policy == inStages {
				above = stagedAbove
			} else if informed(r) {
				above = knownAbove
			}
			noise := 3 * r.coverageSE
			return unless(r.coverage >= nominal-coverageSlack-noise && r.coverage <= nominal+above+noise, "%.2f%% ± %.2f", 100*r.coverage, 100*r.coverageSE)
		}},
		criterion[*summary]{fmt.Sprintf("no profile's coverage is below %.0f%% except by chance (Uniform's: %.0f%%, with %d effective tasks or more)", 100*leastCoverage, 100*leastUniform, fewEffective), func(r *summary) error {
			floor, allowance := leastCoverage, bonferroni(n, falseAlarms)
			if r.policy == plain {
				floor, allowance = leastUniform, 3
			}
			return unless(r.judged >= floor-allowance*shareError(floor, r.evaluations), "%.1f%%", 100*r.judged)
		}},
		criterion[*summary]{"no estimate is biased by more than the most biased of unbiased ones in 1 of 100 drills", func(r *summary) error {
			return unless(r.bias <= bonferroniOfMeans(n, r.evaluations, falseAlarms), "%.1f standard errors", r.bias)
		}},
		criterion[*summary]{fmt.Sprintf("standard errors are right within %.0f%% on average, with donors not too large by more than %.0f%%", 100*calibrationSlack, 100*knownCalibration), func(r *summary) error {
			large := calibrationSlack
			if informed(r) {
				large = knownCalibration
			}
			return unless(r.calibration >= 1-calibrationSlack && r.calibration <= 1+large, "%.3f", r.calibration)
		}},
		criterion[*summary]{fmt.Sprintf("what Uniform would have needed is covered %.0f%% of the time", 100*leastEquivalent), func(r *summary) error {
			e := r.equivalents
			return unless(e.number == 0 || e.coverage() >= leastEquivalent-3*shareError(leastEquivalent, e.number), "%.1f%%", 100*e.coverage())
		}},
		criterion[*summary]{fmt.Sprintf("no gain is claimed of more than %.0f%% of the evaluations that lost", 100*mostWrong), func(r *summary) error {
			e := r.equivalents
			return unless(!tooMany(e.wrong, e.losses, mostWrong), "%d of %d", e.wrong, e.losses)
		}},
	)
}
