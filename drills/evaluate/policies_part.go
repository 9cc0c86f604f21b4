package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"speceval/data"
	"speceval/drills/evaluated"
	drill "speceval/drills/lab"
	"speceval/drills/timed"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

// The evaluations of the part policies.
const (
	policyBudget  = 8
	policyExtends = 16   // budget of those that are extended, and of the second half of the arms
	policyTarget  = 0.02 // standard error of those that stop by what they find
	policyStages  = 4    // more than suit so many places: kills meet every one
	policyQuiet   = 5
	policyEvents  = 8 // tokens of an event of a stream: what a server keeps to itself is lost by a kill

	earlierRollouts = 16 // of the good donor
	forecastDraws   = 2000
)

// policies kills evaluations by each kind of policy on servers that do not repeat
// themselves, and holds bias, coverage and variance to what they must be.
func policies(ctx context.Context, o options, stdout io.Writer) error {
	return drill.InFolder(o.dir, stdout, func(dir string) error {
		published, err := profile.Parse(data.Profiles(), data.ProfilesName)
		if err != nil {
			return err
		}
		p, err := find(published, wanted[0])
		if err != nil {
			return err
		}
		l, err := newLab(o, dir, stdout, []profile.Profile{p}, []int{policyBudget, policyExtends})
		if err != nil {
			return err
		}
		donors, err := l.donors(siblings(p, published))
		if err != nil {
			return err
		}
		if err := l.serve(ctx, "--unrepeatable", "--stream-interval", strconv.Itoa(policyEvents)); err != nil {
			return err
		}
		defer l.fleet.Kill()
		fmt.Fprintf(stdout, "policies: %s; every evaluation is killed once by SIGKILL and resumed; servers never repeat an answer, wrong ones are %d times as long\n", p.Name(), slowWrong)
		var rows []policyRow
		for _, a := range l.policyArms(donors) {
			if err := l.killed(ctx, a, o.sizes().policies); err != nil {
				return err
			}
			for ; a != nil; a = a.then {
				r, err := l.policyRow(ctx, a)
				if err != nil {
					return err
				}
				rows = append(rows, r)
			}
		}
		if err := policyTable(stdout, rows); err != nil {
			return err
		}
		return checkPolicies(stdout, rows)
	})
}

// donorFiles are files of profiles that evaluations are told to know.
type donorFiles struct{ good, adversarial string }

// donors writes what evaluations of the lab's first profile know: an earlier evaluation
// of the model with its siblings, and an adversary.
func (l *lab) donors(siblings []profile.Profile) (donorFiles, error) {
	p := l.profiles[0]
	random := seed.Root(l.seed).Child("drill").Child("donors").Stream()
	f := donorFiles{l.path("good.csv"), l.path("adversarial.csv")}
	if err := timed.WriteProfiles(f.good, append([]profile.Profile{earlier(p, earlierRollouts, &random)}, siblings...)); err != nil {
		return f, err
	}
	return f, timed.WriteProfiles(f.adversarial, []profile.Profile{adversary(p)})
}

// policyArms are the arms of the part policies; the small ones have one budget.
func (l *lab) policyArms(donors donorFiles) (all []*arm) {
	stages := []string{"--stages", strconv.Itoa(policyStages)}
	of := func(what, name string, budget int, flags ...string) *arm {
		a := &arm{series: series{profile: l.profiles[0], policy: name, budget: budget}, what: what, kills: 1, quiet: policyQuiet, flags: flags}
		a.out = l.path(fmt.Sprintf("out-%d", len(all)))
		all = append(all, a)
		return a
	}
	cold, known := policy.Staged.Name, policy.InformedStaged[0].Name
	budgets := l.budgets
	if l.small {
		budgets = budgets[:1]
	}
	for _, b := range budgets {
		of("Uniform", evaluated.Uniform, b)
		of("HBN-async", evaluated.Async, b)
		a := of("staged", cold, b, stages...)
		if b == policyBudget {
			a.then = &arm{series: a.series, what: fmt.Sprintf("staged, extended from %d", b), base: b, out: a.out, kills: 1, extended: a}
			a.then.budget = policyExtends
		}
		of("informed, staged: good donors", known, b, append(stages, "--prior", donors.good)...)
		of("informed, staged: adversarial donor", known, b, append(stages, "--prior", donors.adversarial)...)
	}
	of(fmt.Sprintf("staged, to a standard error of %g", policyTarget), cold, 0, stages...).target = policyTarget
	of(fmt.Sprintf("informed, staged: good donors, to %g", policyTarget), known, 0, append(stages, "--prior", donors.good)...).target = policyTarget
	return all
}
