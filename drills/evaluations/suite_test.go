//go:build drill

package evaluations_test

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
	"speceval/stages/replay"
)

const (
	suiteModel  = "qwen3_5_9b"
	suiteBudget = 8
	suiteSlack  = 0.03 // by which share the variance may be off the table's
	suiteStated = 0.9  // and the stated standard error off its own
)

// suites lets the program evaluate all benchmarks of a model under one budget over HTTP, with
// the default floor and without one, and holds the variance of their mean, exact given the
// rollouts that decided on it, to the replay behind Table 11.
func suites(b *bench) {
	profiles, _, err := profile.Evaluated(published(b.Lab))
	b.OK(err)
	profiles = slices.DeleteFunc(profiles, func(p profile.Profile) bool {
		return p.Model != suiteModel || b.Small && p.N() > 50
	})
	b.prepare(profiles, suiteBudget)
	b.serve("--slow-wrong", "1")
	rows := b.replaySuite()
	number := b.often(4, 8)
	for _, way := range []struct {
		name  string
		flags []string
	}{{variance.OneBudget, []string{"--floor", "0"}}, {variance.OneBudgetFloor, nil}} {
		var ratios, away, stated []float64
		want, uniform := 0.0, 0.0
		for _, r := range rows {
			if r.Policy == way.name {
				want, uniform = r.SuiteRatio, uniform+r.UniformVariance/float64(len(profiles)*len(profiles))
			}
		}
		for seed := range number {
			r := b.evaluateSuite(seed+1, way.flags)
			spread, truth := 0.0, 0.0
			task := 0
			for _, p := range b.profiles {
				for i := range p.N() {
					row := r.Rows[task]
					spread += row.Share * row.Share * p.P(i) * (1 - p.P(i)) * row.Shrinkage
					truth += row.Share * p.P(i)
					task++
				}
			}
			ratios, away = append(ratios, spread/uniform), append(away, (r.Estimate-truth)/math.Sqrt(spread))
			stated = append(stated, r.StandardError/math.Sqrt(spread))
		}
		mean, se := meanOf(ratios)
		off, _ := meanOf(away)
		right, _ := meanOf(stated)
		z := off * math.Sqrt(float64(number))
		b.Logf("%s: %d benchmarks, variance %.4f ± %.4f of Uniform's, the table's is %.4f; bias of %.1f standard errors, which are stated %.3f times as large", way.name, len(profiles), mean, se, want, z, right)
		b.Sub(way.name+" has the variance of the table, states its error, and has no bias", func(l *drill.Lab) {
			if math.Abs(mean/want-1) > suiteSlack {
				l.Errorf("%s: the variance is %.3f of Uniform's, the table has %.3f", way.name, mean, want)
			}
			if right < suiteStated || right > 1/suiteStated {
				l.Errorf("%s: errors are stated %.3f times as large as they are", way.name, right)
			}
			if math.Abs(z) > bonferroni(2) {
				l.Errorf("%s: a bias of %.1f standard errors", way.name, z)
			}
		})
	}
}

// replaySuite replays the suite of the profiles.
func (b *bench) replaySuite() []variance.Suite {
	s := replay.Settings{Seed: 42, Budgets: []int{suiteBudget}, Draws: 8192, Replicates: 2, QuadratureOrder: quadratureOrder}
	s.Slice = func(...string) map[string]string { return map[string]string{} }
	stage, err := replay.Stage(s, pair.AllKnown(b.profiles))
	b.OK(err)
	stage.Units = slices.DeleteFunc(stage.Units, func(u dag.Unit) bool { return !strings.HasPrefix(u.ID, "suite") })
	out := b.Path("replayed")
	dagtest.Run(b, []dag.Stage{stage}, out)
	rows, _, err := rowfile.ReadFile[variance.Suite](b.Path("replayed", variance.SuiteFile))
	b.OK(err)
	return slices.DeleteFunc(rows, func(r variance.Suite) bool { return r.Donors != "none" })
}

// evaluateSuite is the result that the program prints.
func (b *bench) evaluateSuite(seed int, flags []string) *evaluation.Result {
	words := []string{"evaluate", "--model", b.model, "--seed", strconv.Itoa(seed), "--budget", strconv.Itoa(suiteBudget), "--stages", "5", "--config", b.config, "--out", b.Path("out", strconv.Itoa(len(flags))), "-q", "--json"}
	for _, p := range b.profiles {
		words = append(words, "--benchmark", p.Benchmark)
	}
	for _, url := range b.urls {
		words = append(words, "--worker", url)
	}
	return b.printed(b.Do(0, append(words, flags...)...))
}
