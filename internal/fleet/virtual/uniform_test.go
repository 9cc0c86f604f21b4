package virtual_test

import (
	"slices"
	"testing"

	"speceval/internal/fleet/virtual"
	"speceval/internal/flops"
	"speceval/internal/router"
	"speceval/internal/seed"
	"speceval/method/controller"
)

// TestUniformAtManyBudgetsIsThatOfTheRouter executes Uniform at some budgets at once,
// and each of them again by the router.
func TestUniformAtManyBudgetsIsThatOfTheRouter(t *testing.T) {
	for trial := range 300 {
		random := seed.Root(uint64(trial)).Child("uniform").Stream()
		l := randomLoad(&random)
		tasks, budgets := 1+int(random.Float64()*7), []int{1 + int(random.Float64()*3), 4 + int(random.Float64()*9), 3}
		slices.Sort(budgets)
		runs, err := virtual.Uniform(t.Context(), l.settings, tasks, budgets)
		if err != nil {
			t.Fatal(err)
		}
		for k, b := range budgets {
			e, err := virtual.New(l.settings)
			if err != nil {
				t.Fatal(err)
			}
			c, err := controller.New(controller.Settings{Policy: controller.Uniform, Tasks: tasks, Budget: b, Pilots: b})
			if err != nil {
				t.Fatal(err)
			}
			record, err := router.Run(t.Context(), router.Settings{Controller: c, Engine: e, Reward: func(controller.ID) float64 { return 0 }})
			if err != nil {
				t.Fatal(err)
			}
			tokens, wasted := record.Tokens()
			if runs[k] != (virtual.UniformRun{Time: record.Time, Tokens: tokens}) || wasted != (flops.Tokens{}) {
				t.Fatalf("trial %d, %+v: %d tasks at %d of %d: %+v, by the router %v and %+v", trial, l, tasks, b, budgets, runs[k], record.Time, tokens)
			}
		}
	}
}

// TestUniformNeedsTasksAndBudgets refuses what is no evaluation.
func TestUniformNeedsTasksAndBudgets(t *testing.T) {
	s := virtual.Settings{Replicas: 1, Window: 1, Lengths: func(controller.ID) (int, int) { return 1, 1 }}
	for _, c := range []struct {
		tasks   int
		budgets []int
	}{{0, []int{1}}, {1, nil}, {1, []int{2, 0}}} {
		if runs, err := virtual.Uniform(t.Context(), s, c.tasks, c.budgets); err == nil {
			t.Errorf("%d tasks at %d: %v", c.tasks, c.budgets, runs)
		}
	}
	if _, err := virtual.Uniform(t.Context(), virtual.Settings{}, 1, []int{1}); err == nil {
		t.Error("a worker without replicas is none")
	}
}
