package neyman

// Sum is a number that follows from the probabilities of all tasks: Σ P·p + V·p(1−p),
// with coefficients by task. nil stands for zeros.
type Sum struct{ P, V []float64 }

// ignored is a share of the hyperposterior that no expectation would miss.
const ignored = 1e-12

// Joint returns the posterior expectations of some sums and their covariances: over
// the hyperposterior, and over the tasks given each of its nodes, where these are
// independent.
func (u *Update) Joint(sums ...Sum) (means []float64, covariances [][]float64) {
	means, covariances = make([]float64, len(sums)), make([][]float64, len(sums))
	for j := range sums {
		covariances[j] = make([]float64, len(sums))
	}
	var nodes []int
	var given [][]float64 // expectations of the sums given each node
	for k, weight := range u.weights {
		if weight < ignored {
			continue
		}
		m := u.given(k, sums, covariances)
		for j := range sums {
			means[j] += weight * m[j]
		}
		nodes, given = append(nodes, k), append(given, m)
	}
	for at, k := range nodes {
		for j := range sums {
			for l := range sums {
				covariances[j][l] += u.weights[k] * (given[at][j] - means[j]) * (given[at][l] - means[l])
			}
		}
	}
	return means, covariances
}

// given returns the expectations of the sums given a node, and adds their covariances
// given it, times its weight.
func (u *Update) given(node int, sums []Sum, covariances [][]float64) []float64 {
	means := make([]float64, len(sums))
	for i, n := range u.observed {
		b := beta{u.prior.a[node] + u.successes[i], u.prior.b[node] + float64(n) - u.successes[i]}
		p, v, pp, pv, vv := b.moments()
		for j, s := range sums {
			sp, sv := s.at(i)
			means[j] += sp*p + sv*v
			for l, t := range sums {
				tp, tv := t.at(i)
				covariances[j][l] += u.weights[node] * (sp*tp*pp + (sp*tv+sv*tp)*pv + sv*tv*vv)
			}
		}
	}
	return means
}

// at is the coefficients of a task.
func (s Sum) at(task int) (p, v float64) {
	if s.P != nil {
		p = s.P[task]
	}
	if s.V != nil {
		v = s.V[task]
	}
	return p, v
}

// beta is the law Beta(a, b) of a p.
type beta struct{ a, b float64 }

// moments are the expectations of p and of v = p(1−p), the variance of p, the covariance
// of p and v, and the variance of v.
func (d beta) moments() (p, v, pp, pv, vv float64) {
	a, b, t := d.a, d.b, d.a+d.b
	p, v = a/t, a*b/(t*(t+1))
	return p, v, v / t, v * (b - a) / (t * (t + 2)), v * ((a+1)*(b+1)/((t+2)*(t+3)) - v)
}
