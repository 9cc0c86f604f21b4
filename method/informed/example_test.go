package informed_test

import (
	"fmt"

	"speceval/method/informed"
	"speceval/method/staged"
)

// An evaluation of four tasks, of which an earlier run is known, in a pilot and two
// further stages.
func Example() {
	prior, err := informed.New(4, []informed.Donor{
		{Name: "last month", Passes: []int{16, 9, 0, 15}, Rollouts: []int{16, 16, 16, 16}},
	})
	if err != nil {
		panic(err)
	}
	stages, err := staged.New(4, 8, staged.Plan{Pilots: 1, Weight: 0.1, Fractions: []float64{0.4, 1}})
	if err != nil {
		panic(err)
	}
	post, scores := prior.Posterior(), make([]float64, 4)
	for _, passes := range [][]int{{1, 0, 0, 1}, {1, 3, 0, 2}, {3, 5, 1, 3}} {
		sizes := stages.Sizes()
		fmt.Println(sizes)
		for i, n := range sizes {
			passes[i] = min(passes[i], n)
		}
		if err := stages.Observe(passes); err != nil {
			panic(err)
		}
		if stages.Done() {
			break
		}
		if err := post.Observe(sizes, passes); err != nil {
			panic(err)
		}
		post.Scores(scores)
		if err := stages.Decide(scores); err != nil {
			panic(err)
		}
	}
	fmt.Printf("%.3f\n", stages.Mean())
	// Output:
	// [1 1 1 1]
	// [2 5 2 3]
	// [4 6 2 4]
	// 0.579
}
