package pilot_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

func mustPrior(t testing.TB, tasks int, donors ...informed.Donor) *informed.Prior {
	t.Helper()
	return must(informed.New(tasks, donors))
}

func mustStages(t testing.TB, tasks, budget int, plan staged.Plan) *staged.Stages {
	t.Helper()
	return must(staged.New(tasks, budget, plan))
}

// estimate draws the last stage of an evaluation, which decides nothing, and returns the mean.
func estimate(t testing.TB, s *staged.Stages, ps []float64, draw pilot.Outcomes) float64 {
	t.Helper()
	passes := make([]int, len(ps))
	for i, n := range s.Sizes() {
		passes[i] = draw(s.Stage(), i, n, ps[i])
	}
	if err := s.Observe(passes); err != nil || !s.Done() {
		t.Fatal(err, s.Done())
	}
	return s.Mean()
}

// published is a published profile's probabilities, with the donors that the other
// models on its benchmark are.
func published(t testing.TB, name string) (ps []float64, siblings []informed.Donor) {
	t.Helper()
	all := must(profile.Read(filepath.Join("..", "..", "..", "data", "profiles.parquet")))
	at := slices.IndexFunc(all, func(p profile.Profile) bool { return p.Name() == name })
	if at < 0 {
		t.Fatalf("there is no profile %s", name)
	}
	for i := range all[at].N() {
		ps = append(ps, all[at].P(i))
	}
	for _, p := range all {
		if p.Benchmark == all[at].Benchmark && p.Model != all[at].Model {
			siblings = append(siblings, informed.Donor{Name: p.Name(), Passes: p.PassCounts, Rollouts: slices.Repeat([]int{p.TestedK}, p.N())})
		}
	}
	return ps, siblings
}

// six profiles: two of mathematics, one that is adverse to HBN among them, two of
// programs, two of options.
var six = []string{
	"aime24__model=qwen3_5_4b", "math_100__model=qwen3_5_4b",
	"livecodebench_gt_2024_03_30__difficulty_easy__model=qwen2_5_32b", "livecodebench_gt_2024_03_30__difficulty_hard__model=qwen3_5_9b",
	"gpqa_diamond__domain_physics__model=qwen2_5_7b", "mmlu_science__subject_college_physics__model=qwen2_5_3b",
}

// TestSimulatedEvaluationsAreUnbiased evaluates six published profiles rollout by
// rollout. Biases are held to 4.5 standard errors and mean squared errors to 5 of
// theirs, √(2/n) for normal estimates: in 36 settings each, a false alarm of one in
// them comes once in two thousand runs.
func TestSimulatedEvaluationsAreUnbiased(t *testing.T) {
	const evaluations, budget = 1200, 8
	reference := must(neyman.NewPrior(16))
	for at, name := range six {
		ps, siblings := published(t, name)
		want := 0.0
		for _, p := range ps {
			want += p / float64(len(ps))
		}
		rule := must(neyman.NewLeaveOneOut(reference, len(ps), budget, 4))
		reversed := slices.Clone(siblings)
		for i, d := range reversed {
			reversed[i].Passes = slices.Clone(d.Passes)
			slices.Reverse(reversed[i].Passes)
		}
		for k, c := range []struct {
			donors []informed.Donor
			plan   staged.Plan
		}{
			{nil, staged.Plan{Pilots: 4, LeaveOneOut: rule.Weight, Fractions: pilot.Fractions(1)}},
			{nil, staged.Plan{Pilots: 2, Weight: 0.2, Fractions: pilot.Fractions(3)}},
			{siblings, staged.Plan{Pilots: 2, Weight: 0.25, Fractions: pilot.Fractions(1)}},
			{siblings, staged.Plan{Pilots: 1, Weight: 0.1, Fractions: pilot.Fractions(4)}},
			{reversed, staged.Plan{Pilots: 1, Weight: 0.1, Fractions: pilot.Fractions(4)}},
			{reversed, staged.Plan{Pilots: 2, Weight: 0.2, Fractions: pilot.Fractions(2)}},
		} {
			stages := mustStages(t, len(ps), budget, c.plan)
			run := pilot.NewTrial(stages, mustPrior(t, len(ps), c.donors...).Posterior())
			random := seed.Root(7).Index(at).Index(k).Stream()
			var sum, squares, expected float64
			for range evaluations {
				draw := pilot.Independent(&random)
				variance := must(run.Run(ps, draw))
				off := estimate(t, stages, ps, draw) - want
				sum, squares, expected = sum+off, squares+off*off, expected+variance/float64(len(ps)*len(ps))
			}
			bias, mse, expected := sum/evaluations, squares/evaluations, expected/evaluations
			if z := bias / math.Sqrt(expected/evaluations); math.Abs(z) > 4.5 {
				t.Errorf("%s, policy %d: bias of %.2g, %.1f standard errors", name, k, bias, z)
			}
			if ratio := mse / expected; math.Abs(ratio-1) > 5*math.Sqrt(2.0/evaluations) {
				t.Errorf("%s, policy %d: the mean squared error is %.3f of the formula's", name, k, ratio)
			}
		}
	}
}

