// Command predict says what a calibration of the simulated fleet makes of HBN: how
// much more time HBN takes than Uniform, its waste and its extra rollouts, as means
// and standard deviations of simulated suites, with the one published suite.
//
//	go run ./data/fleet/predict                 # the shipped calibration
//	go run ./data/fleet/predict -of DIR -b 8    # a trial of the fit's, at one budget
//
// It is to the fit what a test is to training: it reads the published times of HBN,
// which the fit never does, and changes nothing.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat"

	"speceval/data"
	"speceval/internal/coupled"
	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/router"
	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/method/neyman"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "predict:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("predict", flag.ContinueOnError)
	of := flags.String("of", "data/fleet", "`folder` of the calibration")
	text := flags.String("b", "8,16,32,64", "`budgets`")
	suites := flags.Int("suites", 40, "executions of every strategy in a setting, at least 2")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var budgets []int
	for _, b := range strings.Split(*text, ",") {
		v, err := strconv.Atoi(b)
		if _, known := pilots[v]; err != nil || !known {
			return fmt.Errorf("-b %s: the published budgets are 8, 16, 32 and 64", *text)
		}
		budgets = append(budgets, v)
	}
	if *suites < 2 {
		return fmt.Errorf("-suites %d: a standard deviation takes two", *suites)
	}
	calibration, err := read(*of)
	if err != nil {
		return err
	}
	s, err := newStudy(calibration, *suites)
	if err != nil {
		return err
	}
	for _, b := range budgets {
		all, err := s.suites(ctx, b)
		if err != nil {
			return err
		}
		if err := report(stdout, b, all, withLuck(all, s.published[b], s.looping()), s.published[b]); err != nil {
			return err
		}
	}
	return nil
}

// read reads the calibration of a folder.
func read(folder string) (*fleet.Workload, error) {
	models, err := os.ReadFile(filepath.Join(folder, fleet.ModelsName))
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	lengths, err := os.ReadFile(filepath.Join(folder, fleet.LengthsName))
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	return fleet.ParseWorkload(models, lengths)
}

// The published workers and runs.
const (
	replicas   = 8
	window     = 32
	masterSeed = 42
)

// pilots are the published pilot sizes by budget; N = 19 has one more at 64.
var pilots = map[int]int{8: 4, 16: 6, 32: 10, 64: 16}

// strategies are those that are executed at the budget.
var strategies = []*policy.Strategy{policy.UniformAtBudget, policy.HBNSync, policy.HBNAsync}

// execution is what counts of one.
type execution struct {
	seconds, useful, wasted float64
	accepted, extra         int
}

// suite is one execution of every strategy on every profile at a budget: by profile,
// then by strategy.
type suite [][]execution

// study is what suites are made of.
type study struct {
	calibration   *fleet.Workload
	repeats       int
	profiles      []profile.Profile
	architectures []flops.Architecture // by profile
	releases      coupled.Releases
	prior         *neyman.Prior
	published     map[int]suite // by budget
}

func newStudy(calibration *fleet.Workload, repeats int) (*study, error) {
	s := &study{calibration: calibration, repeats: repeats, published: map[int]suite{}}
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	if s.releases, err = coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, all); err != nil {
		return nil, err
	}
	kept, _, err := profile.Evaluated(all)
	if err != nil {
		return nil, err
	}
	architectures, err := flops.Parse(data.Architectures(), data.ArchitecturesName)
	if err != nil {
		return nil, err
	}
	for _, p := range kept {
		if !calibration.Knows(p.Benchmark, p.Model) {
			continue // a trial of the fit's may have some models only
		}
		i := slices.IndexFunc(architectures, func(a flops.Architecture) bool { return a.Model == p.Model })
		if i < 0 {
			return nil, fmt.Errorf("%s has no architecture of %s", data.ArchitecturesName, p.Model)
		}
		s.profiles, s.architectures = append(s.profiles, p), append(s.architectures, architectures[i])
	}
	if s.prior, err = neyman.NewPrior(16); err != nil {
		return nil, err
	}
	return s, s.readPublished()
}

