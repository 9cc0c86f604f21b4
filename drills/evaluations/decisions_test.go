package evaluations

import (
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

func reference(t *testing.T) *neyman.Prior {
	t.Helper()
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	return prior
}

// setups are evaluations of the 40 tasks of spread, one of each kind, by name.
func setups() map[string]*evaluation.Setup {
	p, donor := spread("m", 0), spread("n", 0.5)
	of := func(name string, after int, design evaluation.Design) *evaluation.Setup {
		design.Fractions = pilot.Fractions(after)
		return &evaluation.Setup{Benchmark: "quiz", Model: "m", Policy: name, Budget: 8, Design: design, TaskIDs: p.TaskIDs}
	}
	d := evaluation.Design{Pilots: 3, Weight: 0.4}
	all := map[string]*evaluation.Setup{
		"two stages": of(async, 1, d), "four stages": of(policy.Staged.Name, 3, d),
		"donors": of(policy.InformedStaged[0].Name, 3, evaluation.Design{Pilots: 1, Weight: 0.15}), "stop": of(policy.Staged.Name, 3, evaluation.Design{Pilots: 2, Weight: 0.2}),
		"two stages, stop": of(async, 1, evaluation.Design{Pilots: 2, Weight: 0.2}), "most rollouts": of(policy.Staged.Name, 3, d), "shares": of(policy.Staged.Name, 3, d),
	}
	counts := evaluation.Counts{Passes: donor.PassCounts, Rollouts: slices.Repeat([]int{donor.TestedK}, donor.N())}
	all["donors"].Donors = []evaluation.Donor{{Name: donor.Name(), Source: "n", Counts: counts}}
	all["stop"].Stop = &evaluation.Stop{StandardError: 0.016}
	all["two stages, stop"].Stop = &evaluation.Stop{StandardError: 0.016}
	all["most rollouts"].Stop = &evaluation.Stop{StandardError: 0.001, Rollouts: 300}
	for i := range p.N() {
		all["shares"].Shares = append(all["shares"].Shares, (0.5+float64(i%2))/float64(p.N()))
	}
	return all
}

// extending is a setup that adds rollouts to an evaluation up to 16 for each task.
func extending(setup *evaluation.Setup, r *evaluation.Result) *evaluation.Setup {
	next := *setup
	next.Budget, next.Extends = 16, &evaluation.Extends{Name: setup.Name(), Folder: "somewhere"}
	next.Design = evaluation.Design{Weight: 0.35, Fractions: pilot.Fractions(2)}
	for _, t := range r.Rows {
		var stages []estimate.Stage
		for _, s := range t.Stages {
			stages = append(stages, estimate.Binary(s.Rollouts, int(s.Rewards), s.Weight))
		}
		next.Extends.Stages = append(next.Extends.Stages, stages)
	}
	return &next
}

// executed is the result of an evaluation of a profile by the controller that the
// program runs, of which the checks make no use.
func executed(t *testing.T, p profile.Profile, setup *evaluation.Setup, random *seed.Stream) *evaluation.Result {
	t.Helper()
	c, err := controller.New(settings(t, setup))
	if err != nil {
		t.Fatal(err)
	}
	rewards := map[controller.ID]int{}
	for id, ok := c.Next(); ok; id, ok = c.Next() {
		if random.Float64() < p.P(int(id.Task)) {
			rewards[id] = 1
		}
		if _, err := c.Completed(id, rewards[id] == 1); err != nil {
			t.Fatal(err)
		}
	}
	if !c.Done() {
		t.Fatal("it is not done")
	}
	r := &evaluation.Result{Policy: setup.Policy, Tasks: p.N(), Estimate: c.Estimate()}
	r.Design.Pilots, r.Design.Weight = setup.Design.Pilots, setup.Design.Weight
	if setup.Stop != nil {
		r.Stop = &evaluation.Stop{StandardError: setup.Stop.StandardError}
	}
	for i, id := range setup.TaskIDs {
		task := evaluation.Task{ID: id, Estimate: c.Means()[i], Shrinkage: c.Shrinkage()[i]}
		if setup.Shares != nil {
			task.Share = setup.Shares[i]
		}
		number := int32(0)
		for k, stage := range c.Observed() {
			if k == 0 && setup.Extends != nil {
				r.Extends = setup.Extends.Folder
				for _, s := range setup.Extends.Stages[i] {
					task.Stages = append(task.Stages, estimate.Stage{Rollouts: s.Rollouts, Rewards: s.Rewards, Weight: setup.Design.Weight * s.Weight})
				}
				continue
			}
			s := estimate.Stage{Rollouts: stage.Sizes[i], Weight: stage.Weights[i]}
			for range s.Rollouts {
				of := controller.ID{Task: int32(i), Phase: controller.Continuation, Ordinal: number - int32(setup.Design.Pilots) + 1}
				if k == 0 {
					of = controller.ID{Task: int32(i), Phase: controller.Pilot, Ordinal: number + 1}
				}
				s.Rewards += float64(rewards[of])
				number++
			}
			if s.Rollouts > 0 {
				task.Stages = append(task.Stages, s)
			}
		}
		for k, s := range task.Stages {
			r.Rollouts += s.Rollouts
			if k == 0 {
				task.Pilots, task.PilotPasses = int32(s.Rollouts), int32(s.Rewards)
			} else {
				task.Continuations, task.ContinuationPasses = task.Continuations+int32(s.Rollouts), task.ContinuationPasses+int32(s.Rewards)
			}
		}
		r.Rows = append(r.Rows, task)
	}
	return r
}

// settings are those of the controller for a setup.
func settings(t *testing.T, setup *evaluation.Setup) controller.Settings {
	t.Helper()
	d, tasks := setup.Design, len(setup.TaskIDs)
	s := controller.Settings{
		Policy: controller.Sync, Tasks: tasks, Budget: setup.Budget, Pilots: d.Pilots, Weight: d.Weight, Fractions: d.Fractions,
		TaskShares: setup.Shares, Prior: controller.Cold(reference(t)),
	}
	prior, err := setup.Informed()
	if err != nil {
		t.Fatal(err)
	}
	if len(setup.Donors) > 0 || len(d.Fractions) > 1 {
		s.Prior = controller.Informed(prior)
	}
	if stop := setup.Stop; stop != nil {
		s.Remaining = func(b controller.Barrier) int {
			left := b.Toward(stop.StandardError * stop.StandardError)
			if stop.Rollouts > 0 {
				left = stop.Rollouts
				for _, n := range b.Rollouts {
					left -= n
				}
			}
			return left
		}
	}
	if setup.Extends != nil {
		s.Past = &controller.Past{}
		for _, stages := range setup.Extends.Stages {
			var c controller.Count
			mean, shrinkage := 0.0, 0.0
			for _, of := range stages {
				c.Rollouts, c.Rewards, c.Squares = c.Rollouts+of.Rollouts, c.Rewards+of.Rewards, c.Squares+of.Rewards
				mean, shrinkage = mean+of.Weight*of.Rewards/float64(of.Rollouts), shrinkage+of.Weight*of.Weight/float64(of.Rollouts)
			}
			s.Past.Counts, s.Past.Means, s.Past.Shrinkage = append(s.Past.Counts, c), append(s.Past.Means, mean), append(s.Past.Shrinkage, shrinkage)
		}
		s.Left = tasks*setup.Budget - s.Past.Rollouts()
	}
	return s
}

// TestAllocationsByTheStagesBefore holds what the controller has executed to what is
// decided again, in every kind of evaluation, and wants a fault where a rollout or weight
// is somewhere else.
func TestAllocationsByTheStagesBefore(t *testing.T) {
	p := spread("m", 0)
	for name, setup := range setups() {
		random := seed.Root(5).Child(name).Stream()
		r := executed(t, p, setup, &random)
		checkAllocations(t, name, r, setup)
		if setup.Stop != nil || setup.Shares != nil {
			continue
		}
		next := setup
		if name == "two stages" {
			next = setups()["four stages"]
		}
		next = extending(next, r)
		checkAllocations(t, name+", extended", executed(t, p, next, &random), next)
	}
	uniform := &evaluation.Setup{Policy: uniform, Budget: 4, TaskIDs: []string{"a"}}
	r := &evaluation.Result{Rows: []evaluation.Task{{ID: "a", Stages: []estimate.Stage{{Rollouts: 4, Weight: 1}}}}}
	if err := checkAllocation(r, uniform, nil); err != nil {
		t.Error(err)
	}
	if r.Rows[0].Stages[0].Rollouts = 5; checkAllocation(r, uniform, nil) == nil {
		t.Error("uniform with 5 rollouts of 4: no error")
	}
}

func checkAllocations(t *testing.T, name string, r *evaluation.Result, setup *evaluation.Setup) {
	t.Helper()
	prior := reference(t)
	if err := checkResult(r, setup.Budget); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if err := checkAllocation(r, setup, prior); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	change := func(what, want string, change func()) {
		rows := slices.Clone(r.Rows)
		for i := range r.Rows {
			r.Rows[i].Stages = slices.Clone(r.Rows[i].Stages)
		}
		change()
		if err := checkAllocation(r, setup, prior); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s: %v, want %q", name, what, err, want)
		}
		r.Rows = rows
	}
	last := func(task int) *estimate.Stage { return &r.Rows[task].Stages[len(r.Rows[task].Stages)-1] }
	change("a rollout at another task", "rollouts with weight", func() { last(7).Rollouts++; last(8).Rollouts-- })
	change("another weight", "rollouts with weight", func() { last(7).Weight *= 1.001 })
	change("a further stage", "stages, want", func() { r.Rows[7].Stages = append(r.Rows[7].Stages, estimate.Stage{Rollouts: 1}) })
	change("a stage less", "none of", func() { r.Rows[7].Stages = r.Rows[7].Stages[:len(r.Rows[7].Stages)-1] })
	change("a part of a pass", "want passes", func() { last(7).Rewards = 0.5 })
	if setup.Extends != nil {
		change("other passes before", "what it extends", func() { r.Rows[7].Stages[0].Rewards++ })
		return
	}
	change("other pilots", "rollouts with weight", func() {
		for i := range r.Rows {
			s := &r.Rows[i].Stages[0]
			s.Rewards = float64(s.Rollouts)
		}
	})
}

