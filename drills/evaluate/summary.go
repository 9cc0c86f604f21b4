package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"speceval/drills/evaluated"

	"gonum.org/v1/gonum/stat/distuv"
)

// Coverages: what intervals claim, and the range in which a profile's is as
// claimed for practical purposes.
const (
	nominal = 0.95
	lowest  = 0.93
	highest = 0.97
)

// fewEffective is a number of effective tasks below which Uniform's coverage is not
// judged: the error is that of a single task, whose passes are counted in steps.
const fewEffective = 2

// summary is what came of all profiles by one policy at one budget.
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

// policiesDrawn are those of the tables, in their order.
var policiesDrawn = []string{hbn, inStages, wellKnown, misinformed, misled, uniform}

// summaries are the rows of the table: by budget, Uniform last.
func summaries(tallies []*tally) []summary {
	var rows []summary
	for _, budget := range budgets {
		plain := map[string]*tally{}
		for _, t := range of(tallies, uniform, budget) {
			plain[t.profile.Name()] = t
		}
		for _, policy := range policiesDrawn {
			if all := of(tallies, policy, budget); len(all) > 0 {
				rows = append(rows, summarize(all, plain))
			}
		}
	}
	return rows
}

// of are the tallies of a policy at a budget, in the order of their profiles'
// names.
func of(tallies []*tally, policy string, budget int) []*tally {
	var all []*tally
	for _, t := range tallies {
		if t.plan.policy == policy && t.plan.budget == budget {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *tally) int { return strings.Compare(a.profile.Name(), b.profile.Name()) })
	return all
}

