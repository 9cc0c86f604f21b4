package estimate_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"speceval/method/estimate"
	"speceval/method/neyman"
)

// Ten tasks after a pilot of 4 rollouts each, and continuations of which the one that
// the model is unsure of had most: 8 rollouts on average.
func ExampleOf() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		fmt.Println(err)
		return
	}
	const weight = 0.4 // of the pilot
	unsure := estimate.Task{Stages: []estimate.Stage{estimate.Binary(4, 2, weight), estimate.Binary(22, 12, 1-weight)}}
	tasks := []estimate.Task{unsure}
	for range 9 {
		tasks = append(tasks, estimate.Task{Stages: []estimate.Stage{estimate.Binary(4, 4, weight), estimate.Binary(2, 2, 1-weight)}})
	}
	mean, err := estimate.Of(prior, tasks)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f ± %.3f, 95%% interval %.3f to %.3f\n", mean.Value, mean.StandardError, mean.Low, mean.High)
	u := mean.Uniform
	fmt.Printf("Uniform needs %.1f rollouts per task for this error, %.1f to %.1f\n", u.Value, u.Low, u.High)
	if u.Verdict(8) == 0 {
		fmt.Println("whether that is more than the 8 that were spent cannot be said")
	}
	// Output:
	// 0.953 ± 0.018, 95% interval 0.901 to 0.978
	// Uniform needs 14.5 rollouts per task for this error, 4.8 to 43.7
	// whether that is more than the 8 that were spent cannot be said
}

// What a second evaluation at twice the budget would come to, by what the first has
// found.
func ExamplePredict() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		fmt.Println(err)
		return
	}
	observed, passed := []int{8, 8, 8, 8, 8, 8}, []int{8, 8, 4, 0, 0, 8}
	earlier, err := prior.Update(observed, passed)
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := estimate.Predict(prior, earlier.Mixture(), estimate.Plan{Budget: 16, Pilots: 6, Weight: 0.35}, 1000, rand.NewPCG(1, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f, by Uniform %.3f\n", f.StandardError, f.Uniform)
	// Output: 0.021, by Uniform 0.023
}

// Two models on the same tasks, and whether they were told apart.
func ExampleMean_Minus() {
	a := estimate.Mean{Value: 0.62, StandardError: 0.012, Low: 0.596, High: 0.643}
	b := estimate.Mean{Value: 0.58, StandardError: 0.011, Low: 0.558, High: 0.601}
	d := a.Minus(b)
	fmt.Printf("%.3f ± %.3f, 95%% interval %.3f to %.3f\n", d.Value, d.StandardError, d.Low, d.High)
	fmt.Printf("such errors find a difference of %.3f four times in five\n", estimate.Resolved(d.StandardError))
	budgets := d.Budgets([2]int{8, 16}, 0.03)
	fmt.Printf("one of 0.03 takes %d and %d rollouts per task, where it was 8 and 16\n", budgets[0], budgets[1])
	// Output:
	// 0.040 ± 0.016, 95% interval 0.008 to 0.072
	// such errors find a difference of 0.046 four times in five
	// one of 0.03 takes 19 and 37 rollouts per task, where it was 8 and 16
}

// The least budget for a benchmark of 100 tasks at which two models that differ by
// 0.03 are resolved, before any rollout.
func ExamplePlanner_Least() {
	planner := estimate.Planner{Tasks: 100, Seed: 1}
	e, err := planner.Least(context.Background(), estimate.ResolvingEach(0.03))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d rollouts per task, %d of them in the pilot: a standard error of %.4f\n", e.Budget, e.Pilots, e.StandardError)
	fmt.Printf("Uniform needs %d\n", e.UniformBudget)
	// Output:
	// 14 rollouts per task, 5 of them in the pilot: a standard error of 0.0075
	// Uniform needs 15
}