// TestForecasts holds forecasts to evaluations by the controller: the mean squared error
// of 600 is as predicted, within 4 standard errors, and so is the number of rollouts.
func TestForecasts(t *testing.T) {
	random, p := seed.Root(8).Stream(), spread("m", 0)
	all := setups()
	f := forecast{profile: p, reference: reference(t), draws: 1500, seed: 3}
	for _, name := range []string{"two stages", "four stages", "donors", "stop", "extended"} {
		base := all[name]
		f.setup, f.extended = base, nil
		if name == "extended" {
			base = all["four stages"]
			f.setup, f.extended = extending(base, executed(t, p, base, &random)), base
		}
		predicted, err := f.predict(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const n = 600
		var sums stats
		spent := 0.0
		for range n {
			setup := base
			if f.extended != nil {
				setup = extending(base, executed(t, p, base, &random))
			}
			r := executed(t, p, setup, &random)
			sums.add(meanOfResult(r), p.Mean())
			spent += float64(r.Rollouts) / float64(p.N()) / n
		}
		unit := p.VarianceSum() / float64(p.N()) / float64(p.N()) / spent
		square, _ := sums.meanSquare()
		if z := varianceScore(square/unit, predicted, n); math.Abs(z) > 4 || math.Abs(spent-predicted.Spent) > 0.02*spent {
			t.Errorf("%s: %.3f with %.2f rollouts, predicted are %+v", name, square/unit, spent, predicted)
		}
	}
}

func TestForecastsThatCannotBe(t *testing.T) {
	r := executed(t, spread("m", 0), setups()["four stages"], new(seed.Stream))
	tokens := setups()["stop"]
	tokens.Stop.Tokens = 100
	for name, setup := range map[string]*evaluation.Setup{"extended": extending(setups()["four stages"], r), "tokens": tokens} {
		if p, err := (forecast{profile: spread("m", 0), setup: setup, reference: reference(t), draws: 3}).predict(t.Context()); err == nil {
			t.Errorf("%s is predicted: %+v", name, p)
		}
	}
}
