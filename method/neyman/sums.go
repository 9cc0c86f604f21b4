package neyman

// Sum is a number that follows from the probabilities of all tasks: Σ P·p + V·p(1−p),
// with coefficients by task. nil stands for zeros.
type Sum struct{ P, V []float64 }

// ignored is a share of the hyperposterior that no expectation would miss.
const ignored = 1e-12

// Joint returns the expectations of some sums and their covariances.
func (m Mixture) Joint(sums ...Sum) (means []float64, covariances [][]float64) {
	means, covariances = make([]float64, len(sums)), make([][]float64, len(sums))
	for j := range sums {
		covariances[j] = make([]float64, len(sums))
	}
	var nodes []int
	var given [][]float64 // expectations of the sums given each node
	for k, weight := range m.Weights {
		if weight < ignored {
			continue
		}
		own := make([]float64, len(sums))
		for i := range m.Tasks {
			a, b := m.Shapes(k, i)
			beta{a, b}.add(i, weight, sums, own, covariances)
		}
		for j := range sums {
			means[j] += weight * own[j]
		}
		nodes, given = append(nodes, k), append(given, own)
	}
	for at, k := range nodes {
		for j := range sums {
			for l := range sums {
				covariances[j][l] += m.Weights[k] * (given[at][j] - means[j]) * (given[at][l] - means[l])
			}
		}
	}
	return means, covariances
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

// add adds a task that has the law to the expectations of sums, and, times a weight, to
// their covariances.
func (d beta) add(task int, weight float64, sums []Sum, means []float64, covariances [][]float64) {
	p, v, pp, pv, vv := d.moments()
	for j, s := range sums {
		sp, sv := s.at(task)
		means[j] += sp*p + sv*v
		for l, t := range sums {
			tp, tv := t.at(task)
			covariances[j][l] += weight * (sp*tp*pp + (sp*tv+sv*tp)*pv + sv*tv*vv)
		}
	}
}

// moments are the expectations of p and of v = p(1−p), the variance of p, the covariance
// of p and v, and the variance of v.
func (d beta) moments() (p, v, pp, pv, vv float64) {
	a, b, t := d.a, d.b, d.a+d.b
	p, v = a/t, a*b/(t*(t+1))
	return p, v, v / t, v * (b - a) / (t * (t + 2)), v * ((a+1)*(b+1)/((t+2)*(t+3)) - v)
}
