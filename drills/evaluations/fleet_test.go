//go:build drill

package evaluations_test

import (
	"path/filepath"
	"reflect"
	"time"

	"speceval/drills/drill"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/variance"
)

// disturbedKills is how often an evaluation of the disturbed arm is killed.
const disturbedKills = 3

// overHTTP lets the program evaluate models of known probabilities over HTTP, where wrong
// answers take longer. By the same seeds, evaluations that are killed must have the results
// of undisturbed ones.
func overHTTP(b *bench) {
	_, profiles := published(b.Lab, fleetProfiles[:b.Often(1, len(fleetProfiles))]...)
	b.prepare(profiles, []int{8, 16, 32}[:b.Often(2, 3)]...)
	b.serve()
	replay := b.Path("replayed")
	b.Do(0, "run", "replay", "--config", b.config(), "--out", replay)
	b.Logf("fleet: %d evaluations at a time, each on %d replicas of %d requests, wrong answers %d times as long",
		*jobs, replicas, places, slowWrong)
	begin, made := time.Now(), 0
	run := func(a *arm, n int) *arm {
		a.what, a.out, a.quiet = a.profile.Benchmark+" by "+a.policy, b.Path("out"), 1
		made += n
		b.make(a, n)
		return a
	}
	n := b.often(150, 500)
	var all []*arm
	for _, p := range b.profiles {
		for _, budget := range b.budgets {
			all = append(all, run(&arm{profile: p, order: order{policy: async, budget: budget}}, n))
		}
	}
	first, second := all[0], all[1]
	all = append(all, run(&arm{profile: first.profile, order: order{policy: uniform, budget: first.budget}}, b.Often(60, 500)))
	disturbed := run(&arm{
		profile: second.profile, leastKills: disturbedKills, mostKills: disturbedKills,
		order: order{policy: async, budget: second.budget, flags: []string{"--on-loss", "again"}}, // this fleet repeats an answer by its seed
	}, min(n, b.Often(15, 100)))
	b.Logf("%d evaluations in %.0f s", made, time.Since(begin).Seconds())
	var rows []*row
	for _, a := range all {
		want := prediction{Ratio: 1}
		if a.policy != uniform {
			want = replayed(b.Lab, replay, a.profile, a.budget)
		}
		rows = append(rows, a.row(want))
	}
	table(rows)

	// Rows by the same seeds come out the same every time: what fails by bad luck fails
	// always, with a probability of 1% for the bias and for the variance each.
	bound := bonferroni(len(rows), falseAlarms)
	soonerIsRight(b.Lab, rows)
	unbiased(b.Lab, rows, bound)
	covered(b.Lab, rows, lowest, highest, mostOutside)
	asPredicted(b.Lab, rows, bound)
	b.Logf("%d evaluations after %d kills", len(disturbed.results), disturbed.hits)
	sameResults(b.Lab, disturbed, second)
	killedAndResumed(b.Lab, []*row{disturbed.row(prediction{})}, 0.5)
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
