package speed

import (
	"errors"

	"gonum.org/v1/gonum/mat"
)

// solve is the least squares of the rows, with no coefficient below 0: the most
// negative one, in the time that it stands for, is taken as 0 until there is none.
func solve(rows []row) (coefficients, error) {
	var totals [terms]float64
	for _, r := range rows {
		for i, f := range r.factors {
			totals[i] += f
		}
	}
	free := []int{}
	for i, total := range totals {
		if total > 0 { // prompts may have no tokens
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		values, err := squares(rows, free)
		if err != nil {
			return coefficients{}, err
		}
		worst, at := 0.0, -1
		for i, v := range values {
			if share := v * totals[free[i]]; share < worst {
				worst, at = share, i
			}
		}
		if at < 0 {
			var c coefficients
			for i, v := range values {
				c[free[i]] = v
			}
			return c, nil
		}
		free = append(free[:at:at], free[at+1:]...)
	}
	return coefficients{}, errors.New("the requests took no time")
}

// squares are the coefficients of the free terms, the others being 0, without
// bounds.
func squares(rows []row, free []int) ([]float64, error) {
	design, target := mat.NewDense(len(rows), len(free), nil), mat.NewVecDense(len(rows), nil)
	for i, r := range rows {
		for j, term := range free {
			design.Set(i, j, r.factors[term])
		}
		target.SetVec(i, r.duration)
	}
	var solution mat.VecDense
	if err := solution.SolveVec(design, target); err != nil {
		return nil, errors.New("the requests are too much alike to say how fast a replica is: answers of several lengths are needed, and times with fewer of them")
	}
	return solution.RawVector().Data, nil
}