// summarize sums up tallies, beside Uniform's of the same profiles.
func summarize(all []*tally, plain map[string]*tally) summary {
	n := float64(len(all))
	s := summary{policy: all[0].plan.policy, budget: all[0].plan.budget, profiles: len(all), evaluations: all[0].Evaluations, lowestCal: math.Inf(1), judged: 1}
	var coverages []float64
	variance, length, seen := 0.0, 0.0, 0.0
	for _, t := range all {
		coverages = append(coverages, t.Coverage())
		if t.plan.policy != uniform || effective(t.profile) >= fewEffective {
			s.judged = min(s.judged, t.Coverage())
		}
		s.coverage += t.Coverage() / n
		variance += t.CoverageVariance()
		s.missedLow += t.MissedLow() / n
		s.missedHigh += t.MissedHigh() / n
		seen += 1 / (t.Calibration() * t.Calibration()) / n
		s.lowestCal, s.greatestCal = min(s.lowestCal, t.Calibration()), max(s.greatestCal, t.Calibration())
		s.bias = max(s.bias, math.Abs(t.BiasScore()))
		ratio, _ := t.ratio()
		s.ratio += ratio / n
		length += math.Log(t.Length()/plain[t.profile.Name()].Length()) / n
		s.equivalents.join(t.equivalents)
		switch share := t.Coverage(); {
		case share < lowest-2*evaluated.ShareError(lowest, t.Evaluations):
			s.below++
		case share > highest+2*evaluated.ShareError(highest, t.Evaluations):
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

// quantile of sorted numbers, linear between them.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i == len(sorted)-1 {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// medianLargest is the median of the largest of n standard normal numbers,
// without their signs.
func medianLargest(n int) float64 {
	return distuv.UnitNormal.Quantile((1 + math.Pow(0.5, 1/float64(n))) / 2)
}

// bonferroni is what the largest of n standard normal numbers, without their
// signs, exceeds with at most this probability.
func bonferroni(n int, probability float64) float64 {
	return distuv.UnitNormal.Quantile(1 - probability/2/float64(n))
}

// bonferroniOfMeans is that of means of so many draws, over their standard errors.
func bonferroniOfMeans(n, draws int, probability float64) float64 {
	student := distuv.StudentsT{Sigma: 1, Nu: float64(draws - 1)}
	return student.Quantile(1 - probability/2/float64(n))
}

// coverageTable prints the rows as Markdown.
func coverageTable(w io.Writer, rows []summary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| b | policy | coverage | 5%%–95%% of profiles | least | profiles in 93–97%% | truth above, below | √(stated/seen) | its range | largest bias | MSE | length | Uniform's equivalent | its bias | gains claimed | falsely |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %d | %s | %.2f%% ± %.2f | %.1f–%.1f%% | %.1f%% | %d of %d (%d below, %d above) | %.1f, %.1f%% | %.3f | %.2f–%.2f | %.1f | %.3f | %.3f | %s |\n",
			r.budget, r.policy, 100*r.coverage, 100*r.coverageSE, 100*r.low, 100*r.high, 100*r.least, r.within, r.profiles, r.below, r.above,
			100*r.missedLow, 100*r.missedHigh, r.calibration, r.lowestCal, r.greatestCal, r.bias, r.ratio, r.length, r.equivalents.cells(r.policy))
	}
	fmt.Fprintf(&b, "\nCoverage of the 95%% interval, mean over %d profiles with its Monte Carlo error (%d evaluations each). A profile is in 93–97%% unless it is out by more than two standard errors of its own, %.1f points. √(stated/seen) is of the mean over profiles of the mean squared error over the mean stated variance, and 1 where standard errors are right. Bias is in standard errors of the mean of a profile's estimates, of the profile where it is largest: of unbiased ones the median would be %.1f. MSE is relative to Uniform's variance (mean), length to Uniform's interval (geometric mean). What Uniform would have needed is covered by its interval so often; its bias is the mean log ratio to the truth, gains are claimed of so many evaluations, and falsely of so many of those that lost.\n\n",
		rows[0].profiles, rows[0].evaluations, 200*evaluated.ShareError(lowest, rows[0].evaluations), medianLargest(rows[0].profiles))
	_, err := io.WriteString(w, b.String())
	return err
}

// worstShown is how many profiles of each policy and budget are named.
const worstShown = 2

// worstTable names the profiles on which intervals cover least, with what makes
// them hard.
func worstTable(w io.Writer, tallies []*tally) error {
	var b strings.Builder
	fmt.Fprint(&b, "| b | policy | profile | N | coverage | truth above, below | √(stated/seen) | certain tasks | effective tasks | mean |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, budget := range budgets {
		for _, policy := range policiesDrawn {
			all := of(tallies, policy, budget)
			slices.SortStableFunc(all, func(a, b *tally) int { return b.Below + b.Above - a.Below - a.Above })
			for _, t := range all[:min(worstShown, len(all))] {
				p := t.profile
				fmt.Fprintf(&b, "| %d | %s | %s | %d | %.1f%% | %.1f, %.1f%% | %.2f | %.0f%% | %.1f | %.3f |\n", budget, policy, p.Name(), p.N(), 100*t.Coverage(),
					100*t.MissedLow(), 100*t.MissedHigh(), t.Calibration(), 100*certain(p), effective(p), p.Mean())
			}
		}
	}
	fmt.Fprintf(&b, "\nA task is certain if its p is within 0.02 of 0 or 1. Effective tasks are (Σ v)²/Σ v² with v = p(1−p): as many of equal variance would share it like these. With fewer than %d the estimate by Uniform has a few values only, and no interval covers the truth as often as it says.", fewEffective)
	for _, policy := range []string{hbn, uniform} {
		worst, others := common(tallies, policy)
		if worst.n > 0 {
			fmt.Fprintf(&b, " %s covers less than 93%%, by more than the error, at some budget for %d profiles, with %.0f%% certain tasks and %.1f effective ones in the median; the other %d have %.0f%% and %.1f.",
				policy, worst.n, 100*worst.certain, worst.effective, others.n, 100*others.certain, others.effective)
		}
	}
	fmt.Fprint(&b, "\n\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// kind is what some profiles have in common.
type kind struct {
	n                  int
	certain, effective float64 // medians
}

// common is what those profiles have in common on which a policy's coverage is too
// low at some budget, and the others.
func common(tallies []*tally, policy string) (worst, others kind) {
	low, profiles := map[string]bool{}, map[string]*tally{}
	for _, t := range tallies {
		if t.plan.policy == policy {
			name := t.profile.Name()
			profiles[name] = t
			low[name] = low[name] || t.Coverage() < lowest-2*evaluated.ShareError(lowest, t.Evaluations)
		}
	}
	var bad, good []*tally
	for name, t := range profiles {
		if low[name] {
			bad = append(bad, t)
		} else {
			good = append(good, t)
		}
	}
	return kindOf(bad), kindOf(good)
}

// kindOf are the medians of some profiles.
func kindOf(some []*tally) kind {
	if len(some) == 0 {
		return kind{}
	}
	var shares, numbers []float64
	for _, t := range some {
		shares, numbers = append(shares, certain(t.profile)), append(numbers, effective(t.profile))
	}
	slices.Sort(shares)
	slices.Sort(numbers)
	return kind{len(some), quantile(shares, 0.5), quantile(numbers, 0.5)}
}
