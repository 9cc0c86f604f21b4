package exante

// Candidate is a pilot size at a budget, both in rollouts per task.
type Candidate struct{ Budget, M int }

// Candidates are pilot sizes to choose from, at one budget or several.
type Candidates []Candidate

// AllCandidates are all pilot sizes m = 1, …, b−1 of every budget b, in that
// order.
func AllCandidates(budgets []int) Candidates {
	var cs Candidates
	for _, b := range budgets {
		for m := 1; m < b; m++ {
			cs = append(cs, Candidate{b, m})
		}
	}
	return cs
}

// LongestPilot is the largest pilot size of all candidates.
func (cs Candidates) LongestPilot() int {
	longest := 0
	for _, c := range cs {
		longest = max(longest, c.M)
	}
	return longest
}

// LargestBudget is the largest budget of all candidates.
func (cs Candidates) LargestBudget() int {
	largest := 0
	for _, c := range cs {
		largest = max(largest, c.Budget)
	}
	return largest
}

// WithPilot returns the indices of the candidates with pilot size m.
func (cs Candidates) WithPilot(m int) []int {
	var which []int
	for k, c := range cs {
		if c.M == m {
			which = append(which, k)
		}
	}
	return which
}
