package report

import "speceval/internal/variance"

// evidence is the stored results that cells are taken apart with. Each is read
// when it is first asked for, and once.
type evidence struct {
	out      string // the output folder
	in       locate
	settings Settings

	results    once[Results]
	costs      once[Costs]
	candidates once[[]variance.Ratio]
	errors     once[profileErrors]
	paired     once[differences]
	search     once[[]variance.Search]
	cells      once[[]Cell]
}

// once is a value that is made when it is first asked for.
type once[T any] struct {
	made  bool
	value T
	err   error
}

func (o *once[T]) get(make func() (T, error)) (T, error) {
	if !o.made {
		o.made = true
		o.value, o.err = make()
	}
	return o.value, o.err
}

func (e *evidence) replay() (Results, error) {
	return e.results.get(func() (Results, error) { return readResults(e.in) })
}

func (e *evidence) runs() (Costs, error) {
	return e.costs.get(func() (Costs, error) {
		costs, err := readCosts(e.in, e.settings)
		if err != nil {
			return costs, err
		}
		costs.Results, err = e.replay()
		return costs, err
	})
}

func (e *evidence) strengths() ([]variance.Ratio, error) {
	return e.candidates.get(func() ([]variance.Ratio, error) { return readRatios(e.in, variance.CandidatesFile) })
}

func (e *evidence) redrawn() (profileErrors, error) {
	return e.errors.get(func() (profileErrors, error) {
		rows, err := readErrors(e.in)
		return newProfileErrors(rows), err
	})
}

func (e *evidence) differences() (differences, error) {
	return e.paired.get(func() (differences, error) {
		rows, err := readDifferences(e.in)
		return newDifferences(rows), err
	})
}

func (e *evidence) searched() ([]variance.Search, error) {
	return e.search.get(func() ([]variance.Search, error) { return readSearch(e.in) })
}

// verdicts are all comparisons with the paper and with predictions.
func (e *evidence) verdicts() ([]Cell, error) {
	return e.cells.get(func() ([]Cell, error) {
		if !e.settings.judged() {
			return nil, nil
		}
		v, err := Verify(e.out, e.settings.Targets)
		return v.Cells, err
	})
}
