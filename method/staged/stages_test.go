package staged_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"speceval/method/neyman"
	"speceval/method/staged"
)

func begin(t *testing.T, tasks, budget int, plan staged.Plan) *staged.Stages {
	t.Helper()
	return must(staged.New(tasks, budget, plan))
}

// evaluate goes through an evaluation whose tasks pass with the chances ps, and calls
// each after every decision, with what a task has left before it.
func evaluate(t *testing.T, s *staged.Stages, ps []float64, score scorer, random *rand.Rand, each func(rest []float64)) past {
	t.Helper()
	var p past
	for {
		passes := make([]int, len(ps))
		for i, n := range s.Sizes() {
			for range n {
				if random.Float64() < ps[i] {
					passes[i]++
				}
			}
		}
		p.sizes, p.passes = append(p.sizes, slices.Clone(s.Sizes())), append(p.passes, passes)
		ok(t, s.Observe(passes))
		if s.Done() {
			return p
		}
		rest := slices.Clone(s.Rest())
		ok(t, s.Decide(score(p, len(ps))))
		each(rest)
	}
}

// chances are random probabilities, 0 and 1 among them.
func chances(random *rand.Rand, tasks int) []float64 {
	ps := make([]float64, tasks)
	for i := range ps {
		ps[i] = min(1, max(0, 1.4*random.Float64()-0.2))
	}
	return ps
}

// TestStagesKeepTheirRules holds larger evaluations to what must be so whatever the
// scores: weights that add up to one, shares that use up what is left and are Neyman's
// for R²·score, sizes that are the fraction of them, N·b rollouts in all.
func TestStagesKeepTheirRules(t *testing.T) {
	early := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 5))
		tasks, budget := 1+random.IntN(30), 2+random.IntN(40)
		plan := staged.Plan{Pilots: 1 + random.IntN(budget-1), Weight: random.Float64()}
		for range random.IntN(4) {
			plan.Fractions = append(plan.Fractions, 0.05+0.95*random.Float64())
		}
		plan.Fractions = append(plan.Fractions, 1)
		if random.IntN(2) == 0 {
			plan.LeaveOneOut = others(seed)
		}
		plan.Least = random.IntN(1 + min(4, budget-plan.Pilots))
		score := []scorer{cold, wrong, greedy, arbitrary(seed)}[random.IntN(4)]
		s := begin(t, tasks, budget, plan)
		var weights []float64 // of the stages that were decided, by task
		stage, left := 0, tasks*(budget-plan.Pilots)
		p := evaluate(t, s, chances(random, tasks), score, random, func(rest []float64) {
			if weights == nil {
				weights = slices.Clone(rest)
				for i := range weights {
					weights[i] = 1 - weights[i]
				}
			}
			checkDecision(t, s, plan.Fractions[stage], max(1, plan.Least), rest, left)
			for i, n := range s.Sizes() {
				left -= n
				weights[i] += s.Weights()[i]
				if n == 0 {
					early++
				}
			}
			if stage++; s.Stage() != stage || s.Left() != left {
				t.Fatalf("stage %d with %d left, want %d and %d", s.Stage(), s.Left(), stage, left)
			}
		})
		observed, _ := p.totals(tasks)
		all := 0
		for i, n := range observed {
			all += n
			if math.Abs(weights[i]-1) > 1e-14 || s.Rest()[i] != 0 {
				t.Fatalf("the weights of task %d add up to %v, and %v is left", i, weights[i], s.Rest()[i])
			}
		}
		if all != tasks*budget {
			t.Fatalf("%d rollouts, want %d", all, tasks*budget)
		}
	}
	if early < 100 {
		t.Errorf("only %d tasks finished early: the test tests little", early)
	}
}

// checkDecision holds a decision to its definition. Scores of R = 0 and ties are left
// to Allocate.
func checkDecision(t *testing.T, s *staged.Stages, fraction float64, least int, rest []float64, left int) {
	t.Helper()
	sum := 0
	for i, share := range s.Shares() {
		sum += share
		size, weight := 0, 0.0
		if share > 0 {
			if size = max(1, int(math.Round(fraction*float64(share)))); share-size < least {
				size = share
			}
			if share < least {
				t.Fatalf("task %d has a share of %d, want %d", i, share, least)
			}
			weight = rest[i] * float64(size) / float64(share)
		} else if rest[i] != 0 {
			t.Fatalf("task %d has the weight %v left and no share", i, rest[i])
		}
		if s.Sizes()[i] != size || math.Abs(s.Weights()[i]-weight) > 1e-15 || math.Abs(s.Rest()[i]-(rest[i]-weight)) > 1e-15 {
			t.Fatalf("task %d executes %d of %d with %v of %v, want %d with %v", i, s.Sizes()[i], share, s.Weights()[i], rest[i], size, weight)
		}
	}
	if sum != left {
		t.Fatalf("shares of %d, want %d", sum, left)
	}
}

