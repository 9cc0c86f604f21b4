//go:build drill

package evaluations_test

import (
	"fmt"
	"strings"

	"speceval/drills/drill"
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
	b.Logf("fleet: %d evaluations at a time, each on %d replicas of %d requests, wrong answers %d times as long", b.jobs, replicas, places, slowWrong)
	run := func(a *arm, n int) *arm {
		a.what, a.out, a.quiet = a.profile.Benchmark+" by "+a.policy, b.Path("out"), 1
		b.make(a, n)
		return a
	}
	n := b.often(150, 500)
	var all []*arm
	for _, p := range b.profiles {
		for _, budget := range b.budgets {
			all = append(all, run(&arm{profile: p, policy: async, budget: budget}, n))
		}
	}
	first, second := all[0], all[1]
	all = append(all, run(&arm{profile: first.profile, policy: uniform, budget: first.budget}, b.Often(60, 500)))
	disturbed := run(&arm{ // this fleet repeats an answer by its seed
		profile: second.profile, policy: async, budget: second.budget, flags: []string{"--on-loss", "again"}, leastKills: disturbedKills, mostKills: disturbedKills,
	}, min(n, b.Often(15, 100)))
	var rows []*row
	for _, a := range all {
		want := prediction{Ratio: 1}
		if a.policy != uniform {
			var err error
			want, err = replayed(replay, a.profile, a.budget)
			b.OK(err)
		}
		rows = append(rows, a.row(want))
	}
	fleetTable(b.Lab, rows)
	// Rows by the same seeds come out the same every time: what fails by bad luck fails
	// always, with a probability of 1% for the bias and for the variance each.
	bound := bonferroni(len(rows), falseAlarms)
	judge(b.Lab, rows, soonerIsRight(), unbiased(bound), covered(lowest, highest, mostOutside), asPredicted(bound))
	b.Sub(fmt.Sprintf("%d evaluations have the results of undisturbed ones after %d kills", len(disturbed.results), disturbed.hits), func(l *drill.Lab) {
		l.OK(sameResults(disturbed.results, second.results))
	})
	judge(b.Lab, []*row{disturbed.row(prediction{})}, killedAndResumed(0.5))
}

// fleetTable prints rows as Markdown.
func fleetTable(l *drill.Lab, rows []*row) {
	var cells [][]any
	for _, r := range rows {
		cells = append(cells, []any{
			r.what, r.profile.N(), r.budget, r.results[0].Design.Pilots, r.Evaluations, r.biasCell(), r.coverageCell(), fmt.Sprintf("%.3f", r.calibration()),
			fmt.Sprintf("%.3f ± %.3f", r.ratio, r.ratioSE), r.predicted, fmt.Sprintf("%.3f, %.3f", r.fast, r.slow), fmt.Sprintf("%.1f", r.extra), fmt.Sprintf("%.2f", r.seconds),
		})
	}
	drill.Table(strings.Split("evaluations|N|b|m|number|bias|coverage|√(stated/seen)|variance/Uniform's|by the replay|passed of the faster, slower half|surplus|s", "|"), cells)
	l.Logf("The variance is the mean squared error, relative to Uniform's, which is known. The halves are those of the pilot by the time to the answer: wrong answers take longer, so that an estimate that prefers what completes first is too optimistic.")
}
