package estimate_test

import (
	"fmt"

	"speceval/method/estimate"
	"speceval/method/neyman"
)

// An agent's three tasks after a pilot of 3 rollouts and continuations of 4 at least:
// how likely it is that four further tries all pass, and that one of four does.
func Example() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks := []estimate.Task{
		{Stages: []estimate.Stage{estimate.Binary(3, 3, 0.3), estimate.Binary(4, 4, 0.7)}},
		{Stages: []estimate.Stage{estimate.Binary(3, 2, 0.3), estimate.Binary(9, 6, 0.7)}},
		{Stages: []estimate.Stage{estimate.Binary(3, 0, 0.3), estimate.Binary(4, 1, 0.7)}},
	}
	for _, q := range []estimate.Question{{K: 4, Least: 4}, {K: 4, Any: true, Least: 4}} {
		a, err := q.Of(prior, tasks)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v %.3f ± %.3f, 95%% interval %.3f to %.3f\n", q, a.Value, a.StandardError, a.Low, a.High)
	}
	// Output:
	// pass^4 0.380 ± 0.106, 95% interval 0.204 to 0.595
	// pass@4 0.899 ± 0.136, 95% interval 0.531 to 0.986
}