// TestSharesAreNeymans holds the shares after unequal weights to Allocate.
func TestSharesAreNeymans(t *testing.T) {
	s := begin(t, 3, 12, staged.Plan{Pilots: 2, Fractions: []float64{0.3, 1}, LeaveOneOut: func(counts []int) float64 {
		return 0.8 - 0.7*float64(counts[2])
	}})
	observe(t, s, 1, 2, 0) // the second task's pilot weighs 0.8, the others' 0.1
	decide(t, s, 0.01, 0.09, 0.25)
	observe(t, s, s.Sizes()...)
	scores := []float64{0.2, 0.03, 0.1}
	var want []float64
	for i, r := range s.Rest() {
		want = append(want, r*r*scores[i])
	}
	shares, err := neyman.Allocate(want, s.Left())
	plain, _ := neyman.Allocate(scores, s.Left())
	if err != nil || slices.Equal(shares, plain) {
		t.Fatal(err, shares, plain)
	}
	ahead, forecast := s.Ahead(), make([]int, 3)
	decide(t, s, scores...)
	if !slices.Equal(s.Shares(), shares) {
		t.Errorf("shares %v, want %v", s.Shares(), shares)
	}
	observe(t, s, 0, 0, 0)
	s.Restart()
	if err := ahead.Divide(scores, forecast); err != nil || !slices.Equal(forecast, shares) {
		t.Errorf("the forecast is %v, want %v (%v)", forecast, shares, err)
	}
}

func observe(t *testing.T, s *staged.Stages, passes ...int) {
	t.Helper()
	ok(t, s.Observe(passes))
}

func decide(t *testing.T, s *staged.Stages, scores ...float64) {
	t.Helper()
	ok(t, s.Decide(scores))
}

// TestRoundsHoldAllStages lets scores ask for all that there is, again and again.
func TestRoundsHoldAllStages(t *testing.T) {
	const tasks, budget = 5, 8
	for rounds := budget + 3; rounds < 6*budget; rounds++ {
		for salt := range uint64(20) {
			s := begin(t, tasks, budget, staged.Plan{Pilots: 2, Weight: 0.2, Fractions: []float64{0.3, 0.5, 1}, Rounds: rounds})
			used, all := 0, 0
			var p past
			for {
				used += slices.Max(s.Sizes())
				for _, n := range s.Sizes() {
					all += n
				}
				p.sizes, p.passes = append(p.sizes, slices.Clone(s.Sizes())), append(p.passes, make([]int, tasks))
				ok(t, s.Observe(make([]int, tasks)))
				if s.Done() {
					break
				}
				score := greedy
				if salt > 0 {
					score = arbitrary(salt)
				}
				if err := s.Decide(score(p, tasks)); err != nil {
					t.Fatalf("%d rounds: %v", rounds, err)
				}
			}
			if used > rounds || all != tasks*budget {
				t.Fatalf("%d rounds are taken of %d, %d rollouts, want %d", used, rounds, all, tasks*budget)
			}
		}
	}
	if _, err := staged.New(tasks, budget, staged.Plan{Pilots: 2, Weight: 0.2, Fractions: []float64{0.3, 1}, Rounds: budget + 1}); err == nil {
		t.Error("a round for each rollout of the budget is enough for three stages")
	}
}

// TestExtremes have no numbers that are none: whole weights on the pilot, scores of 0,
// and scores as large and small as they can be.
func TestExtremes(t *testing.T) {
	for name, weight := range map[string]func(counts []int) float64{
		"nothing": func([]int) float64 { return 0 }, "all": func([]int) float64 { return 1 },
		"all of some": func(counts []int) float64 { return float64(min(1, counts[0])) },
	} {
		for _, scores := range [][]float64{{0, 0, 0}, {0, 1, 0}, {math.MaxFloat64, math.SmallestNonzeroFloat64, 1}, {5e-324, 5e-324, 5e-324}} {
			s := begin(t, 3, 8, staged.Plan{Pilots: 2, LeaveOneOut: weight, Fractions: []float64{0.3, 0.5, 1}})
			p := evaluate(t, s, []float64{0, 1, 0.5}, func(past, int) []float64 { return scores }, rand.New(rand.NewPCG(1, 1)), func([]float64) {})
			observed, _ := p.totals(3)
			if sum := observed[0] + observed[1] + observed[2]; sum != 24 || !(s.Mean() >= 0 && s.Mean() <= 1) {
				t.Errorf("%s, scores %v: %d rollouts, mean %v", name, scores, sum, s.Mean())
			}
			if scores[0] == 0 && scores[1] == 0 && slices.Max(observed)-slices.Min(observed) > 1 {
				t.Errorf("%s, scores %v: sizes %v", name, scores, observed)
			}
		}
	}
}

