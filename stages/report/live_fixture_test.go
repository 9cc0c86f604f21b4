package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/servers/flops"
	"speceval/internal/store/profile"
	"speceval/pipeline/pair"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables/measured"
)

func TestCostsOfThePaperAgree(t *testing.T) {
	v := fleetStudy(t).verdicts(t)
	for _, c := range v.Cells {
		if !slices.Contains(agreement.Classes, c.Class) { // it would be counted nowhere
			t.Errorf("%s %s %s has the class %q", c.Table, c.Row, c.Column, c.Class)
		}
		want := agreement.Agrees
		switch {
		case c.Table == paper.TSNeyman:
			continue
		case c.Class == agreement.Predicted:
			want = agreement.Near
		case c.Class == agreement.Measured, c.Class == agreement.InFit, c.Column == "generation_hours", strings.HasPrefix(c.Row, measurement.Simulated) && c.Column == "continuous_budget":
			want = agreement.Shown
		}
		if c.Verdict != want {
			t.Errorf("%s %s %s, %s: %s %s", c.Table, c.Row, c.Column, c.Class, c.Verdict, c.Note)
		}
	}
	// Of 65 simulated numbers 40 are predicted, 12 fitted, and 4 stand in published rows.
	if v.Cells.Judged() != paperJudged+65-12-4 || len(v.Cells) != paperCells+130 || !v.Cells.Passed() {
		t.Errorf("%d cells, %s", len(v.Cells), v.Summary())
	}
}

// unrun takes a profile away from the runs of a provenance.
func unrun(provenance string) func(*study) {
	return func(s *study) {
		is := func(m measurement.Measurement) bool {
			return m.Provenance == provenance && m.Profile() == "aime24__model=qwen3_5_4b"
		}
		s.timed = slices.DeleteFunc(s.timed, is)
		s.repeats = slices.DeleteFunc(s.repeats, func(r measurement.Repeat) bool { return is(r.Measurement) })
	}
}

// evaluated adds a profile to the experiment that was never run.
func evaluated(s *study) {
	s.Profiles = append(s.Profiles, stored.ProfileFact{Name: "math_100__model=other", NTasks: 100})
}

