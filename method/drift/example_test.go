package drift_test

import (
	"fmt"

	"speceval/method/drift"
)

// Ten tasks of which 16 rollouts each are known, and a pilot of 4: most tasks are solved
// less often than they were.
func ExampleSame() {
	known := drift.Reference{Name: "last month"}
	var pilot []drift.Outcome
	for _, passes := range []int{16, 15, 12, 14, 9, 16, 11, 13, 0, 15} {
		known.Tasks = append(known.Tasks, drift.Passes(passes, 16))
		pilot = append(pilot, drift.Passes(passes/5, 4))
	}
	v, err := drift.Same([]drift.Reference{known}, pilot, drift.Settings{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := v.By[0]
	fmt.Printf("moved: %v, p = %.4f; by %.1f ± %.1f points on %d tasks\n", v.Moved, v.P, 100*c.Shift, 100*c.Error, c.Tasks)
	// Output: moved: true, p = 0.0030; by -23.1 ± 6.6 points on 10 tasks
}
