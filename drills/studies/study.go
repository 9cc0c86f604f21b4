// Package studies has the drills that draw evaluations, of the published profiles and on
// the simulated fleet, and need no built program: what evaluations are turned into, and
// how many stages they should have.
package studies

import (
	"context"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// Decisions tries what evaluations are turned into, on evaluations that it draws of the
// published profiles: errors over tasks and over pairs of models, gates, drift tests,
// and estimates of pass^k and pass@k. It passes if intervals cover the truth and
// decisions are wrong as often as they say.
var Decisions = lab.Drill{
	Name: "drill-decisions", About: "drawn evaluations of all profiles: errors over tasks, gates, drift tests and pass^k",
	Limit: 2 * time.Hour, Shared: []string{"small", "seed"},
	Flags: func(flags *flag.FlagSet) func(context.Context, *lab.Lab) error {
		s := &study{}
		only := ""
		flags.Func("part", "tasks, gate, passk or drift; empty: all", func(name string) error {
			if name != "" && !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
				return fmt.Errorf("there is no part %q", name)
			}
			only = name
			return nil
		})
		atLeast(flags, &s.number, "n", 2, "evaluations of each profile in each setting (1,000; small: 20)")
		s.jobs = runtime.NumCPU()
		atLeast(flags, &s.jobs, "j", 1, "profiles at a time (as many as there are processors)")
		return func(ctx context.Context, l *lab.Lab) error {
			s.Lab = l
			if err := s.read(); err != nil {
				return err
			}
			for _, p := range parts {
				if only != "" && p.name != only {
					continue
				}
				if err := p.do(s, ctx); err != nil {
					return err
				}
			}
			return nil
		}
	},
}

// atLeast declares a flag that is a number with a least value.
func atLeast(flags *flag.FlagSet, value *int, name string, least int, usage string) {
	flags.Func(name, usage, func(text string) (err error) {
		if *value, err = strconv.Atoi(text); err == nil && *value < least {
			err = fmt.Errorf("want %d or more", least)
		}
		return err
	})
}

// part is a part of the drill.
type part struct {
	name string
	do   func(s *study, ctx context.Context) error
}

var parts = []part{{"tasks", (*study).tasks}, {"gate", (*study).gate}, {"passk", (*study).passk}, {"drift", (*study).drift}}

// study is what all parts of the drill have in common.
type study struct {
	*lab.Lab
	profiles []profile.Profile
	prior    *neyman.Prior
	number   int // of evaluations of each profile in each setting
	jobs     int
}

// fewTasks is the size of the benchmarks of a small study, and quadratureOrder the
// paper's, of the reference prior.
const (
	fewTasks        = 30
	quadratureOrder = 16
)

// read reads the published profiles.
func (s *study) read() error {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return err
	}
	if s.profiles, _, err = profile.Evaluated(all); err != nil {
		return err
	}
	if s.Small {
		s.profiles = slices.DeleteFunc(s.profiles, func(p profile.Profile) bool { return p.N() > fewTasks })
	}
	if s.number == 0 {
		s.number = s.Often(20, 1000)
	}
	s.prior, err = neyman.NewPrior(quadratureOrder)
	return err
}

// collect does something for every profile, some at a time, with a random stream that
// is the profile's own under a label, and returns what came of each.
func collect[T any](ctx context.Context, s *study, label string, do func(number int, p profile.Profile, random *seed.Stream) (T, error)) ([]T, error) {
	root := seed.Root(s.Seed).Child("drill").Child("decisions").Child(label)
	results := make([]T, len(s.profiles))
	return results, parallel(ctx, s.jobs, s.profiles, func(k int, p profile.Profile) (err error) {
		random := root.Child(p.Name()).Stream()
		results[k], err = do(k, p, &random)
		return err
	})
}

// parallel does something for every profile, so many at a time. The error is that of the
// first profile that has one.
func parallel(ctx context.Context, jobs int, profiles []profile.Profile, do func(k int, p profile.Profile) error) error {
	errs := make([]error, len(profiles))
	next := make(chan int)
	var workers sync.WaitGroup
	for range max(1, jobs) {
		workers.Go(func() {
			for k := range next {
				errs[k] = do(k, profiles[k])
			}
		})
	}
	for k := range profiles {
		if ctx.Err() != nil {
			break
		}
		next <- k
	}
	close(next)
	workers.Wait()
	for k, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", profiles[k].Name(), err)
		}
	}
	return ctx.Err()
}

// score sums up the evaluations of one profile: their errors, their stated errors, and
// how often an interval covered the truth.
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

// cell is a share with its Monte Carlo error, in percent.
func cell(share, se float64) string { return fmt.Sprintf("%s ± %.1f", percent(share), 100*se) }

// heading prints a part's title and the head of a table.
func (s *study) heading(title string, columns ...string) {
	s.Printf("\n%s\n\n| %s |\n|%s", title, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

// line prints a row of a table.
func (s *study) line(cells ...any) {
	var texts []string
	for _, c := range cells {
		texts = append(texts, fmt.Sprint(c))
	}
	s.Printf("| %s |", strings.Join(texts, " | "))
}
