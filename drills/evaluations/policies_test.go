//go:build drill

package evaluations_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

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
		slack := bound * r.biasError()
		return r.bias() <= r.tooHigh+slack && -r.bias() <= r.tooLow+slack,
			fmt.Sprintf("a bias of %+.4f, stated are +%.4f and −%.4f", r.bias(), r.tooHigh, r.tooLow)
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
	all, named := published(b.Lab, fleetProfiles[0])
	b.prepare(named, policyBudget, policyExtends)
	b.serve("--unrepeatable", "--stream-interval", strconv.Itoa(policyEvents))
	b.Logf("policies: %s; every evaluation is killed once by SIGKILL and resumed; servers never repeat an answer, "+
		"wrong ones are %d times as long", named[0].Name(), slowWrong)
	var rows []*row
	for _, a := range b.policyArms(siblings(named[0], all)) {
		a.profile, a.quiet, a.kills = b.profiles[0], policyQuiet, [2]int{1, 1}
		b.make(a, b.often(40, 500))
		setups := []*evaluation.Setup{a.setup}
		if a.extends != nil {
			setups = append(setups, a.extends.setup)
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
	withGood, withAdversarial := slices.Concat(in, []string{"--prior", good}), slices.Concat(in, []string{"--prior", adversarial})
	for _, budget := range []int{policyBudget, policyExtends}[:b.Often(1, 2)] {
		all = append(all,
			&arm{what: "Uniform", policy: uniform, budget: budget},
			&arm{what: "HBN-async", policy: async, budget: budget},
			&arm{what: "informed, staged: good donors", policy: informs, budget: budget, flags: withGood},
			&arm{what: "informed, staged: adversarial donor", policy: informs, budget: budget, flags: withAdversarial},
			&arm{what: "staged", policy: inStaged, budget: budget, flags: in, extended: budget == policyBudget},
		)
		if last := all[len(all)-1]; last.extended {
			what := fmt.Sprintf("staged, extended from %d", budget)
			all = append(all, &arm{what: what, policy: inStaged, budget: policyExtends, extends: last})
		}
	}
	return append(all,
		&arm{what: fmt.Sprintf("staged, to a standard error of %g", policyTarget), policy: inStaged, target: policyTarget, flags: in},
		&arm{what: fmt.Sprintf("informed, staged: good donors, to %g", policyTarget), policy: informs, target: policyTarget, flags: withGood},
	)
}

// targetSlack is by which share a standard error may be off the one that was asked for.
const targetSlack = 0.15

// onTarget: what stops at a standard error reaches it, by the errors that it states, by
// those that it has, and by the rollouts that it takes.
func onTarget(l *drill.Lab, rows []*row, bound float64) {
	what := fmt.Sprintf("what stops at a standard error has it within %.0f%%, with as many rollouts as forecast", 100*targetSlack)
	each(l, what, rows, func(r *row) (bool, string) {
		square, se := r.meanSquare()
		stated, seen, noise := math.Sqrt(r.stated/float64(r.n)), math.Sqrt(square), bound*se/(2*math.Sqrt(square))
		most := bound*r.spentSE*math.Sqrt(1+float64(r.n)/forecastDraws) + 1e-6
		return math.Abs(stated/r.target-1) <= targetSlack && math.Abs(seen-r.target)-noise <= targetSlack*r.target &&
				math.Abs(r.spent-r.predicted.Spent) <= most,
			fmt.Sprintf("it states %.4f, has %.4f, and took %.2f rollouts per task, forecast are %.2f", stated, seen, r.spent, r.predicted.Spent)
	})
}
