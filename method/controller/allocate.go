package controller

import "speceval/method/neyman"

// Allocate is the final allocation: so many continuations in all, divided among
// the tasks by the posterior of a complete pilot (paper, Eqs. 6 to 8). The
// posterior is that of the pilot's size, and successes are by task.
func Allocate(posterior *neyman.Posterior, work *neyman.Work, pilots int, successes []int, total int) ([]int, error) {
	counts := make([]int, pilots+1)
	for _, s := range successes {
		counts[s]++
	}
	scores := posterior.Scores(counts, work)
	variances := make([]float64, len(successes))
	for i, s := range successes {
		variances[i] = scores.At(s)
	}
	return neyman.Allocate(variances, total)
}
