//go:build drill

package evaluations_test

import (
	"fmt"
	"path/filepath"
	"reflect"

	"speceval/drills/drill"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/variance"
)

// disturbedKills is how often an evaluation of the disturbed arm is killed.
const disturbedKills = 3

// leastDifference is by how much the halves by time must differ, or the drill could not
// see a bias for what completes first.
const leastDifference = 0.02

// overHTTP lets the program evaluate models of known probabilities over HTTP, where wrong
// answers take longer. By the same seeds, evaluations that are killed must have the results
// of undisturbed ones.
func overHTTP(b *bench) {
	_, profiles := published(b.Lab, fleetProfiles[:b.Often(1, len(fleetProfiles))]...)
	budgets := []int{8, 16, 32}[:b.Often(2, 3)]
	b.prepare(profiles, budgets...)
	b.serve()
	replay := b.Path("replayed")
	b.Do(0, "run", "replay", "--config", b.config, "--out", replay)
	b.Logf("fleet: %d evaluations at a time, each on %d replicas of %d requests, wrong answers %d times as long",
		*jobs, replicas, places, slowWrong)
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
	what := fmt.Sprintf("what completes sooner is right more often, by %.2f at least", leastDifference)
	each(b.Lab, what, rows, func(r *row) (bool, string) {
		fast, _ := meanOf(r.fast)
		slow, _ := meanOf(r.slow)
		return fast >= slow+leastDifference, fmt.Sprintf("%.3f and %.3f", fast, slow)
	})
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
		for i, a := range disturbed.results {
			b := others.results[i]
			if a.Estimate != b.Estimate || a.StandardError != b.StandardError || a.Interval != b.Interval {
				l.Errorf("seed %d: estimates %v ± %v and %v ± %v", i+1, a.Estimate, a.StandardError, b.Estimate, b.StandardError)
			}
			for k := range a.Rows {
				if !reflect.DeepEqual(a.Rows[k], b.Rows[k]) {
					l.Errorf("seed %d: task %s: %+v and %+v", i+1, a.Rows[k].ID, a.Rows[k], b.Rows[k])
				}
			}
		}
	})
}
