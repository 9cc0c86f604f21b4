package informed

import (
	"math/rand/v2"
	"testing"
)

// TestKindsAreTheTasksThatAreAlike refines kinds in a table so full that most places
// are taken: tasks are of one kind if and only if all that was seen of them is the same.
func TestKindsAreTheTasksThatAreAlike(t *testing.T) {
	const tasks = 14
	random := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		k, table := taskGroups{of: make([]int32, tasks)}, make([]int32, 16)
		seen, level := make([][4]int, tasks), make([]int32, tasks)
		for i := range tasks {
			level[i] = int32(random.IntN(2))
			seen[i][0] = int(level[i])
		}
		k.ready(level, 2)
		for step := range 2 {
			more, passed := make([]int, tasks), make([]int, tasks)
			var changed []int32
			for i := range tasks {
				more[i] = random.IntN(3)
				passed[i] = random.IntN(more[i] + 1)
				if more[i] > 0 {
					changed = append(changed, int32(i))
				}
				seen[i][1+step] = more[i]*10 + passed[i]
			}
			k.refine(changed, more, passed, table)
			k.settle()
		}
		for i := range tasks {
			for j := range i {
				if (k.of[i] == k.of[j]) != (seen[i] == seen[j]) {
					t.Fatalf("tasks of %v and %v are of kinds %d and %d", seen[i], seen[j], k.of[i], k.of[j])
				}
			}
		}
	}
}
