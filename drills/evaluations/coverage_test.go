//go:build drill

package evaluations_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"speceval/drills/drill"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
)

// coverage draws evaluations of the published profiles and of others that were made to
// hurt, and holds the estimates and intervals to the truth.
func coverage(b *bench) {
	profiles, _, err := profile.Evaluated(published(b.Lab))
	b.OK(err)
	var subjects []subject
	for _, p := range profiles {
		others := slices.DeleteFunc(siblings(p, profiles), func(o profile.Profile) bool { return !slices.Equal(o.TaskIDs, p.TaskIDs) })
		subjects = append(subjects, subject{profile: p, rewards: passes, others: others})
	}
	root := seed.Root(drill.Seed()).Child("drill").Child("coverage")
	var cells []*cell
	plans := map[int][]plan{}
	for _, s := range append(subjects, hardSubjects(root)...) {
		n := s.profile.N()
		if plans[n] == nil {
			plans[n] = plansFor(b, n)
		}
		for _, p := range plans[n] {
			number := b.Often(100, 1000)
			switch {
			case s.hard && p.policy == plain: // it has only a few values where failures are rare
				continue
			case p.donors != nil && len(p.donors(s)) == 0:
				continue
			case !s.hard && p.policy != plain && p.policy != hbn: // they take long
				number = b.Often(20, 200)
			}
			cells = append(cells, &cell{subject: s, plan: p, number: number})
		}
	}
	b.Logf("coverage: evaluations of %d published profiles and of others, drawn from seed %d", len(profiles), drill.Seed())

	// On all processors, those first that take longest. Random streams belong to what is
	// drawn, so that the outcome does not depend on the processor.
	work := func(c *cell) int { return c.number * c.profile.N() * c.Budget }
	drawn := slices.SortedStableFunc(slices.Values(cells), func(a, b *cell) int { return work(b) - work(a) })
	inParallel(b.Lab, runtime.GOMAXPROCS(0), 0, len(drawn), func(l *drill.Lab, _, i int) { drawn[i].draw(l, b.prior, root) })

	rows := summaries(cells)
	coverageTable(rows)
	published := slices.IndexFunc(rows, func(s *summary) bool { return s.least.hard })
	coverageChecks(b.Lab, rows[:published])
	hardChecks(b.Lab, rows[published:])
}

// fewEffective is a number of effective tasks below which Uniform's coverage is not
// judged: a single task makes the error, and its passes are counted in steps.
const fewEffective = 2

// summary is all profiles by one policy at one budget, or one profile by all.
type summary struct {
	what  string
	cells []*cell
	plan  plan // of the first cell

	coverage, coverageSE float64 // mean over profiles, and its Monte Carlo error
	least                *cell   // the one that is covered least
	judged               float64 // the least of those profiles that are judged
	calibration          float64 // of the mean over profiles of seen over stated variances
	bias                 float64 // of the profile where it is largest, in standard errors
	ratio                float64 // of the mean squared error to Uniform's variance, mean over profiles
	length               float64 // relative to Uniform's, geometric mean over profiles

	drawn, equivalent, lost, wrong int // evaluations by what Uniform would have needed
}

func (s *summary) name() string { return s.what }

// summaries sum up the published profiles by policy and budget, and each other profile.
func summaries(cells []*cell) (rows []*summary) {
	byName, byUniform := map[string]*summary{}, map[string]*cell{}
	at := func(c *cell) string { return fmt.Sprint(c.profile.Name(), c.Budget) }
	for _, c := range cells {
		name := fmt.Sprintf("%s at %d", c.policy, c.Budget)
		if c.hard {
			name = c.profile.Model
		}
		if byName[name] == nil {
			byName[name] = &summary{what: name, plan: c.plan, judged: 1, least: c}
			rows = append(rows, byName[name])
		}
		byName[name].cells = append(byName[name].cells, c)
		if c.policy == plain {
			byUniform[at(c)] = c
		}
	}
	for _, s := range rows {
		n := float64(len(s.cells))
		variance, length, seen := 0.0, 0.0, 0.0
		for _, c := range s.cells {
			share := c.coverage()
			if c.policy != plain || effective(c.profile) >= fewEffective {
				s.judged = min(s.judged, share)
			}
			if share < s.least.coverage() {
				s.least = c
			}
			s.coverage += share / n
			variance += share * (1 - share) / float64(c.n)
			seen += 1 / (c.calibration() * c.calibration()) / n
			bias, se := meanOf(c.away)
			s.bias = max(s.bias, math.Abs(bias/se))
			square, _ := meanOf(c.squares)
			s.ratio += square / uniformVariance(c.profile, float64(c.Budget)) / n
			if u := byUniform[at(c)]; u != nil {
				length += math.Log(c.meanLength()/u.meanLength()) / n
			}
			s.drawn, s.equivalent = s.drawn+c.n, s.equivalent+c.equivalent
			s.lost, s.wrong = s.lost+c.lost, s.wrong+c.wrong
		}
		s.coverageSE, s.length, s.calibration = math.Sqrt(variance)/n, math.Exp(length), 1/math.Sqrt(seen)
	}
	return rows
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

// coverageTable prints summaries as Markdown. The mean squared error and the length are
// relative to Uniform's.
func coverageTable(rows []*summary) {
	var cells [][]any
	for _, r := range rows {
		cells = append(cells, []any{
			r.what, len(r.cells), fmt.Sprintf("%.2f%% ± %.2f", 100*r.coverage, 100*r.coverageSE),
			fmt.Sprintf("%.1f%% of %s by %s at %d", 100*r.least.coverage(), r.least.profile.Name(), r.least.policy, r.least.Budget),
			fmt.Sprintf("%.3f", r.calibration), fmt.Sprintf("%.1f", r.bias), fmt.Sprintf("%.3f", r.ratio), fmt.Sprintf("%.3f", r.length),
			fmt.Sprintf("%.1f%%", 100*float64(r.equivalent)/float64(r.drawn)),
			fmt.Sprintf("%.1f%% of %d", 100*float64(r.wrong)/float64(max(1, r.lost)), r.lost),
		})
	}
	drill.Table(strings.Split("evaluations|profiles or policies:|coverage|least|√(stated/seen):|largest bias:|MSE:|length:|"+
		"what Uniform would have needed:|gains claimed falsely:", "|"), cells)
}

// What coverage must be: the mean over profiles within half a point of 95%, of policies in
// more than two stages up to one and a half above, two with donors; and no profile below
// 94% except by chance, Uniform's 90%. Standard errors may be off by a twentieth on
// average, and too large by a tenth with donors. What Uniform would have needed must be
// covered so often on average over profiles, and a gain may be claimed of so many
// evaluations that lost. The intervals of the profiles made to hurt must cover so often,
// each profile over all policies and budgets, and by each policy at each.
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
	leastHard        = 0.94
	leastHardCell    = 0.93
)