// designed is the plan in five stages that a prior is designed to have.
func designed(t *testing.T, prior *informed.Prior, budget int) staged.Plan {
	t.Helper()
	cs := pilot.StagedCandidates([]int{budget})
	estimates := must(pilot.StagedCoefficients(t.Context(), informed.Suite{prior}, staged.Plan{}, cs, []int{4}, 64, []seed.Stream{seed.Root(1).Stream()}))
	rated := pilot.Rate(cs, estimates[0])
	best := rated[slices.IndexFunc(rated, func(r pilot.Rated) bool { return r.Selected })]
	return staged.Plan{Pilots: best.M, Weight: best.Weight, Fractions: pilot.Fractions(4)}
}

// TestUselessDonorsCostLittle holds policies whose donors are shuffled, or have p in
// the place of 1−p, against the one without donors, over six profiles: each by the
// design that it would have.
func TestUselessDonorsCostLittle(t *testing.T) {
	const evaluations = 400
	for _, budget := range []int{8, 32} {
		means := map[string]float64{}
		for at, name := range six {
			ps, siblings := published(t, name)
			all := 0.0
			for _, p := range ps {
				all += p * (1 - p)
			}
			shuffled, flipped := slices.Clone(siblings), slices.Clone(siblings)
			random := seed.Root(5).Index(at).Stream()
			for i, d := range siblings {
				shuffled[i].Passes, flipped[i].Passes = slices.Clone(d.Passes), slices.Clone(d.Passes)
				for k := len(ps) - 1; k > 0; k-- {
					j := int(random.Float64() * float64(k+1))
					shuffled[i].Passes[k], shuffled[i].Passes[j] = shuffled[i].Passes[j], shuffled[i].Passes[k]
				}
				for k, n := range d.Rollouts {
					flipped[i].Passes[k] = n - d.Passes[k]
				}
			}
			for kind, donors := range map[string][]informed.Donor{"none": nil, "shuffled": shuffled, "flipped": flipped, "siblings": siblings} {
				prior := mustPrior(t, len(ps), donors...)
				run := pilot.NewTrial(mustStages(t, len(ps), budget, designed(t, prior, budget)), prior.Posterior())
				random := seed.Root(6).Index(at).Stream()
				for range evaluations {
					variance := must(run.Run(ps, pilot.Independent(&random)))
					means[kind] += float64(budget) * variance / all / evaluations / float64(len(six))
				}
			}
		}
		t.Logf("b = %d: %.3v", budget, means)
		if means["siblings"] >= means["none"] {
			t.Errorf("b = %d: siblings are of no use: %v", budget, means)
		}
		for _, kind := range []string{"shuffled", "flipped"} {
			if means[kind] > 1.03*means["none"] {
				t.Errorf("b = %d: %s donors cost %.1f%%", budget, kind, 100*(means[kind]/means["none"]-1))
			}
		}
	}
}

// TestEvenDrawsHaveTheLaw draws evaluations of four tasks in three stages: every task in every
// stage passes as often as a binomial number does, whatever the stage before gave, and a lattice
// of draws has each quantile of a task once.
func TestEvenDrawsHaveTheLaw(t *testing.T) {
	const draws, replicates, rollouts = 37, 4000, 3
	ps := []float64{0.02, 0.3, 0.7, 1}
	var seen [4][3][rollouts + 1]float64
	var both [4][rollouts + 1][rollouts + 1]float64 // of the first two stages
	spread := 0.0                                   // of the passes of a task over a lattice
	for replicate := range replicates {
		even := pilot.NewEven(draws, len(ps), seed.Root(12).Index(replicate).Stream())
		sum := 0
		for range draws {
			for task, p := range ps {
				var n [3]int
				for stage := range n {
					n[stage] = even.Passes(stage, task, rollouts, p)
					seen[task][stage][n[stage]]++
				}
				both[task][n[0]][n[1]]++
				if task == 1 {
					sum += n[0]
				}
			}
			even.Next()
		}
		spread += math.Pow(float64(sum)-draws*rollouts*ps[1], 2) / replicates
	}
	const all = draws * replicates
	off := func(got, want float64) bool { // by more than five standard errors, or a few of what is rare
		return math.Abs(got/all-want) > (5*math.Sqrt(want*(1-want)*all)+4)/all
	}
	mass := func(k int, p float64) float64 {
		return []float64{1, 3, 3, 1}[k] * math.Pow(p, float64(k)) * math.Pow(1-p, float64(rollouts-k))
	}
	for task, p := range ps {
		for a := range rollouts + 1 {
			for stage := range 3 {
				if got, want := seen[task][stage][a], mass(a, p); off(got, want) {
					t.Errorf("p = %v, stage %d: %d passes with frequency %v, want %v", p, stage, a, got/all, want)
				}
			}
			for b := range rollouts + 1 {
				if got, want := both[task][a][b], mass(a, p)*mass(b, p); off(got, want) {
					t.Errorf("p = %v: %d and then %d passes with frequency %v, want %v", p, a, b, got/all, want)
				}
			}
		}
	}
	if independent := draws * rollouts * ps[1] * (1 - ps[1]); spread > 0.1*independent {
		t.Errorf("the passes of a lattice vary by %v, of independent draws by %v", spread, independent)
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
