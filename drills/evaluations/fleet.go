package evaluations

import (
	"context"
	"fmt"
	"strings"
	"time"

	"speceval/drills/lab"
)

// disturbedKills is how often an evaluation of the disturbed arm is killed.
const disturbedKills = 3

// overHTTP lets the program evaluate models of known probabilities over HTTP, where wrong
// answers take longer. By the same seeds, evaluations that are killed must have the results
// of undisturbed ones.
func overHTTP(ctx context.Context, b *bench) error {
	_, profiles, err := published(fleetProfiles[:b.Often(1, len(fleetProfiles))]...)
	if err != nil {
		return err
	}
	if err := b.prepare(profiles, []int{8, 16, 32}[:b.Often(2, 3)]...); err != nil {
		return err
	}
	fleet, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer fleet.Kill()
	replay := b.Path("replayed")
	if _, err := b.Do(ctx, 0, "run", "replay", "--config", b.config(), "--out", replay); err != nil {
		return fmt.Errorf("the replay: %w", err)
	}
	b.Printf("fleet: %d evaluations at a time, each on %d replicas of %d requests, wrong answers %d times as long", b.jobs, replicas, places, slowWrong)
	begin, made := time.Now(), 0
	run := func(a *arm, n int) error {
		a.what, a.out, a.quiet = a.profile.Benchmark+" by "+a.policy, b.Path("out"), 1
		made += n
		return b.make(ctx, a, n)
	}
	n := b.often(150, 500)
	var all []*arm
	for _, p := range b.profiles {
		for _, budget := range b.budgets {
			all = append(all, &arm{profile: p, policy: async, budget: budget})
			if err := run(all[len(all)-1], n); err != nil {
				return err
			}
		}
	}
	first, second := all[0], all[1]
	all = append(all, &arm{profile: first.profile, policy: uniform, budget: first.budget})
	if err := run(all[len(all)-1], b.Often(60, 500)); err != nil {
		return err
	}
	disturbed := &arm{ // this fleet repeats an answer by its seed
		profile: second.profile, policy: async, budget: second.budget, flags: []string{"--on-loss", "again"}, leastKills: disturbedKills, mostKills: disturbedKills,
	}
	if err := run(disturbed, min(n, b.Often(15, 100))); err != nil {
		return err
	}
	b.Printf("%d evaluations in %.0f s, %.1f a second", made, time.Since(begin).Seconds(), float64(made)/time.Since(begin).Seconds())
	var rows []*row
	for _, a := range all {
		want := prediction{Ratio: 1}
		if a.policy != uniform {
			if want, err = replayed(replay, a.profile, a.budget); err != nil {
				return err
			}
		}
		rows = append(rows, a.row(want))
	}
	fleetTable(b.Lab, rows)
	return lab.Report(b.Stdout, fleetChecks(rows, second, disturbed))
}

// fleetTable prints rows as Markdown.
func fleetTable(l *lab.Lab, rows []*row) {
	var cells [][]any
	for _, r := range rows {
		cells = append(cells, []any{
			r.what, r.profile.N(), r.budget, r.results[0].Design.Pilots, r.Evaluations, r.biasCell(), r.coverageCell(), fmt.Sprintf("%.3f", r.calibration()),
			fmt.Sprintf("%.3f ± %.3f", r.ratio, r.ratioSE), r.predicted, fmt.Sprintf("%.3f, %.3f", r.fast, r.slow), fmt.Sprintf("%.1f", r.extra), fmt.Sprintf("%.2f", r.seconds),
		})
	}
	lab.Table(l.Stdout, strings.Split("evaluations|N|b|m|number|bias|coverage|√(stated/seen)|variance/Uniform's|by the replay|passed of the faster, slower half|surplus|s", "|"), cells)
	l.Printf("The variance is the mean squared error, relative to Uniform's, which is known. The halves are those of the pilot by the time to the answer: wrong answers take longer, so that an estimate that prefers what completes first is too optimistic.\n")
}

// fleetChecks hold the rows to what they must be. Rows by the same seeds come out the same
// every time: what fails by bad luck fails always, with a probability of 1% for the bias
// and for the variance each.
func fleetChecks(rows []*row, second, disturbed *arm) []lab.Check {
	bound := bonferroni(len(rows), falseAlarms)
	checks := []lab.Check{{What: "every evaluation selected N·b rollouts, allocated by its pilot, and its files recount to its result"}} // or it would have ended the drill
	checks = append(checks, judged(rows, soonerIsRight(), unbiased(bound), covered(lowest, highest, mostOutside), asPredicted(bound))...)
	checks = append(checks,
		lab.Check{What: fmt.Sprintf("%d evaluations have the results of undisturbed ones after %d kills", len(disturbed.results), disturbed.hits), Fault: sameResults(disturbed.results, second.results)},
	)
	return append(checks, judged([]*row{disturbed.row(prediction{})}, killedAndResumed(0.5))...)
}