func TestCostVerdicts(t *testing.T) {
	const (
		published, simulated, measured = measurement.Published, measurement.Simulated, measurement.Measured
		compute, time, benefit         = paper.Compute, paper.Time, paper.Benefit
		agrees, within, near, differs  = agreement.Agrees, agreement.Within, agreement.Near, agreement.Differs
	)
	for _, c := range []verdictCase{
		{"a printed digit", time, "published b=64", "sync_time", cost(published, 64, "sync_time", 0.0001), differs},
		{"half a printed digit", time, "published b=64", "sync_time", cost(published, 64, "sync_time", -0.00001), agrees},
		{"the third decimal of a small number", compute, "published b=32", "wasted_flops", cost(published, 32, "wasted_flops", 0.00001), differs},
		{"the second decimal of another", compute, "published b=8", "wasted_flops", cost(published, 8, "wasted_flops", 0.00001), agrees},
		{"continuous, within noise", benefit, "published b=64", "continuous_budget", cost(published, 64, "continuous_budget", 0.06), within},
		{"continuous, beyond", benefit, "published b=64", "continuous_budget", cost(published, 64, "continuous_budget", 0.9), differs},
		{"an executed budget has no noise", benefit, "published b=64", "rounded_budget", cost(published, 64, "rounded_budget", 0.01), differs},
		{"the text's share", benefit, "published b=8", "extra_budget_kept", cost(published, 8, "continuous_budget", 0.002), within},
		{"the text's share, beyond", benefit, "published b=8", "extra_budget_kept", cost(published, 8, "continuous_budget", 0.1), differs},
		{"a row is gone", time, "published b=16", "delta_time", withoutRuns(published, 16), agreement.Absent},
		{"a profile was never run", time, "published b=16", "delta_time", evaluated, agreement.Absent},

		{"too few equivalent budgets differ to tell", benefit, "published all", "budgets_differing", otherBudgets(1), within},
		{"too many equivalent budgets", benefit, "published all", "budgets_differing", otherBudgets(20), differs},

		{"predicted, by less than two s.d.", time, "simulated b=16", "async_time", cost(simulated, 16, "async_time", 0.0046), near},
		{"predicted, by more", time, "simulated b=16", "async_time", cost(simulated, 16, "async_time", 0.0049), differs},
		{"predicted, by more downwards", time, "simulated b=16", "async_time", cost(simulated, 16, "async_time", -0.0049), differs},
		{"predicted without spread", time, "simulated b=8", "sync_time", cost(simulated, 8, "sync_time", 0.001), differs},
		{"a predicted benefit", benefit, "simulated b=32", "delta", cost(simulated, 32, "delta", 0.03), differs},
		{"no time lost is no accepted value", time, "simulated b=64", "async_time", cost(simulated, 64, "async_time", -0.0656), differs},
		{"nor is no waste", compute, "simulated b=64", "wasted_flops", cost(simulated, 64, "wasted_flops", -0.00025), differs},
		{"more extra rollouts", compute, "simulated b=32", "extra_rollouts", cost(simulated, 32, "extra_rollouts", 0.0012), differs},
		{"fitted", compute, "simulated b=16", "useful_flops", cost(simulated, 16, "useful_flops", 0.05), agreement.Shown},
		{"simulated rounded budgets have noise", benefit, "simulated b=64", "rounded_budget", cost(simulated, 64, "rounded_budget", 0.06), within},
		{"and are computed", benefit, "simulated b=64", "rounded_budget", cost(simulated, 64, "rounded_budget", 0.9), differs},
		{"a simulated row is gone", time, "simulated b=16", "delta_time", withoutRuns(simulated, 16), agreement.Absent},
		{"a simulated profile is gone", time, "simulated b=16", "delta_time", unrun(simulated), agreement.Absent},
		{"measured numbers are not judged", time, "measured b=8", "sync_time", cost(measured, 8, "sync_time", 9), agreement.Shown},
	} {
		t.Run(c.name, func(t *testing.T) {
			cells := c.check(t, fleetStudy(t)).Cells.Of(c.table)
			if fails := c.want == agreement.Differs || c.want == agreement.Absent; !fails && cells.Agreeing() != cells.Judged() {
				t.Errorf("a number beside it fails: %s", cells.Tally())
			}
		})
	}
}

// TestVerdictsOnTSNeyman has a noise of 0.0024 on a mean of Table 8, ours and
// the paper's, and of 0.0033 on what one candidate loses to another.
func TestVerdictsOnTSNeyman(t *testing.T) {
	change := func(f func(best, worse *variance.Search)) func(*study) {
		return func(s *study) {
			for i := range s.search {
				if b := s.search[i].Budget; s.search[i].Selected && b == 16 {
					f(&s.search[i], &s.search[i+1])
					return
				}
			}
		}
	}
	mse := func(d float64) func(*study) {
		return change(func(best, _ *variance.Search) { best.MSE += d })
	}
	other := func(loss float64) func(*study) { // is selected, and the paper's candidate loses to it
		return change(func(papers, other *variance.Search) {
			other.Finalist, other.Selected, papers.Selected = true, true, false
			other.Draws, other.MSE = papers.Draws, papers.MSE
			papers.Excess, papers.ExcessSE = loss, 0.0028
		})
	}
	warm := change(func(best, _ *variance.Search) { best.M0 = 5 })
	none := func(s *study) { s.search = nil }
	const table, row = paper.TSNeyman, "b=16"
	for _, c := range []verdictCase{
		{"higher within noise", table, row, "ts", mse(0.006), agreement.Within},
		{"higher beyond noise", table, row, "ts", mse(0.009), agreement.Differs},
		{"lower beyond noise", table, row, "ts", mse(-0.009), agreement.Differs},
		{"the gap with it", table, row, "delta", mse(0.009), agreement.Differs},
		{"the gap within noise", table, row, "delta", mse(0.006), agreement.Within},
		{"HBN", table, row, "hbn", shift(policy.HBN.Name, 16, 0.01), agreement.Differs},
		{"the gap without HBN's change", table, row, "delta", shift(policy.HBN.Name, 16, -0.02), agreement.Differs},
		{"another strength, as good", table, row, "alpha", other(0.009), agreement.Tie},
		{"another strength, better", table, row, "alpha", other(0.011), agreement.Differs},
		{"the same warm start", table, row, "m0", other(0.011), agreement.Agrees},
		{"the paper's warm start was not tried", table, row, "m0", warm, agreement.Differs},
		{"nothing was searched", table, row, "ts", none, agreement.Absent},
		{"nothing was searched", table, row, "m0", none, agreement.Absent},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := paperStudy(t)
			v := c.check(t, s)
			untouched := func(c agreement.Comparison) bool { return c.Table == table && c.Row != row && !c.Verdict.Passes() }
			if c.want != agreement.Absent && slices.ContainsFunc(v.Cells, untouched) {
				t.Error("another budget is touched")
			}
		})
	}
}

