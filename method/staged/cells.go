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

// eachCell visits the cells that have tasks with weight left, with the places of these among
// the open tasks.
func (a *Ahead) eachCell(visit func(c *Cell, from, to int)) {
	from, task := 0, 0
	for c := range a.cells {
		task += a.cells[c].Tasks
		to, _ := slices.BinarySearch(a.open, task)
		if to > from {
			visit(&a.cells[c], from, to)
		}
		from = to
	}
}

// least is the number of rollouts that must be left.
func (a *Ahead) least() int {
	if a.cells == nil {
		return len(a.open) * a.allocator.Least
	}
	sum := 0
	a.eachCell(func(c *Cell, from, to int) { sum += max(c.Least, (to-from)*a.allocator.Least) })
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
	type part struct {
		*Cell
		from, to int
	}
	var free, short []part
	a.eachCell(func(c *Cell, from, to int) { free = append(free, part{c, from, to}) })
	left := a.left
	for {
		a.others = a.others[:0]
		for _, p := range free {
			a.others = append(a.others, scores[p.from:p.to]...)
		}
		all, err := a.allocator.Allocate(a.others, left)
		if err != nil {
			return nil, err
		}
		still := free[:0]
		short = short[:0]
		for _, p := range free {
			own, sum := all[:p.to-p.from], 0
			all = all[p.to-p.from:]
			for _, n := range own {
				sum += n
			}
			if sum < p.Least {
				short = append(short, p)
				continue
			}
			still = append(still, p)
			copy(a.divided[p.from:], own)
		}
		if len(short) == 0 {
			return a.divided[:len(scores)], nil
		}
		free = still
		for _, p := range short {
			own, err := a.allocator.Allocate(scores[p.from:p.to], p.Least)
			if err != nil {
				return nil, err
			}
			copy(a.divided[p.from:], own)
			left -= p.Least
		}
	}
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
