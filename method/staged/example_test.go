package staged_test

import (
	"fmt"

	"speceval/method/neyman"
	"speceval/method/staged"
)

// An evaluation of three tasks in three stages, scored by the reference prior. The
// task that is solved at times gets most of the rollouts.
func Example() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		panic(err)
	}
	const tasks, budget = 3, 8
	s, err := staged.New(tasks, budget, staged.Plan{Pilots: 2, Weight: 0.2, Fractions: []float64{0.4, 1}})
	if err != nil {
		panic(err)
	}
	partial, work := prior.Partial(budget), prior.NewWork()
	observed, successes, scores := make([]int, tasks), make([]int, tasks), make([]float64, tasks)
	for {
		var passes []int
		for i, n := range s.Sizes() {
			passes = append(passes, []int{n, n / 2, 0}[i]) // what a model would have made of them
			observed[i] += n
			successes[i] += passes[i]
		}
		fmt.Printf("%v rollouts of %v, weights %.2f\n", s.Sizes(), s.Shares(), s.Weights())
		if err := s.Observe(passes); err != nil {
			panic(err)
		}
		if s.Done() {
			break
		}
		partial.Scores(observed, successes, work, scores)
		if err := s.Decide(scores); err != nil {
			panic(err)
		}
	}
	fmt.Printf("estimate %.3f\n", s.Mean())
	// Output:
	// [2 2 2] rollouts of [8 8 8], weights [0.20 0.20 0.20]
	// [2 3 2] rollouts of [5 7 6], weights [0.32 0.34 0.27]
	// [3 5 3] rollouts of [3 5 3], weights [0.48 0.46 0.53]
	// estimate 0.466
}
