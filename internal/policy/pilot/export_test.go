package pilot

// Successes counts the successes of every task in a draw, from the paths.
func (s *Sweep) Successes(draw int) []int {
	successes := make([]int, len(s.variances))
	for _, task := range s.passing {
		successes[task] = s.m
	}
	for u, task := range s.uncertain {
		successes[task] = Successes(s.path(draw, u), s.m)
	}
	return successes
}