// readPublished reads the published suite.
func (s *study) readPublished() error {
	rows, err := measurement.Parse(data.Measurements(), data.MeasurementsName)
	if err != nil {
		return err
	}
	for b := range pilots {
		s.published[b] = make(suite, len(s.profiles))
		for i := range s.profiles {
			s.published[b][i] = make([]execution, len(strategies))
		}
	}
	for _, m := range rows {
		i := slices.IndexFunc(s.profiles, func(p profile.Profile) bool { return p.Benchmark == m.Benchmark && p.Model == m.Model })
		k := slices.IndexFunc(strategies, func(s *policy.Strategy) bool { return s.Name == m.Strategy })
		if i >= 0 && k >= 0 {
			s.published[int(m.ReferenceBudget)][i][k] = execution{m.TimeSeconds, m.UsefulFLOPs, m.WastedFLOPs, int(m.AcceptedRollouts), int(m.ExtraRollouts)}
		}
	}
	return nil
}

// looping are the numbers of the profiles whose model does not think: their answers
// loop now and then, by chance.
func (s *study) looping() []int {
	var numbers []int
	for i, p := range s.profiles {
		if m, _ := s.calibration.Model(p.Model); m.ThinkingTokens == 0 {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// suites are simulated at a budget.
func (s *study) suites(ctx context.Context, budget int) ([]suite, error) {
	all := make([]suite, s.repeats)
	for r := range all {
		all[r] = make(suite, len(s.profiles))
	}
	faults := make([]error, len(s.profiles))
	next := atomic.Int64{}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(faults); i = int(next.Add(1)) - 1 {
				for r := 0; r < len(all) && faults[i] == nil; r++ {
					all[r][i], faults[i] = s.executions(ctx, i, budget, r)
				}
			}
		})
	}
	workers.Wait()
	return all, errors.Join(faults...)
}

// executions are one of every strategy on a profile, answers having lengths of their
// own in each.
func (s *study) executions(ctx context.Context, i, budget, repeat int) ([]execution, error) {
	p := s.profiles[i]
	model, law, err := s.calibration.Law(p)
	if err != nil {
		return nil, err
	}
	rewards := coupled.NewRewards(p, s.releases.Digest(p), masterSeed)
	m := pilots[budget]
	if p.N() == 19 && budget == 64 {
		m = 17
	}
	all := make([]execution, len(strategies))
	for k, strategy := range strategies {
		settings := controller.Settings{
			Policy: strategy.Controller, Tasks: p.N(), Budget: budget, Pilots: m, Order: coupled.Ranks(p.TaskIDs, masterSeed),
		}
		if strategy.HasPilot() {
			settings.Prior = controller.Cold(s.prior)
		}
		c, err := controller.New(settings)
		if err != nil {
			return nil, err
		}
		lengths := seed.Root(masterSeed).Child("predict").Child(p.Benchmark).Child(p.Model).Index(budget).Child(strategy.Name).Index(repeat)
		engine, err := virtual.New(virtual.Settings{
			Timing: model.Timing, Replicas: replicas, Window: window, MaxSequences: model.MaxSequences,
			Lengths: law.Sampler(lengths), Handling: model.HandlingOf(p.N(), budget), Computation: model.Computation,
		})
		if err != nil {
			return nil, err
		}
		record, err := router.Run(ctx, router.Settings{Controller: c, Engine: engine, Reward: router.PassFail(rewards.Reward)})
		if err != nil {
			return nil, err
		}
		useful, wasted := record.Tokens()
		all[k] = execution{
			record.Time.Seconds(), s.architectures[i].Total(useful), s.architectures[i].Total(wasted),
			record.Count(router.Accepted), record.Extra(),
		}
	}
	return all, nil
}

