package design_test

import (
	"context"
	"fmt"

	"speceval/method/design"
	"speceval/method/neyman"
)

// The design for 100 tasks and 32 rollouts a task on average, and the standard
// error that it promises of a benchmark whose tasks are as the prior expects.
func Example() {
	d, err := design.Compute(context.Background(), design.Settings{Tasks: 100, Budget: 32})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d pilots of every task, then %d continuations among them\n", d.Pilots, d.Tasks*(d.Budget-d.Pilots))
	fmt.Printf("the pilot weighs %.2f\n", d.Weight)
	fmt.Printf("%.2f of Uniform's variance, standard error %.4f\n", d.Risk, d.StandardError(neyman.MeanVariance))
	// Output:
	// 10 pilots of every task, then 2200 continuations among them
	// the pilot weighs 0.29
	// 0.91 of Uniform's variance, standard error 0.0049
}

// The risk of every pilot size at a small budget: few pilots say little of where
// the variance is, many leave little to give.
func ExampleCurve() {
	curve, err := design.Curve(context.Background(), design.Settings{Tasks: 50, Budget: 6})
	if err != nil {
		panic(err)
	}
	for _, d := range curve {
		fmt.Printf("m = %d: w = %.2f, risk %.3f\n", d.Pilots, d.Weight, d.Risk)
	}
	// Output:
	// m = 1: w = 0.17, risk 0.992
	// m = 2: w = 0.33, risk 0.981
	// m = 3: w = 0.49, risk 0.978
	// m = 4: w = 0.66, risk 0.986
	// m = 5: w = 0.83, risk 1.000
}