// TestACandidateThatDidBetterInTheRace has the paper's candidate do better in the
// race than the finalist that further trajectories selected.
func TestACandidateThatDidBetterInTheRace(t *testing.T) {
	s := paperStudy(t)
	theirs, ours := &s.search[0], &s.search[1] // at b = 8
	theirs.Selected, theirs.Excess, theirs.ExcessSE = false, -0.001, 0.001
	ours.Finalist, ours.Selected, ours.MSE, ours.Draws = true, true, theirs.MSE+0.001, 800
	c := cellOf(t, s.verdicts(t), paper.TSNeyman, "b=8", "alpha")
	if c.Verdict != agreement.Tie || !strings.Contains(c.Note, "is 0.0010 lower here") {
		t.Errorf("%s: %s", c.Verdict, c.Note)
	}
}

// TestVerdictsFollowTheMeasurements changes one measurement after the other.
func TestVerdictsFollowTheMeasurements(t *testing.T) {
	const setting = "primer__model=small b=8 "
	for _, c := range []struct {
		name        string
		of          *model.Table
		row, column string
		change      func(*study)
		want        agreement.Verdict
		reason      string
	}{
		{"a time within 5%", measured.Times, setting + "hbn-sync", "measured_seconds", func(*study) {}, agreement.Agrees, "no further than the 0.125 that are 5% of the measured time"},
		{"a time beyond both", measured.Times, setting + "hbn-sync", "measured_seconds", func(s *study) { each(s.predictions, func(p *measurement.Prediction) { p.Predicted = 3 }) }, agreement.Differs, ""},
		{"Uniform is fitted", measured.Times, setting + "uniform", "measured_seconds", func(s *study) { each(s.predictions, func(p *measurement.Prediction) { p.Predicted = 3 }) }, agreement.Shown, ""},
		{"another ratio", measured.Variance, "measured " + setting + "hbn-async", "ratio", func(s *study) { s.ratios[1].VarianceRatio = 0.2 }, agreement.Differs, ""},
		{"the same ratio", measured.Variance, "measured " + setting + "hbn-sync", "ratio", func(*study) {}, agreement.Within, ""},
		{"nine runs", measured.Variance, "measured " + setting + "hbn-sync", "ratio", func(s *study) {
			s.runs = slices.DeleteFunc(s.runs, func(r measurement.Run) bool { return r.Strategy == measurement.HBNSync && r.Repeat > 8 })
		}, agreement.Shown, ""},
		{"no replay", measured.Variance, "measured " + setting + "hbn-sync", "ratio", func(s *study) { s.ratios = nil }, agreement.Shown, ""},
		{"biased runs", measured.Variance, "measured " + setting + "uniform", "mean", func(s *study) { each(s.runs, func(r *measurement.Run) { r.Estimate += 0.05 }) }, agreement.Differs, ""},
		{"no profile", measured.Variance, "measured " + setting + "uniform", "mean", func(s *study) { s.pairs = nil }, agreement.Shown, ""},
		{"a busy orchestrator", measured.Orchestrator, "measured " + setting + "coupled uniform", "cpu_share", func(s *study) { each(s.runs, func(r *measurement.Run) { r.CPU = 0.21 }) }, agreement.Differs, "less than 0.05 is the claim"},
		{"one that scores", measured.Orchestrator, "measured " + setting + "scored uniform", "cpu_share", func(*study) {}, agreement.Shown, ""},
		{"nothing measured", measured.Orchestrator, "all", "cpu_share", func(s *study) { s.runs = nil }, agreement.NotRun, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := liveStudy()
			c.change(&s)
			cells := s.sheet(t, c.of).Compare(stored.Experiment{})
			if !c.of.Live {
				t.Fatal("the table holds no measurement against a prediction")
			}
			at := slices.IndexFunc(cells, func(x agreement.Comparison) bool { return x.Row == c.row && x.Column == c.column })
			if at < 0 || cells[at].Verdict != c.want || !strings.Contains(cells[at].Reason(), c.reason) {
				t.Errorf("%s %s: %+v, want %q as %q", c.row, c.column, cells, c.want, c.reason)
			}
		})
	}
}

