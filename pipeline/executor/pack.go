package executor

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"speceval/pipeline/dag"
)

// piece is a unit on its way through Slurm.
type piece struct {
	task    dag.Task
	attempt int // from 1
	lost    int // attempts that ended for no fault of the unit
	minutes int // time limit that it needs; 0: as configured
	memory  int // MiB that it needs; 0: as configured, slurm.WholeNode: all of a node's
	alone   bool
	last    error // why the attempt before failed; nil of the first
}

// mostTogether bounds the units of an element: its line must fit a command.
const mostTogether = 1000

// pack puts units together in elements that take about so many seconds each. A
// unit of which nobody knows how long it takes, or that has failed before, has
// an element of its own. The others go, the longest first, each to the element
// with the least to do so far.
func pack(pieces []*piece, seconds float64) [][]*piece {
	var alone, together []*piece
	sum := 0.0
	for _, p := range pieces {
		if p.alone || p.task.Seconds <= 0 {
			alone = append(alone, p)
			continue
		}
		together = append(together, p)
		sum += p.task.Seconds
	}
	slices.SortStableFunc(together, func(a, b *piece) int { return cmp.Compare(b.task.Seconds, a.task.Seconds) })
	n := 1 + len(together)/mostTogether
	if seconds > 0 {
		n = max(n, int(math.Ceil(sum/seconds)))
	} else {
		n = len(together)
	}
	loads := make(loads, min(n, len(together)))
	for i := range loads {
		loads[i].element = i
	}
	elements := make([][]*piece, len(loads), len(loads)+len(alone))
	for _, p := range together {
		least := &loads[0]
		elements[least.element] = append(elements[least.element], p)
		least.seconds += p.task.Seconds
		heap.Fix(&loads, 0)
	}
	for _, p := range alone {
		elements = append(elements, []*piece{p})
	}
	return elements
}

// loads are what elements have to do so far: a heap, the least first.
type loads []struct {
	element int
	seconds float64
}

func (l loads) Len() int { return len(l) }
func (l loads) Less(i, j int) bool {
	if l[i].seconds != l[j].seconds {
		return l[i].seconds < l[j].seconds
	}
	return l[i].element < l[j].element
}
func (l loads) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (*loads) Push(any)       { panic("elements are given") }
func (*loads) Pop() any       { panic("elements are given") }

// slack is how much longer than it is known to take an element may take.
const slack = 4

// minutesOf is the time limit of an element that asks for no more than the
// configured one: this, or more where its units are known to take long.
func minutesOf(element []*piece, configured, workers int) int {
	if configured <= 0 {
		return 0
	}
	sum, longest := 0.0, 0.0
	for _, p := range element {
		sum += p.task.Seconds
		longest = max(longest, p.task.Seconds)
	}
	seconds := max(longest, sum/float64(max(1, workers)))
	return max(configured, int(math.Ceil(slack*seconds/60)))
}