// column is a number that a suite says of HBN, in percent of Uniform's.
type column struct {
	name string
	of   func(s suite) float64
}

// columns are those of the paper's Tables 2 and 3.
var columns = []column{
	{"sync", func(s suite) float64 { return s.excess(1, execution.time) }},
	{"async", func(s suite) float64 { return s.excess(2, execution.time) }},
	{"sync, normalized", func(s suite) float64 { return s.normalized(1) }},
	{"async, normalized", func(s suite) float64 { return s.normalized(2) }},
	{"useful FLOPs", func(s suite) float64 { return s.excess(2, func(e execution) float64 { return e.useful }) }},
	{"wasted FLOPs", func(s suite) float64 {
		return 100 * s.sum(2, func(e execution) float64 { return e.wasted }) / s.sum(0, func(e execution) float64 { return e.useful })
	}},
	{"extra rollouts", func(s suite) float64 {
		return 100 * s.sum(2, func(e execution) float64 { return float64(e.extra) }) / s.sum(0, func(e execution) float64 { return float64(e.accepted) })
	}},
}

func (e execution) time() float64 { return e.seconds }

// sum is over all profiles, of the strategy with this number.
func (s suite) sum(strategy int, of func(execution) float64) float64 {
	sum := 0.0
	for _, profile := range s {
		sum += of(profile[strategy])
	}
	return sum
}

// excess is by how many percent a sum exceeds Uniform's.
func (s suite) excess(strategy int, of func(execution) float64) float64 {
	return 100 * (s.sum(strategy, of)/s.sum(0, of) - 1)
}

// normalized is the excess of times at Uniform's useful FLOPs.
func (s suite) normalized(strategy int) float64 {
	sum := 0.0
	for _, profile := range s {
		sum += profile[strategy].seconds * profile[0].useful / profile[strategy].useful
	}
	return 100 * (sum/s.sum(0, execution.time) - 1)
}

// report prints the columns at a budget: of the simulated suites, of those with the
// luck of the published one, and of that one.
func report(w io.Writer, budget int, all, lucky []suite, published suite) error {
	_, err := fmt.Fprintf(w, "b = %d, %d suites: mean ± standard deviation of one, the same given the published loops, published\n", budget, len(all))
	for _, c := range columns {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %-18s %14s %14s %7.2f\n", c.name, spread(c, all), spread(c, lucky), c.of(published))
		}
	}
	return err
}

func spread(c column, all []suite) string {
	values := make([]float64, len(all))
	for r, s := range all {
		values[r] = c.of(s)
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	return fmt.Sprintf("%.2f ± %.2f", mean, deviation)
}

// withLuck are suites in which every execution of these profiles is one of those
// whose useful FLOPs are nearest to the published ones, drawn from their tenth part. An
// answer that loops to the limit costs as much as a hundred others, so that FLOPs say
// about how many a run had. Nothing else of the published runs is looked at.
func withLuck(all []suite, published suite, looping []int) []suite {
	random := seed.Root(masterSeed).Child("luck").Stream()
	lucky := make([]suite, len(all))
	for r := range lucky {
		lucky[r] = slices.Clone(all[r])
	}
	for _, i := range looping {
		own := make([][]execution, len(all))
		for r := range own {
			own[r] = make([]execution, len(strategies))
		}
		for k := range strategies {
			near := make([]execution, len(all))
			for r, s := range all {
				near[r] = s[i][k]
			}
			off := func(e execution) float64 { return math.Abs(math.Log(e.useful / published[i][k].useful)) }
			slices.SortStableFunc(near, func(a, b execution) int { return cmp.Compare(off(a), off(b)) })
			near = near[:max(1, len(near)/10)]
			for r := range own {
				own[r][k] = near[int(random.Float64()*float64(len(near)))]
			}
		}
		for r := range lucky {
			lucky[r][i] = own[r]
		}
	}
	return lucky
}
