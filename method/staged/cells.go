package staged

import (
	"errors"
	"fmt"
	"slices"
)

// Cell is tasks that stand next to one another, such as a benchmark of a suite, with a floor.
type Cell struct {
	Tasks int `json:"n_tasks"`
	Least int `json:"floor"` // rollouts that they have in all stages together, at least
}

// eachCell visits the cells by their numbers, with the places of their tasks among the open
// ones.
func (a *Ahead) eachCell(visit func(c, from, to int)) {
	from, task := 0, 0
	for c, cell := range a.cells {
		task += cell.Tasks
		to, _ := slices.BinarySearch(a.open, task)
		visit(c, from, to)
		from = to
	}
}

// least is the number of rollouts that must be left.
func (a *Ahead) least() int {
	if a.cells == nil {
		return len(a.open) * a.allocator.Least
	}
	sum := 0
	a.eachCell(func(c, from, to int) { sum += max(a.cells[c].Least, (to-from)*a.allocator.Least) })
	return sum
}

// divide divides what is left among the open tasks by their scores. A cell that would have
// less than its floor has its floor, and the others divide the rest, until none has less.
// That is the optimum above the floors: every floor takes rollouts from the others, so that a
// cell that was below its floor stays there.
func (a *Ahead) divide(scores []float64) ([]int, error) {
	if a.cells == nil {
		return a.allocator.Allocate(scores, a.left)
	}
	left, raised := a.left, make([]bool, len(a.cells))
	for again := true; again; {
		a.others = a.others[:0]
		a.eachCell(func(c, from, to int) {
			if !raised[c] {
				a.others = append(a.others, scores[from:to]...)
			}
		})
		all, err := a.allocator.Allocate(a.others, left)
		if err != nil {
			return nil, err
		}
		again = false
		a.eachCell(func(c, from, to int) {
			if raised[c] {
				return
			}
			short := a.cells[c].Least
			for i := from; i < to; i++ {
				a.divided[i], all = all[0], all[1:]
				short -= a.divided[i]
			}
			if short > 0 {
				raised[c], again = true, true
				left -= a.cells[c].Least
			}
		})
	}
	var faults error
	a.eachCell(func(c, from, to int) {
		if raised[c] {
			own, err := a.allocator.Allocate(scores[from:to], a.cells[c].Least)
			faults = errors.Join(faults, err)
			copy(a.divided[from:to], own)
		}
	})
	return a.divided[:len(scores)], faults
}

// spend counts the rollouts of all tasks toward the floors of their cells.
func (a *Ahead) spend(sizes []int) {
	for c := range a.cells {
		for _, n := range sizes[:a.cells[c].Tasks] {
			a.cells[c].Least -= n
		}
		sizes = sizes[a.cells[c].Tasks:]
	}
}

func (p Plan) checkCells(tasks, budget int) error {
	if p.Cells == nil {
		return nil
	}
	for _, c := range p.Cells {
		if c.Tasks < 1 || c.Least < 0 || c.Least > c.Tasks*budget {
			return fmt.Errorf("staged: a cell of %d tasks with a floor of %d rollouts: want 1 task or more, and 0 to %d rollouts for each", c.Tasks, c.Least, budget)
		}
		tasks -= c.Tasks
	}
	switch {
	case tasks != 0:
		return fmt.Errorf("staged: cells with %d tasks fewer than there are: want each task in one", tasks)
	case p.Rounds > 0:
		return errors.New("staged: cells and rounds, want one of the two")
	}
	return nil
}
