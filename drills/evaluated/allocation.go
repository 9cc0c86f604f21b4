package evaluated

import (
	"fmt"
	"slices"

	"speceval/method/neyman"
)

// CheckAllocation holds the continuations of a result to the exact Neyman
// allocation by the scores of its pilot (paper, Eqs. 7 and 8). Which of several
// tasks with the same pilot gets an odd rollout is the program's choice.
func CheckAllocation(r *Result, prior *neyman.Prior) error {
	counts := make([]int, r.Design.Pilots+1)
	for _, t := range r.Rows {
		counts[t.PilotPasses]++
	}
	by := prior.Pilot(r.Design.Pilots).Scores(counts, prior.NewWork())
	scores, total := make([]float64, len(r.Rows)), 0
	for i, t := range r.Rows {
		scores[i] = by.At(t.PilotPasses)
		total += t.Continuations
	}
	want, err := neyman.Allocate(scores, total)
	if err != nil {
		return err
	}
	has, should := make([][]int, len(counts)), make([][]int, len(counts)) // by pilot passes
	for i, t := range r.Rows {
		has[t.PilotPasses] = append(has[t.PilotPasses], t.Continuations)
		should[t.PilotPasses] = append(should[t.PilotPasses], want[i])
	}
	for passes := range counts {
		slices.Sort(has[passes])
		slices.Sort(should[passes])
		if !slices.Equal(has[passes], should[passes]) {
			return fmt.Errorf("tasks with %d of %d pilot passes have continuations of %v, want %v", passes, r.Design.Pilots, has[passes], should[passes])
		}
	}
	return nil
}