func each[T any](rows []T, change func(*T)) {
	for i := range rows {
		change(&rows[i])
	}
}

// liveStudy is a made-up experiment that measures: one profile of 24 tasks, runs on
// servers, where HBN has 0.7 of Uniform's variance, and predictions of their times.
func liveStudy() study {
	random := rand.New(rand.NewPCG(8, 15))
	first := profile.Profile{Benchmark: "primer", Model: "small", Scorer: "maths/1", TestedK: 1024}
	for i := range 24 {
		p := float64(i) / 23
		passes := 0
		for range 1024 {
			if random.Float64() < p {
				passes++
			}
		}
		first.TaskIDs = append(first.TaskIDs, fmt.Sprintf("t%02d", i))
		first.PassCounts = append(first.PassCounts, passes)
	}
	s := study{Experiment: stored.Experiment{Budgets: []int32{8}}, pairs: []pair.Pair{pair.Known(first)}}
	m, w := int32(4), 0.45
	s.ratios = []variance.Ratio{
		{Subject: variance.Subject{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Policy: policy.Oracle.Name, Donors: "none"}, VarianceRatio: 0.6},
		{Subject: variance.Subject{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Policy: policy.HBN.Name, Donors: "none"}, M: &m, W: &w, VarianceRatio: 0.72, RatioSE: 0.001, Draws: 1024},
	}
	s.designs = []variance.Design{{Policy: policy.HBN.Name, Donors: "none", NTasks: 24, Budget: 8, M: m, W: w, Risk: 0.9, RiskSE: 0.001, Selected: true}}
	mean, sd := first.Mean(), first.VarianceSum()/(24*24*8)
	for _, strategy := range []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync} {
		of := 1.0
		if strategy != measurement.Uniform {
			of = 0.7
		}
		sample := normalScores(random, 30)
		for i := range 30 {
			r := measurement.Run{Benchmark: "primer", Model: "small", NTasks: 24, ReferenceBudget: 8, Budget: 8, Strategy: strategy, Provenance: measurement.Measured,
				Rewards: measurement.Scored, Repeat: int32(i), Time: 2, CPU: 0.25, Cores: 2, Handling: 0.01, GapMedian: 0.0002, GapP99: 0.003}
			r.Estimate = mean + 0.003 + sample[i]*math.Sqrt(of*sd)
			s.runs = append(s.runs, r)
			if i < 3 {
				r.Rewards, r.CPU = measurement.Coupled, 0.05+0.001*float64(i)
				s.runs = append(s.runs, r)
			}
		}
	}
	for _, p := range []struct {
		strategy            string
		measured, predicted float64
	}{{measurement.Uniform, 2, 2.01}, {measurement.HBNSync, 2.5, 2.44}, {measurement.HBNAsync, 2.1, 2.35}} {
		s.predictions = append(s.predictions, measurement.Prediction{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Strategy: p.strategy, Runs: 3, Draws: 200,
			Measured: p.measured, MeasuredSE: 0.05, Predicted: p.predicted, PredictedSD: 0.02, DifferenceSE: 0.055, Scale: 1.1})
	}
	s.architectures = []flops.Architecture{{Model: "small", ThetaCore: 1000, ThetaHead: 100, FullAttentionLayers: 2, AttentionWidth: 64}}
	s.live = stored.Live{Timed: true, Predicted: true, Scored: true}
	return s
}

// normalScores are n normal draws, shifted and scaled to mean 0 and variance 1.
func normalScores(random *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	sum, square := 0.0, 0.0
	for i := range out {
		out[i] = random.NormFloat64()
		sum += out[i]
	}
	for i := range out {
		out[i] -= sum / float64(n)
		square += out[i] * out[i]
	}
	for i := range out {
		out[i] /= math.Sqrt(square / float64(n-1))
	}
	return out
}
