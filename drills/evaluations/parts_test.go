//go:build drill

package evaluations_test

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
)

// disturbedKills is how often an evaluation of the disturbed arm is killed.
const disturbedKills = 3

// fleetProfiles are benchmarks and models that are evaluated over HTTP: few tasks of all
// difficulties, many of which nearly all are easy, and many of all difficulties.
var fleetProfiles = [][2]string{
	{"hmmt", "qwen3_5_9b"},
	{"gpqa_diamond__domain_physics", "qwen3_5_4b"},
	{"livecodebench_gt_2024_03_30__difficulty_medium", "qwen3_5_9b"},
}

// overHTTP lets the program evaluate models of known probabilities over HTTP, where wrong
// answers take longer. By the same seeds, evaluations that are killed must have the results
// of undisturbed ones.
func overHTTP(b *bench) {
	var profiles []profile.Profile
	for _, of := range fleetProfiles[:b.Often(1, len(fleetProfiles))] {
		profiles = append(profiles, find(b.Lab, published(b.Lab), of[0], of[1]))
	}
	budgets := []int{8, 16, 32}[:b.Often(2, 3)]
	b.prepare(profiles, budgets...)
	b.serve()
	replay := b.Path("replayed")
	b.Do(0, "run", "replay", "--config", b.config, "--out", replay)
	b.Logf("fleet: %d evaluations at a time, each on %d replicas of %d requests, wrong answers %d times as long",
		jobs, replicas, places, slowWrong)
	run := func(a *arm, n int) *arm {
		a.what, a.quiet = a.profile.Benchmark+" by "+a.policy, 1
		return b.make(a, n)
	}
	n := b.often(150, 500)
	var all []*arm
	var rows []*row
	for _, p := range b.profiles {
		for _, budget := range budgets {
			a := run(&arm{profile: p, policy: async, budget: budget}, n)
			all, rows = append(all, a), append(rows, newRow(a, replayed(b.Lab, replay, p, budget), 0))
		}
	}
	first, second := all[0], all[1]
	byUniform := run(&arm{profile: first.profile, policy: uniform, budget: first.budget}, b.Often(60, 500))
	rows = append(rows, newRow(byUniform, prediction{Ratio: 1}, 0))
	disturbed := run(&arm{ // this fleet repeats an answer by its seed
		profile: second.profile, policy: async, budget: second.budget, flags: []string{"--on-loss", "again"},
		kills: [2]int{disturbedKills, disturbedKills},
	}, min(n, b.Often(15, 100)))
	table(rows)

	// Rows by the same seeds come out the same every time: what fails by bad luck fails
	// always, with a probability of 1% for the bias and for the variance each.
	bound := bonferroni(len(rows))
	unbiased(b.Lab, rows, bound)
	covered(b.Lab, rows, lowest, highest, mostOutside)
	asPredicted(b.Lab, rows, bound)
	sameResults(b.Lab, disturbed, second)
	killedAndResumed(b.Lab, []*row{newRow(disturbed, prediction{}, 0)}, 0.5)
}

// replayed finds HBN's variance ratio to Uniform's, by the output of the replay stage, for
// a profile at a budget.
func replayed(l *drill.Lab, out string, p profile.Profile, budget int) prediction {
	l.Helper()
	rows, _, err := rowfile.ReadFile[variance.Ratio](filepath.Join(out, filepath.FromSlash(variance.TwoStageFile)))
	l.OK(err)
	for _, r := range rows {
		if r.Policy == policy.HBN.Name && r.Benchmark == p.Benchmark && r.Model == p.Model && int(r.Budget) == budget {
			return prediction{Ratio: r.VarianceRatio, SE: r.RatioSE}
		}
	}
	l.Fatalf("the replay has no ratio of %s at %d rollouts per task", p.Name(), budget)
	return prediction{}
}

// sameResults finds evaluations that differ in their numbers from others by the same
// seeds, whatever happened on the way.
func sameResults(l *drill.Lab, disturbed, others *arm) {
	l.Sub("evaluations have the results of undisturbed ones after kills", func(l *drill.Lab) {
		for i, r := range disturbed.results {
			numbers := func(r *evaluation.Result) []any { return []any{r.Estimate, r.StandardError, r.Interval, r.Rows} }
			if is, was := numbers(r), numbers(others.results[i]); !reflect.DeepEqual(is, was) {
				l.Errorf("seed %d: %+v and %+v", i+1, is, was)
			}
		}
	})
}

