package studies

import (
	"context"
	"flag"
	"runtime"
	"sync"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/fleet"
	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/informed"
	"speceval/method/staged"
)

// Stages asks how many stages an evaluation should have. Each further stage spends the
// rest of the budget by better knowledge, and is a further barrier, at which places may
// idle: what counts is variance times time.
//
// It designs, replays and executes evaluations in 2 to 7 stages on the simulated fleet,
// with and without donors, on a narrow and on a wide worker, and prints the variance,
// the time and their product relative to Uniform's. It passes if all executions spend
// exactly their budget, waste nothing where they do not speculate, and are on average
// no slower with speculation than without, and if stages do lower the variance.
var Stages = lab.Drill{
	Name: "drill-stages", About: "evaluations in 2 to 7 stages: variance, time on the simulated fleet, and which number wins",
	Limit: 2 * time.Hour, Shared: []string{"small", "seed"},
	Flags: func(flags *flag.FlagSet) func(context.Context, *lab.Lab) error {
		s := stagesStudy{budgets: []int{8, 16, 32, 64}, most: 7, workers: []worker{{8, 32}, {64, 32}}}
		flags.IntVar(&s.each, "each", 2, "profiles of each benchmark; models take turns")
		flags.IntVar(&s.draws, "draws", 200, "replayed evaluations of each design on a profile")
		flags.IntVar(&s.panels, "panels", 64, "simulated evaluations of each candidate of a design")
		flags.IntVar(&s.repeats, "repeats", 4, "executions of each design on a profile")
		flags.IntVar(&s.parallel, "j", runtime.NumCPU(), "profiles at a time")
		return func(ctx context.Context, l *lab.Lab) error {
			s.seed = l.Seed
			if l.Small {
				s.budgets, s.most, s.few, s.draws, s.panels, s.repeats = []int{8, 16}, 3, 3, 20, 8, 1
			}
			results, err := s.do(ctx)
			if err != nil {
				return err
			}
			l.Printf("%d profiles, %d draws and %d executions of each design on each", len(results), s.draws, s.repeats)
			return s.report(l.Stdout, results)
		}
	},
}

// stagesStudy is what is tried, and how precisely.
type stagesStudy struct {
	budgets []int
	most    int // stages, the pilot among them
	workers []worker
	each    int // profiles of a benchmark
	few     int // of all of them, the first so many; 0: all

	draws, panels, repeats, parallel int
	seed                             uint64

	all   []profile.Profile
	fleet *fleet.Workload
	cold  colds
}

// colds are the designs without donors, which profiles of one size share.
type colds struct {
	sync.Mutex
	plans map[setting]staged.Plan
}

// knows is what evaluations may know beforehand, in the order of the tables.
var knows = []*policy.Donors{policy.None, policy.Siblings}

// setting is a design: of a budget, with what is known, in so many stages. Tasks are those
// of a design without donors, and 0 in results.
type setting struct {
	budget int
	known  *policy.Donors
	stages int
	tasks  int
}

// result is what was found on one profile.
type result struct {
	profile  profile.Profile
	variance map[setting]float64 // over Uniform's
	times    map[timedCell]times
}

// do studies the profiles.
func (s *stagesStudy) do(ctx context.Context) (results []result, err error) {
	if s.all, err = profile.Parse(data.Profiles(), data.ProfilesName); err != nil {
		return nil, err
	}
	if s.fleet, err = fleet.ParseWorkload(data.FleetModels(), data.FleetLengths()); err != nil {
		return nil, err
	}
	s.cold.plans = map[setting]staged.Plan{}
	sample := s.sample()
	results = make([]result, len(sample))
	return results, parallel(ctx, s.parallel, sample, func(k int, p profile.Profile) (err error) {
		results[k], err = s.on(ctx, p)
		return err
	})
}

