package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"speceval/data"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// study is what all parts of the drill have in common.
type study struct {
	profiles []profile.Profile
	prior    *neyman.Prior
	number   int // of evaluations of each profile in each setting
	jobs     int
	small    bool
	root     seed.Seed
}

// fewTasks is the size of the benchmarks of a small study.
const fewTasks = 30

// quadratureOrder is the paper's, of the reference prior.
const quadratureOrder = 16

func newStudy(number, jobs int, small bool, root uint64) (*study, error) {
	if number < 2 || jobs < 1 {
		return nil, fmt.Errorf("-n %d -j %d: want two evaluations at least, and one job", number, jobs)
	}
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	kept, _, err := profile.Evaluated(all)
	if err != nil {
		return nil, err
	}
	if small {
		kept = slices.DeleteFunc(kept, func(p profile.Profile) bool { return p.N() > fewTasks })
	}
	prior, err := neyman.NewPrior(quadratureOrder)
	if err != nil {
		return nil, err
	}
	return &study{profiles: kept, prior: prior, number: number, jobs: jobs, small: small, root: seed.Root(root).Child("drill").Child("decisions")}, nil
}

// each does something for every profile, some at a time, with a random stream that is
// the profile's own under a label.
func (s *study) each(ctx context.Context, label string, do func(number int, p profile.Profile, random *seed.Stream) error) error {
	errs := make([]error, len(s.profiles))
	next := make(chan int)
	var workers sync.WaitGroup
	for range s.jobs {
		workers.Go(func() {
			for k := range next {
				p := s.profiles[k]
				random := s.root.Child(label).Child(p.Name()).Stream()
				errs[k] = do(k, p, &random)
			}
		})
	}
	for k := range s.profiles {
		if ctx.Err() != nil {
			break
		}
		next <- k
	}
	close(next)
	workers.Wait()
	for k, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", s.profiles[k].Name(), err)
		}
	}
	return ctx.Err()
}

// score is what came of the evaluations of one profile: how far they were off, what they
// said of it, and how often an interval covered the truth.
type score struct {
	count, covered   int
	off, square      float64 // sums of errors and of their squares
	stated, lengths  float64 // of stated variances, and of lengths of intervals
	compared, versus float64 // what the part compares the stated errors with
}

func (c *score) add(truth, value, se, low, high float64) {
	const rounding = 1e-12
	c.count++
	if low-rounding <= truth && truth <= high+rounding {
		c.covered++
	}
	c.off += value - truth
	c.square += (value - truth) * (value - truth)
	c.stated += se * se
	c.lengths += high - low
}

// summary is the scores of all profiles in one setting.
type summary struct {
	coverage, low, least float64 // mean over profiles, the 5% quantile and the least
	error                float64 // Monte Carlo standard error of coverage
	length               float64
	stated               float64 // median over profiles of the stated error over that seen
	bias                 float64 // mean over profiles of the bias in its own errors, and of its square
	biases               float64
}

func summarize(scores []score) summary {
	var m summary
	var coverages, ratios []float64
	n := float64(len(scores))
	for _, c := range scores {
		count := float64(c.count)
		share := float64(c.covered) / count
		coverages = append(coverages, share)
		m.coverage += share / n
		m.error += share * (1 - share) / count / (n * n)
		m.length += c.lengths / count / n
		if spread := c.square - c.off*c.off/count; spread > 1e-6*c.square { // not all estimates are the same
			ratios = append(ratios, math.Sqrt(c.stated/c.square))
			bias := c.off / math.Sqrt(max(spread, c.stated)) // where what is rare did not happen, as expected
			m.bias += bias / math.Sqrt(n)
			m.biases += bias * bias / n
		}
	}
	m.error = math.Sqrt(m.error)
	slices.Sort(coverages)
	slices.Sort(ratios)
	if len(ratios) > 0 {
		m.stated = ratios[len(ratios)/2]
	}
	m.low, m.least = coverages[len(coverages)/20], coverages[0]
	return m
}

// fewest is the number of evaluations of a profile from which on coverage is checked.
const fewest = 100

// covers is an error if intervals cover the truth in less than a share of evaluations,
// on average over profiles.
func (s *study) covers(m summary, least float64, what string) error {
	if s.number >= fewest && m.coverage < least-4*m.error {
		return fmt.Errorf("%s: the interval covers the truth in %.1f%% ± %.1f of evaluations, want %.0f%%", what, 100*m.coverage, 100*m.error, 100*least)
	}
	return nil
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }

// heading prints a part's title and the head of a table.
func heading(w io.Writer, title string, columns ...string) {
	fmt.Fprintf(w, "\n%s\n\n|", title)
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c)
	}
	fmt.Fprint(w, "\n|")
	for range columns {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w)
}

func line(w io.Writer, cells ...any) {
	fmt.Fprint(w, "|")
	for _, c := range cells {
		fmt.Fprintf(w, " %v |", c)
	}
	fmt.Fprintln(w)
}
