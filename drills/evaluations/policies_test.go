//go:build drill

package evaluations_test

import (
	"fmt"
	"slices"
	"strconv"

	"speceval/drills/drill"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

// uncertain is a benchmark of few tasks, all of them uncertain: a good part of its
// rollouts is in flight at any moment, and what is lost of them weighs.
func uncertain() profile.Profile {
	p := profile.Profile{Benchmark: "uncertain", Model: modelID, TestedK: 1024}
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
		a := &arm{
			order: order{policy: async, budget: lossBudget}, profile: b.profiles[0], what: what, out: b.Path("out"),
			leastKills: 1, mostKills: 2, pauses: lossPauses, quiet: 1,
		}
		b.make(a, b.often(60, 500))
		return a.row(prediction{})
	}
	asked := run("servers that cannot continue: asked again", "--plain")
	continued := run("servers that continue")
	table([]*row{asked, continued})

	bound := bonferroni(1, falseAlarms)
	b.Sub("asked again, the mean is biased", func(l *drill.Lab) {
		if asked.biasScore() < seenBias {
			l.Errorf("%.1f standard errors, want %d", asked.biasScore(), seenBias)
		}
	})
	b.Sub("and by no more than the results state", func(l *drill.Lab) {
		slack := bound * asked.biasError()
		if asked.bias() > asked.tooHigh+slack || -asked.bias() > asked.tooLow+slack {
			l.Errorf("a bias of %+.4f, stated are +%.4f and −%.4f", asked.bias(), asked.tooHigh, asked.tooLow)
		}
	})
	b.Sub("servers that continue have no rollout asked again, and continue some", func(l *drill.Lab) {
		continued.lost(l, false)
		asked.lost(l, true)
	})
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
	random := seed.Root(drill.Seed()).Child("drill").Child("donors").Stream()
	good, adversarial := b.Path("good.csv"), b.Path("adversarial.csv")
	b.WriteProfiles(good, append([]profile.Profile{earlier(b.profiles[0], earlierRollouts, &random)}, siblings(named[0], all)...))
	b.WriteProfiles(adversarial, []profile.Profile{adversary(b.profiles[0])})
	b.serve("--unrepeatable", "--stream-interval", strconv.Itoa(policyEvents))
	b.Logf("policies: %s; every evaluation is killed once by SIGKILL and resumed; servers never repeat an answer, "+
		"wrong ones are %d times as long", named[0].Name(), slowWrong)
	var rows []*row
	for _, a := range b.policyArms(good, adversarial) {
		b.make(a, b.often(40, 500))
		for ; a != nil; a = a.then {
			f := forecast{b.Lab, a.profile, a.setup, nil, b.prior, forecastDraws, drill.Seed()}
			if a.extended != nil {
				f.extended = a.extended.setup
			}
			rows = append(rows, a.row(f.predict()))
		}
	}
	table(rows)

	bound := bonferroni(len(rows), falseAlarms)
	killedAndResumed(b.Lab, rows, policyKilled)
	each(b.Lab, "lost answers were continued, and none asked again", rows, func(l *drill.Lab, r *row) { r.lost(l, false) })
	unbiased(b.Lab, rows, bound)
	covered(b.Lab, rows, policyCovered, 1, mostOutside)
	asPredicted(b.Lab, rows, bound)
	onTarget(b.Lab, rows, bound)
}

// policyArms are the arms of the part policies, with files of donors; the small drill has
// one budget.
func (b *bench) policyArms(good, adversarial string) (all []*arm) {
	in := []string{"--stages", strconv.Itoa(policyStages)}
	withGood, withAdversarial := slices.Concat(in, []string{"--prior", good}), slices.Concat(in, []string{"--prior", adversarial})
	for _, budget := range b.budgets[:b.Often(1, len(b.budgets))] {
		all = append(all,
			&arm{what: "Uniform", order: order{policy: uniform, budget: budget}},
			&arm{what: "HBN-async", order: order{policy: async, budget: budget}},
			&arm{what: "staged", order: order{policy: inStaged, budget: budget, flags: in}},
			&arm{what: "informed, staged: good donors", order: order{policy: informs, budget: budget, flags: withGood}},
			&arm{what: "informed, staged: adversarial donor", order: order{policy: informs, budget: budget, flags: withAdversarial}},
		)
	}
	all = append(all,
		&arm{what: fmt.Sprintf("staged, to a standard error of %g", policyTarget), order: order{policy: inStaged, targetSE: policyTarget, flags: in}},
		&arm{what: fmt.Sprintf("informed, staged: good donors, to %g", policyTarget), order: order{policy: informs, targetSE: policyTarget, flags: withGood}},
	)
	for i, a := range all {
		a.profile, a.out, a.leastKills, a.mostKills, a.quiet = b.profiles[0], b.Path(fmt.Sprintf("out-%d", i)), 1, 1, policyQuiet
		if a.what == "staged" && a.budget == policyBudget {
			a.then = &arm{
				order: order{policy: inStaged, budget: policyExtends, extends: a.budget},
				what:  fmt.Sprintf("staged, extended from %d", a.budget), profile: a.profile,
				out: a.out, leastKills: 1, mostKills: 1, extended: a,
			}
		}
	}
	return all
}