// coverageChecks hold the summaries to what they must be. Monte Carlo errors count three
// times.
func coverageChecks(l *drill.Lab, rows []*summary) {
	n := 0
	for _, r := range rows {
		n += len(r.cells)
	}
	each(l, fmt.Sprintf("mean coverage is within %.1f points of 95%%, in stages up to %.1f above, %.0f with donors",
		100*coverageSlack, 100*stagedAbove, 100*knownAbove), rows, func(r *summary) (bool, string) {
		above, noise := coverageSlack, 3*r.coverageSE
		if r.plan.policy == inStages {
			above = stagedAbove
		} else if r.plan.donors != nil {
			above = knownAbove
		}
		return r.coverage >= nominal-coverageSlack-noise && r.coverage <= nominal+above+noise,
			fmt.Sprintf("%.2f%% ± %.2f", 100*r.coverage, 100*r.coverageSE)
	})
	each(l, fmt.Sprintf("no profile's coverage is below %.0f%% except by chance (Uniform's: %.0f%%, with %d effective tasks or more)",
		100*leastCoverage, 100*leastUniform, fewEffective), rows, func(r *summary) (bool, string) {
		floor, allowance := leastCoverage, bonferroni(n)
		if r.plan.policy == plain {
			floor, allowance = leastUniform, 3
		}
		return r.judged >= floor-allowance*shareError(floor, r.least.n), fmt.Sprintf("%.1f%%", 100*r.judged)
	})
	each(l, "no estimate is biased by more than the most biased of unbiased ones in 1 of 100 drills",
		rows, func(r *summary) (bool, string) {
			student := distuv.StudentsT{Sigma: 1, Nu: float64(r.least.n - 1)} // of means over their standard errors
			return r.bias <= student.Quantile(1-falseAlarms/2/float64(n)), fmt.Sprintf("%.1f standard errors", r.bias)
		})
	each(l, fmt.Sprintf("standard errors are right within %.0f%% on average, with donors not too large by more than %.0f%%",
		100*calibrationSlack, 100*knownCalibration), rows, func(r *summary) (bool, string) {
		large := calibrationSlack
		if r.plan.donors != nil {
			large = knownCalibration
		}
		return r.calibration >= 1-calibrationSlack && r.calibration <= 1+large, fmt.Sprintf("%.3f", r.calibration)
	})
	each(l, fmt.Sprintf("what Uniform would have needed is covered %.0f%% of the time", 100*leastEquivalent),
		rows, func(r *summary) (bool, string) {
			share := float64(r.equivalent) / float64(r.drawn)
			return share >= leastEquivalent-3*shareError(leastEquivalent, r.drawn), fmt.Sprintf("%.1f%%", 100*share)
		})
	each(l, fmt.Sprintf("no gain is claimed of more than %.0f%% of the evaluations that lost", 100*mostWrong),
		rows, func(r *summary) (bool, string) {
			return !tooMany(r.wrong, r.lost, mostWrong), fmt.Sprintf("%d of %d", r.wrong, r.lost)
		})
}

// hardChecks hold the profiles made to hurt to what they must be, with three Monte Carlo
// errors of each profile's mean, and four of the least of its cells.
func hardChecks(l *drill.Lab, rows []*summary) {
	each(l, fmt.Sprintf("profiles made to hurt are covered %.0f%% of the time or more, over policies and budgets", 100*leastHard),
		rows, func(r *summary) (bool, string) {
			return r.coverage >= leastHard-3*r.coverageSE, fmt.Sprintf("%.2f%% ± %.2f", 100*r.coverage, 100*r.coverageSE)
		})
	each(l, fmt.Sprintf("and %.0f%% by each policy at each budget", 100*leastHardCell), rows, func(r *summary) (bool, string) {
		c := r.least
		return c.coverage() >= leastHardCell-4*shareError(leastHardCell, c.n),
			fmt.Sprintf("by %s at %d: %.1f%%", c.policy, c.Budget, 100*c.coverage())
	})
}
