package systems

import (
	"fmt"

	"speceval/internal/policy"
	"speceval/internal/variance"
)

// Schedule is the pilot size m of HBN's ex-ante design for a number of tasks
// and a budget; the error says that there is none.
type Schedule func(tasks, budget int) (pilots int, err error)

// Computed is the schedule of the designs that the replay stage has selected.
// It is an error if they select two pilot sizes for the same.
func Computed(designs []variance.Design) (Schedule, error) {
	type shape struct{ tasks, budget int }
	selected := map[shape]int{}
	for _, d := range designs {
		if d.Policy != policy.HBN.Name || !d.Selected {
			continue
		}
		at := shape{int(d.NTasks), int(d.Budget)}
		if m, twice := selected[at]; twice {
			return nil, fmt.Errorf("two designs are selected for %d tasks at budget %d, m = %d and m = %d: run `speceval run replay --force`", at.tasks, at.budget, m, d.M)
		}
		selected[at] = int(d.M)
	}
	return func(tasks, budget int) (int, error) {
		m, ok := selected[shape{tasks, budget}]
		if !ok {
			return 0, fmt.Errorf("no design for %d tasks at budget %d: run `speceval run replay` first", tasks, budget)
		}
		return m, nil
	}, nil
}
