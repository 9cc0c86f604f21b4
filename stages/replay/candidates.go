package replay

// candidate is a pilot size at a budget, both in rollouts per task.
type candidate struct{ budget, m int }

// candidates are all pilot sizes m = 1, …, b−1 of every budget b, in that order.
type candidates []candidate

func allCandidates(budgets []int) candidates {
	var cs candidates
	for _, b := range budgets {
		for m := 1; m < b; m++ {
			cs = append(cs, candidate{b, m})
		}
	}
	return cs
}

// longestPilot is the largest pilot size of all candidates.
func (cs candidates) longestPilot() int {
	longest := 0
	for _, c := range cs {
		longest = max(longest, c.m)
	}
	return longest
}

// largestBudget is the largest budget of all candidates.
func (cs candidates) largestBudget() int {
	largest := 0
	for _, c := range cs {
		largest = max(largest, c.budget)
	}
	return largest
}

// withPilot returns the indices of the candidates with pilot size m.
func (cs candidates) withPilot(m int) []int {
	var which []int
	for k, c := range cs {
		if c.m == m {
			which = append(which, k)
		}
	}
	return which
}