// uncertain is a benchmark of few tasks, all of them uncertain: a good part of its
// rollouts is in flight at any moment, and what is lost of them weighs.
func uncertain() profile.Profile {
	p := profile.Profile{Benchmark: "uncertain", TestedK: 1024}
	for i := range 12 {
		p.TaskIDs = append(p.TaskIDs, fmt.Sprint("task-", i))
		p.PassCounts = append(p.PassCounts, 280+42*i)
	}
	return p
}

// The evaluations of the part losses.
const (
	lossBudget = 8
	lossPauses = 3 // at most: both servers may have crashed when a process polls them
	lossFaults = "crash=0.004,cut=0.1"
	lossSpeed  = 10 // of the fleet: an evaluation takes about a second
)

// seenBias is how many standard errors the bias of asking again must have, or the
// drill could not see whether continuing removes it.
const seenBias = 4

// losses kills evaluations once or twice on servers that do not repeat themselves, and
// compares the means where lost answers can be continued with those where they have to be
// asked for again.
func losses(b *bench) {
	b.prepare([]profile.Profile{uncertain()}, lossBudget)
	b.Logf("losses: %d tasks at b = %d, %d places; every evaluation is killed once or twice by SIGKILL and resumed; "+
		"servers have the faults %s, never repeat an answer, and make wrong ones %d times as long",
		b.profiles[0].N(), lossBudget, replicas*places, lossFaults, slowWrong)
	run := func(what string, flags ...string) *row {
		fleet := b.serve(append(flags, "--unrepeatable", "--fail", lossFaults, "--restart", "50ms", "--speed", fmt.Sprint(lossSpeed))...)
		defer fleet.Kill()
		return newRow(b.make(&arm{
			what: what, profile: b.profiles[0], policy: async, budget: lossBudget, quiet: 1, kills: [2]int{1, 2}, pauses: lossPauses,
		}, b.often(60, 500)), prediction{}, 0)
	}
	asked := run("servers that cannot continue: asked again", "--plain")
	continued := run("servers that continue")
	table([]*row{asked, continued})

	bound := bonferroni(1)
	each(b.Lab, fmt.Sprintf("asked again, the mean is biased: by more than %d standard errors", seenBias),
		[]*row{asked}, func(r *row) (bool, string) {
			return r.biasScore() >= seenBias, fmt.Sprintf("%.1f standard errors", r.biasScore())
		})
	each(b.Lab, "and by no more than the results state", []*row{asked}, func(r *row) (bool, string) {
		bias, se := meanOf(r.away)
		return bias <= r.tooHigh+bound*se && -bias <= r.tooLow+bound*se,
			fmt.Sprintf("a bias of %+.4f, stated are +%.4f and −%.4f", bias, r.tooHigh, r.tooLow)
	})
	each(b.Lab, "servers that continue have no rollout asked again, and continue some",
		[]*row{asked, continued}, func(r *row) (bool, string) { return r.lost(r == asked) })
	unbiased(b.Lab, []*row{continued}, bound)
	covered(b.Lab, []*row{continued}, lowest, highest, mostOutside)
}

// The evaluations of the part policies.
const (
	policyBudget  = 8
	policyExtends = 16   // budget of those that are extended, and of the second half of the arms
	policyTarget  = 0.02 // standard error of those that stop by what they find
	policyStages  = 4    // more than suit so many places: kills meet every one
	policyQuiet   = 5
	policyEvents  = 8    // tokens of an event of a stream: what a server has not sent is lost by a kill
	policyKilled  = 0.75 // of the evaluations are met by their kill
	policyCovered = 0.94 // of the intervals hold the truth

	earlierRollouts = 16 // of the good donor
	forecastDraws   = 2000
)

