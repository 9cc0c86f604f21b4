package tsneyman

import (
	"math"
	"math/bits"

	"speceval/internal/seed"
)

// block is the number of tasks whose hazards are summed together.
const block = 8

// masses are the hazards of the cells of a window, of one task or of several.
type masses [levels]uint64

// race holds the hazards of all tasks in the window that is looked at, and draws
// which task has the largest score.
type race struct {
	table    *table
	ziggurat *ziggurat
	random   seed.Stream
	window   int32
	at       []int32  // row of each task
	beside   []int32  // the same, while the window moves
	tasks    []masses // of each task; zero for those that fill up the last block
	blocks   []masses
	total    masses
	points   []point
	tied     []int32
}

// point is a point of the process of a task, given by the hazard between it and
// the upper end of its cell.
type point struct {
	task   int32
	hazard uint64
}

// resize makes room for a number of tasks.
func (r *race) resize(n int) {
	if n == len(r.at) {
		return
	}
	r.at, r.beside = make([]int32, n), make([]int32, n)
	r.blocks = make([]masses, (n+block-1)/block)
	r.tasks = make([]masses, block*len(r.blocks))
}

// change gives a task another row of the same window.
func (r *race) change(task int, row int32) {
	r.at[task] = row
	now, old, sum := &r.table.rows[row].mass, &r.tasks[task], &r.blocks[task/block]
	for l := range now {
		d := now[l] - old[l] // may wrap, and so do the sums: they are right in the end
		r.total[l] += d
		sum[l] += d
	}
	*old = *now
}

// sum adds up the hazards of all tasks.
func (r *race) sum() {
	r.total = masses{}
	for b := range r.blocks {
		sum := masses{}
		for i := range r.tasks[block*b : block*(b+1)] {
			for l, m := range &r.tasks[block*b+i] {
				sum[l] += m
			}
		}
		r.blocks[b] = sum
		for l, m := range &sum {
			r.total[l] += m
		}
	}
}

// winner draws the task with the largest score.
func (r *race) winner() int32 {
	e := r.ziggurat.draw(&r.random)
	sum, cell := r.total[0], 0
	for e >= sum {
		if cell++; cell == levels {
			return r.beyond()
		}
		sum += r.total[cell]
	}
	first := r.owner(cell)
	if e += r.ziggurat.draw(&r.random); e >= sum {
		return first.task // the only point of the cell
	}
	r.points = append(r.points[:0], first)
	same := true
	for e < sum {
		p := r.owner(cell)
		r.points = append(r.points, p)
		same = same && r.at[p.task] == r.at[first.task]
		e += r.ziggurat.draw(&r.random)
	}
	if same {
		return first.task // by symmetry
	}
	return r.top(cell)
}

// owner draws a point of a cell: a task in proportion to its hazard there, and a
// uniform place in that hazard. It looks at all blocks, and at all tasks of one,
// without a branch that could be guessed wrongly.
func (r *race) owner(cell int) point {
	if cell >= levels {
		return point{}
	}
	at, _ := bits.Mul64(r.random.Uint64(), r.total[cell])
	var sum, below, i uint64
	for b := range r.blocks {
		m := r.blocks[b][cell]
		sum += m
		_, before := bits.Sub64(at, sum, 0)
		below += m & (before - 1)
		i += 1 - before
	}
	at -= below
	sum, below = 0, 0
	i *= block
	tasks := (*[block]masses)(r.tasks[i:])
	for b := range tasks {
		m := tasks[b][cell]
		sum += m
		_, before := bits.Sub64(at, sum, 0)
		below += m & (before - 1)
		i += 1 - before
	}
	return point{int32(i), at - below}
}

// top is the owner of the top one of several points of a cell.
func (r *race) top(cell int) int32 {
	best, same := parts, true
	r.tied = r.tied[:0]
	for _, p := range r.points {
		j := r.table.split(r.at[p.task], cell).part(p.hazard)
		switch {
		case j < best:
			best, same = j, true
			r.tied = append(r.tied[:0], p.task)
		case j == best && !contains(r.tied, p.task):
			r.tied = append(r.tied, p.task)
			same = same && r.at[p.task] == r.at[r.tied[0]]
		}
	}
	if same {
		return r.tied[0] // alone, or by symmetry
	}
	return r.among(cell, best)
}

func contains(tasks []int32, task int32) bool {
	for _, t := range tasks {
		if t == task {
			return true
		}
	}
	return false
}

// among draws the scores of the tasks that are known to have theirs in one part
// of a cell, and returns the task with the largest. Equal scores, which have
// probability 0 but for rounding, are the lower index's.
func (r *race) among(cell, part int) int32 {
	high, low := r.table.windows[r.window].bounds(cell, part)
	best, selected := math.Inf(1), int32(0)
	for _, i := range r.tied {
		p := &r.table.rows[r.at[i]].posterior
		depth := p.depthWithin(high, low, r.table.split(r.at[i], cell).flat[part], &r.random)
		if depth < best || depth == best && i < selected {
			best, selected = depth, i
		}
	}
	return selected
}

// beyond returns the task with the largest score if all are below the window.
func (r *race) beyond() int32 {
	end := r.table.windows[r.window].depth[levels-1]
	best, selected := math.Inf(1), int32(0)
	for i := range r.at {
		p := &r.table.rows[r.at[i]].posterior
		depth := 0.0
		for depth <= end {
			depth = (p.logGain - logVariance(p.a, p.b, &r.random)) / math.Ln2
		}
		if depth < best {
			best, selected = depth, int32(i)
		}
	}
	return selected
}
