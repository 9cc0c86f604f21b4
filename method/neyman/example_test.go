package neyman_test

import (
	"fmt"

	"speceval/method/neyman"
)

// A pilot of four rollouts of each of six tasks, and what comes of it: expected
// variances, and an allocation of 24 further rollouts.
func Example() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		panic(err)
	}
	const pilots = 4
	successes := []int{0, 4, 2, 0, 3, 4}
	counts := make([]int, pilots+1) // tasks by successes
	for _, s := range successes {
		counts[s]++
	}
	posterior := prior.Pilot(pilots).Scores(counts, prior.NewWork())
	var scores []float64
	for _, s := range successes {
		scores = append(scores, posterior.At(s))
	}
	fmt.Printf("scores     %.3f\n", scores)

	allocation, err := neyman.Allocate(scores, 24)
	if err != nil {
		panic(err)
	}
	fmt.Println("allocation", allocation)
	// Output:
	// scores     [0.066 0.061 0.207 0.066 0.170 0.061]
	// allocation [3 3 6 3 6 3]
}

// The allocation that is best where the true variances are known, and what it is
// worth against three rollouts of every task.
func ExampleVarianceRatio() {
	probabilities := []float64{0.5, 0.02, 0.98, 0.3}
	var variances []float64
	for _, p := range probabilities {
		variances = append(variances, p*(1-p))
	}
	const budget = 3
	allocation, err := neyman.Allocate(variances, budget*len(variances))
	if err != nil {
		panic(err)
	}
	fmt.Println(allocation)
	fmt.Printf("%.3f of Uniform's variance\n", neyman.VarianceRatio(variances, allocation, budget))
	// Output:
	// [5 1 1 5]
	// 0.788 of Uniform's variance
}