// policies kills evaluations by each kind of policy on servers that do not repeat
// themselves, and holds bias, coverage and variance to what they must be.
func policies(b *bench) {
	all := published(b.Lab)
	p := find(b.Lab, all, fleetProfiles[0][0], fleetProfiles[0][1])
	b.prepare([]profile.Profile{p}, policyBudget, policyExtends)
	b.serve("--unrepeatable", "--stream-interval", strconv.Itoa(policyEvents))
	b.Logf("policies: %s; every evaluation is killed once by SIGKILL and resumed; servers never repeat an answer, "+
		"wrong ones are %d times as long", p.Name(), slowWrong)
	var rows []*row
	for _, a := range b.policyArms(siblings(p, all)) {
		a.profile, a.quiet, a.kills = b.profiles[0], policyQuiet, [2]int{1, 1}
		b.make(a, b.often(40, 500))
		setups := []*evaluation.Setup{a.setup}
		if a.extends != nil {
			setups = slices.Insert(setups, 0, a.extends.setup)
		}
		rows = append(rows, newRow(a, b.predict(a.profile, forecastDraws, drill.Seed(), setups...), 0))
	}
	table(rows)

	bound := bonferroni(len(rows))
	killedAndResumed(b.Lab, rows, policyKilled)
	each(b.Lab, "lost answers were continued, and none asked again", rows, func(r *row) (bool, string) { return r.lost(false) })
	unbiased(b.Lab, rows, bound)
	covered(b.Lab, rows, policyCovered, 1, mostOutside)
	asPredicted(b.Lab, rows, bound)
	onTarget(b.Lab, slices.DeleteFunc(rows, func(r *row) bool { return r.target == 0 }), bound)
}

// policyArms are the arms of the part policies. Donors are an earlier evaluation of the
// model and its siblings, or an adversary. The small drill has one budget.
func (b *bench) policyArms(siblings []profile.Profile) (all []*arm) {
	good, adversarial := b.Path("good.csv"), b.Path("adversarial.csv")
	random := seed.Root(drill.Seed()).Child("drill").Child("donors").Stream()
	b.WriteProfiles(good, append([]profile.Profile{earlier(b.profiles[0], earlierRollouts, &random)}, siblings...))
	b.WriteProfiles(adversarial, []profile.Profile{adversary(b.profiles[0])})

	in := []string{"--stages", strconv.Itoa(policyStages)}
	withGood, withAdversarial := append(slices.Clone(in), "--prior", good), append(slices.Clone(in), "--prior", adversarial)
	for _, budget := range []int{policyBudget, policyExtends}[:b.Often(1, 2)] {
		all = append(all,
			&arm{what: "Uniform", policy: uniform, budget: budget},
			&arm{what: "HBN-async", policy: async, budget: budget},
			&arm{what: "informed, staged: good donors", policy: informs, budget: budget, flags: withGood},
			&arm{what: "informed, staged: adversarial donor", policy: informs, budget: budget, flags: withAdversarial},
			&arm{what: "staged", policy: inStaged, budget: budget, flags: in},
		)
	}
	first := all[4]
	first.extended = true
	return append(all,
		&arm{what: fmt.Sprintf("staged, extended from %d", first.budget), policy: inStaged, budget: policyExtends, extends: first},
		&arm{what: fmt.Sprintf("staged, to a standard error of %g", policyTarget), policy: inStaged, target: policyTarget, flags: in},
		&arm{what: fmt.Sprintf("informed, staged: good donors, to %g", policyTarget), policy: informs, target: policyTarget, flags: withGood},
	)
}

// targetSlack is by which share a standard error may be off the one that was asked for.
const targetSlack = 0.15

// onTarget: what stops at a standard error reaches it, by the errors that it states, by
// those that it has, and by the rollouts that it takes.
func onTarget(l *drill.Lab, rows []*row, bound float64) {
	each(l, fmt.Sprintf("what stops at a standard error has it within %.0f%%, with as many rollouts as forecast", 100*targetSlack),
		rows, func(r *row) (bool, string) {
			square, se := meanOf(r.squares)
			stated, seen, noise := math.Sqrt(r.stated/float64(r.n)), math.Sqrt(square), bound*se/(2*math.Sqrt(square))
			most := bound*r.spentSE*math.Sqrt(1+float64(r.n)/forecastDraws) + 1e-6
			holds := math.Abs(stated/r.target-1) <= targetSlack && math.Abs(seen-r.target)-noise <= targetSlack*r.target &&
				math.Abs(r.spent-r.predicted.Spent) <= most
			return holds, fmt.Sprintf("it states %.4f, has %.4f, and took %.2f rollouts per task, forecast are %.2f",
				stated, seen, r.spent, r.predicted.Spent)
		})
}
