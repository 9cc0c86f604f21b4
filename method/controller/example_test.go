package controller_test

import (
	"fmt"

	"speceval/method/controller"
	"speceval/method/neyman"
)

// A whole execution of HBN-async, with places for ten rollouts at a time that
// complete out of order. What fills the places while the last pilots run are
// continuations that may be needed; those that are not are surplus in the end.
func Example() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		panic(err)
	}
	const tasks, budget, places = 5, 8, 10
	c, err := controller.New(controller.Settings{
		Policy: controller.Async, Tasks: tasks, Budget: budget, Pilots: 4, Weight: 0.45, Prior: controller.Cold(prior),
	})
	if err != nil {
		panic(err)
	}
	// A model that solves tasks 0 and 1 always, 3 and 4 never, and 2 at times.
	reward := func(id controller.ID) bool { return id.Task < 2 || id.Task == 2 && id.Ordinal%3 != 0 }

	var running []controller.ID
	rollouts := 0
	for !c.Done() {
		for len(running) < places {
			id, ok := c.Next()
			if !ok {
				break
			}
			running = append(running, id)
			rollouts++
		}
		last := len(running) - 1
		at := (3 * rollouts) % (last + 1) // any order will do
		id := running[at]
		running = append(running[:at], running[at+1:]...)
		released, err := c.Completed(id, reward(id))
		if err != nil {
			panic(err)
		}
		if released {
			fmt.Println("allocation", c.Allocation())
			running = abort(c, running)
		} else if p := c.Snapshot(); p != nil {
			c.Apply(p) // what is speculated on follows the pilots that are there
		}
	}
	fmt.Printf("%d rollouts for %d that were budgeted\n", rollouts, tasks*budget)
	fmt.Printf("estimate %.3f\n", c.Estimate())
	// Output:
	// allocation [3 3 7 4 3]
	// 41 rollouts for 40 that were budgeted
	// estimate 0.546
}

// abort ends running rollouts that are not selected, and returns the others.
func abort(c *controller.Controller, running []controller.ID) []controller.ID {
	var kept []controller.ID
	for _, id := range running {
		if !c.Surplus(id) {
			kept = append(kept, id)
			continue
		}
		if err := c.Ended(id); err != nil {
			panic(err)
		}
	}
	return kept
}
