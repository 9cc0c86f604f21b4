package rollout

import (
	"cmp"
	"fmt"
	"iter"
)

// Pair is the verdicts on one rollout in two files of scores. One is nil where
// its file has none.
type Pair struct{ Old, New *Score }

// Pairs reads the files of scores at two paths, of the same benchmark and model,
// side by side, as [Scores] reads each. It holds a row group of either. An error
// names the file and ends it.
func Pairs(oldPath, newPath string) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		nextOld, stopOld := iter.Pull2(Scores(oldPath))
		defer stopOld()
		nextNew, stopNew := iter.Pull2(Scores(newPath))
		defer stopNew()
		a, errA, _ := nextOld()
		b, errB, _ := nextNew()
		for a != nil || b != nil || errA != nil || errB != nil {
			pair, err := match(a, b)
			if err != nil {
				err = fmt.Errorf("%s and %s: %w", oldPath, newPath, err)
			}
			if err = cmp.Or(errA, errB, err); err != nil {
				yield(Pair{}, err)
				return
			}
			if !yield(pair, nil) {
				return
			}
			if pair.Old != nil {
				a, errA, _ = nextOld()
			}
			if pair.New != nil {
				b, errB, _ = nextNew()
			}
		}
	}
}

// match is the pair of which the first of two scores is part; nil is the end of
// a file.
func match(a, b *Score) (Pair, error) {
	switch {
	case a == nil || b == nil:
		return Pair{a, b}, nil
	case a.Benchmark != b.Benchmark || a.Model != b.Model:
		return Pair{}, fmt.Errorf("they are of %s with %s and of %s with %s", a.Benchmark, a.Model, b.Benchmark, b.Model)
	}
	switch order := a.ID().Compare(b.ID()); {
	case order < 0:
		return Pair{Old: a}, nil
	case order > 0:
		return Pair{New: b}, nil
	case a.TaskID != b.TaskID:
		return Pair{}, fmt.Errorf("task %d is %q in one and %q in the other", a.TaskIndex, a.TaskID, b.TaskID)
	}
	return Pair{a, b}, nil
}
