package systems_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"speceval/internal/coupled"
	"speceval/internal/profile"
	"speceval/method/neyman"
	"speceval/stages/systems"
)

// A task that every pilot rollout passes or fails gets no more continuations
// than one that varies, and tasks with equal pilots share theirs evenly, odd
// ones to the first.
func TestAllocationFavoursTasksThatVary(t *testing.T) {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	p := profile.Profile{Benchmark: "b", Model: "m", TestedK: 1000}
	for i := range 40 {
		p.TaskIDs = append(p.TaskIDs, fmt.Sprint(i))
		p.PassCounts = append(p.PassCounts, []int{0, 1000, 500, 300}[i%4])
	}
	rewards := coupled.NewRewards(p, p.SHA256(), 1)
	for budget := 7; budget <= 20; budget++ {
		const pilots = 6
		allocation, err := systems.Allocation(prior, rewards, pilots, budget)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, l := range allocation {
			total += l
		}
		if total != p.N()*(budget-pilots) || slices.Min(allocation) < 1 {
			t.Errorf("b=%d: allocation %v of %d", budget, allocation, total)
		}
		for i, a := range rewards.Pilot(pilots) {
			for j, b := range rewards.Pilot(pilots) {
				if a == b && i < j && (allocation[i] < allocation[j] || allocation[i] > allocation[j]+1) {
					t.Errorf("b=%d: tasks %d and %d with %d successes have %d and %d", budget, i, j, a, allocation[i], allocation[j])
				}
				if a%pilots == 0 && b == pilots/2 && allocation[i] > allocation[j] {
					t.Errorf("b=%d: sure task %d has %d, varying task %d %d", budget, i, allocation[i], j, allocation[j])
				}
			}
		}
	}
}

func TestAllocationNeedsAPilotWithinTheBudget(t *testing.T) {
	prior, err := neyman.NewPrior(2)
	if err != nil {
		t.Fatal(err)
	}
	p := profile.Profile{Benchmark: "b", Model: "m", TestedK: 4, TaskIDs: []string{"x", "y"}, PassCounts: []int{1, 2}}
	rewards := coupled.NewRewards(p, p.SHA256(), 1)
	for _, c := range [][2]int{{0, 8}, {8, 8}, {9, 8}, {-1, 8}, {1, 1}} {
		if _, err := systems.Allocation(prior, rewards, c[0], c[1]); err == nil || !strings.Contains(err.Error(), "does not fit a budget") {
			t.Errorf("m=%d b=%d: error %v", c[0], c[1], err)
		}
	}
	if allocation, err := systems.Allocation(prior, rewards, 7, 8); err != nil || !slices.Equal(allocation, []int{1, 1}) {
		t.Errorf("m=7 b=8: %v, %v", allocation, err)
	}
}