// sample is some profiles of each benchmark, whose models take turns from benchmark to
// benchmark, so that all are as frequent.
func (s *stagesStudy) sample() (sample []profile.Profile) {
	of := map[string][]profile.Profile{}
	var benchmarks []string
	for _, p := range s.all {
		if p.VarianceSum() == 0 {
			continue
		}
		if of[p.Benchmark] == nil {
			benchmarks = append(benchmarks, p.Benchmark)
		}
		of[p.Benchmark] = append(of[p.Benchmark], p)
	}
	for k, benchmark := range benchmarks {
		models := of[benchmark]
		for turn := range min(s.each, len(models)) {
			sample = append(sample, models[(k+turn*max(1, len(models)/max(1, s.each)))%len(models)])
		}
	}
	if s.few > 0 {
		sample = sample[:min(s.few, len(sample))]
	}
	return sample
}

// on studies one profile.
func (s *stagesStudy) on(ctx context.Context, p profile.Profile) (result, error) {
	r := result{profile: p, variance: map[setting]float64{}, times: map[timedCell]times{}}
	at := seed.Root(s.seed).Child("stages").Child(p.Name())
	e, err := s.executions(p, at.Child("executions"))
	if err != nil {
		return r, err
	}
	for _, known := range knows {
		prior, err := s.prior(p, known)
		if err != nil {
			return r, err
		}
		for _, b := range s.budgets {
			if err := e.uniform(ctx, b); err != nil {
				return r, err
			}
			for k := 2; k <= s.most; k++ {
				c := setting{budget: b, known: known, stages: k}
				plan, err := s.plan(ctx, prior, c)
				if err != nil {
					return r, err
				}
				if r.variance[c], err = s.replay(p, prior, b, plan, at.Child("replay")); err != nil {
					return r, err
				}
				if err := e.timed(ctx, &r, c, plan, prior); err != nil {
					return r, err
				}
			}
		}
	}
	return r, nil
}

// prior is the one that knows the donors.
func (s *stagesStudy) prior(p profile.Profile, known *policy.Donors) (*informed.Prior, error) {
	var sources []profile.Profile
	if known.Siblings {
		for _, other := range s.all {
			if other.Benchmark == p.Benchmark && other.Model != p.Model {
				sources = append(sources, other)
			}
		}
	}
	counts, err := known.Count(p, sources, nil)
	if err != nil {
		return nil, err
	}
	return informed.New(p.N(), counts)
}

// plan is the design of a setting.
func (s *stagesStudy) plan(ctx context.Context, prior *informed.Prior, c setting) (staged.Plan, error) {
	if c.known == policy.None {
		c.tasks = prior.Tasks()
		s.cold.Lock()
		defer s.cold.Unlock()
		if plan, made := s.cold.plans[c]; made {
			return plan, nil
		}
	}
	d, err := design.ComputeInStages(ctx, design.StagesSettings{
		Prior: prior, Budget: c.budget, Stages: c.stages, Panels: s.panels, Replicates: 1, Seed: s.seed,
	})
	if c.known == policy.None {
		s.cold.plans[c] = d.Plan
	}
	return d.Plan, err
}

// replay is the mean variance of evaluations under a plan, over Uniform's. All plans
// meet the same draws.
func (s *stagesStudy) replay(p profile.Profile, prior *informed.Prior, budget int, plan staged.Plan, at seed.Seed) (float64, error) {
	stages, err := staged.New(p.N(), budget, plan)
	if err != nil {
		return 0, err
	}
	run := pilot.NewTrial(stages, prior.Posterior())
	ps := probabilities(p)
	sum := 0.0
	for draw := range s.draws {
		random := at.Stream().At(uint64(draw))
		variance, err := run.Run(ps, nil, &random)
		if err != nil {
			return 0, err
		}
		sum += variance
	}
	return float64(budget) * sum / float64(s.draws) / p.VarianceSum(), nil
}

// cells are all of the study, in the order of the tables.
func (s *stagesStudy) cells(known *policy.Donors, budget int) (all []setting) {
	for k := 2; k <= s.most; k++ {
		all = append(all, setting{budget: budget, known: known, stages: k})
	}
	return all
}
