package neyman

// Powers are the posterior expectations of the powers of a task's p, from p^0 to p^most.
func (u *Update) Powers(task, most int) []float64 {
	n, s := float64(u.observed[task]), u.successes[task]
	powers := make([]float64, most+1)
	for k, weight := range u.weights {
		a, all := u.prior.a[k]+s, u.prior.a[k]+u.prior.b[k]+n
		for d := range powers {
			powers[d] += weight
			weight *= a / all
			a++
			all++
		}
	}
	return powers
}