func TestPlansAreChecked(t *testing.T) {
	good := staged.Plan{Pilots: 2, Weight: 0.5, Fractions: []float64{0.5, 1}}
	begin(t, 3, 4, good)
	if good.Stages() != 3 {
		t.Errorf("%d stages, want 3", good.Stages())
	}
	for want, spoil := range map[string]func(*staged.Plan){
		"pilot of 0":            func(p *staged.Plan) { p.Pilots = 0 },
		"pilot of 4":            func(p *staged.Plan) { p.Pilots = 4 },
		"at least -1 ":          func(p *staged.Plan) { p.Least = -1 },
		"at least 3 ":           func(p *staged.Plan) { p.Least = 3 },
		"weight of -0.1":        func(p *staged.Plan) { p.Weight = -0.1 },
		"weight of 1.1":         func(p *staged.Plan) { p.Weight = 1.1 },
		"weight of NaN":         func(p *staged.Plan) { p.Weight = math.NaN() },
		"fractions []":          func(p *staged.Plan) { p.Fractions = nil },
		"fractions [0.5]":       func(p *staged.Plan) { p.Fractions = []float64{0.5} },
		"fraction of 0:":        func(p *staged.Plan) { p.Fractions = []float64{0, 1} },
		"fraction of 1.5":       func(p *staged.Plan) { p.Fractions = []float64{1.5, 1} },
		"fraction of NaN":       func(p *staged.Plan) { p.Fractions = []float64{math.NaN(), 1} },
		"fractions [0.5 +Inf]:": func(p *staged.Plan) { p.Fractions = []float64{0.5, math.Inf(1)} },
	} {
		plan := good
		spoil(&plan)
		if _, err := staged.New(3, 4, plan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := staged.New(0, 4, good); err == nil {
		t.Error("there is an evaluation of no tasks")
	}
}

// TestCallsOutOfOrderAreRefused goes through an evaluation and tries at every step what
// is not its turn, or no numbers for it. None of that may change anything.
func TestCallsOutOfOrderAreRefused(t *testing.T) {
	weight := 0.5
	s := begin(t, 2, 5, staged.Plan{Pilots: 1, LeaveOneOut: func([]int) float64 { return weight }, Fractions: []float64{0.5, 1}})
	clean := begin(t, 2, 5, staged.Plan{Pilots: 1, Weight: 0.5, Fractions: []float64{0.5, 1}})
	scores := []float64{0.1, 0.2}
	for !clean.Done() {
		if err := s.Decide(scores); !errors.Is(err, staged.ErrOrder) {
			t.Errorf("stage %d is decided before the last one is observed: %v", s.Stage()+1, err)
		}
		for _, passes := range [][]int{nil, {0}, {0, -1}, {s.Sizes()[0] + 1, 0}} {
			if err := s.Observe(passes); err == nil {
				t.Errorf("stage %d has the passes %v", s.Stage(), passes)
			}
		}
		if s.Stage() == 0 {
			for _, weight = range []float64{-1, 2, math.NaN()} {
				if err := s.Observe([]int{1, 0}); err == nil {
					t.Errorf("a leave-one-out weight of %v", weight)
				}
			}
			weight = 0.5
		}
		passes := slices.Clone(s.Sizes())
		observe(t, s, passes...)
		observe(t, clean, passes...)
		if err := s.Observe(passes); !errors.Is(err, staged.ErrOrder) {
			t.Errorf("stage %d is observed twice: %v", s.Stage(), err)
		}
		if clean.Done() {
			break
		}
		for _, bad := range [][]float64{nil, {1}, {1, -1}, {math.NaN(), 1}, {1, math.Inf(1)}} {
			if err := s.Decide(bad); err == nil {
				t.Errorf("stage %d is decided by %v", s.Stage()+1, bad)
			}
		}
		decide(t, s, scores...)
		decide(t, clean, scores...)
		if !slices.Equal(s.Sizes(), clean.Sizes()) || !slices.Equal(s.Weights(), clean.Weights()) {
			t.Fatalf("after refusals sizes %v, weights %v; without, %v and %v", s.Sizes(), s.Weights(), clean.Sizes(), clean.Weights())
		}
	}
	if err := s.Decide(scores); !errors.Is(err, staged.ErrOrder) {
		t.Errorf("a stage after the last: %v", err)
	}
	if err := s.Ahead().Divide(scores, make([]int, 2)); !errors.Is(err, staged.ErrOrder) {
		t.Errorf("a division after the last stage: %v", err)
	}
	if !s.Done() || math.Abs(s.Mean()-1) > 1e-15 || s.Mean() != clean.Mean() {
		t.Errorf("done %v, mean %v, without refusals %v", s.Done(), s.Mean(), clean.Mean())
	}
}
