package slurm

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"speceval/internal/store/group"
	"speceval/internal/terminal/display"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
)

// piece is a unit on its way through a job.
type piece struct {
	task    dag.Task
	attempt int // from 1
	lost    int // attempts that ended for no fault of the unit
	minutes int // time limit that it needs; 0: the partition's default
	memory  int // MiB that it needs; 0: the site's default, wholeNode: all of a node's
	alone   bool
}

// submit submits all pieces that wait, in arrays. Those that there is no room for wait on.
func (c *Jobs) submit(ctx context.Context) {
	pieces := c.waiting
	c.waiting = nil
	type shared struct { // by the units of an array
		stage                    string
		redo                     bool
		attempt, memory, minutes int
	}
	for _, alike := range group.By(pieces, func(p *piece) shared {
		return shared{p.task.Ref.Stage, p.task.Redo, p.attempt, p.memory, p.minutes}
	}) {
		stage := alike[0].task.Ref.Stage
		r := c.Resources[stage]
		r.MemoryMiB, r.Minutes = alike[0].memory, alike[0].minutes
		elements := pack(alike, 60*c.ElementMinutes*float64(r.Workers))
		for len(elements) > 0 {
			n := min(len(elements), c.ArraySize, max(1, c.allowed[stage].elements), c.fits)
			full := ctx.Err() != nil || c.Kind == config.ExecutorCommand && c.Throttle > 0 && len(c.arrays) >= c.Throttle
			select {
			case <-c.Drain:
				full = true
			default:
			}
			if !full && c.submitArray(ctx, r, elements[:n]) {
				elements = elements[n:]
				continue
			}
			if !full {
				c.fits = max(1, n/2)
			}
			if full || n == 1 {
				c.waiting = append(c.waiting, slices.Concat(elements...)...)
				break
			}
		}
	}
}

// submitArray submits one array, and reports whether its pieces are dealt with: false if
// there is no room for it now.
func (c *Jobs) submitArray(ctx context.Context, r Resources, elements [][]*piece) bool {
	r.Minutes = minutesOf(elements, r.Minutes, r.Workers, c.allowed[elements[0][0].task.Ref.Stage].minutes)
	var how outcome
	a, err := c.prepare(r, elements)
	if err == nil {
		how, err = c.of(a.Target).submit(ctx, a.Batch, a.dir, r, c.Throttle)
	}
	if err == nil {
		c.submitted(a)
		return true
	}
	if how == failed {
		if a.Job != "" { // it may be there all the same
			c.of(a.Target).cancel(ctx, a.Name, a.Job)
		}
		if c.taken { // it has worked before
			how = full
		}
	}
	lost := ctx.Err() != nil || how == unknown
	if lost || how == full && len(elements) == 1 {
		c.note(&c.crowded, err, "waiting until jobs are taken", "")
	}
	if lost {
		c.unsure = append(c.unsure, a)
		return true
	}
	os.RemoveAll(a.dir)
	if how == full {
		return false
	}
	if how == failed {
		c.complain(err)
	}
	for _, p := range slices.Concat(elements...) {
		if next, yes := p.next(verdict{final: how == refused}, c.Retries, 0); yes {
			c.waiting = append(c.waiting, next)
			continue
		}
		c.send(p, fmt.Errorf("submit its job: %w", err))
	}
	return true
}

// submitted books that an array has its job.
func (c *Jobs) submitted(a *array) {
	c.complain(a.write(c.Folder))
	n := 0
	for _, e := range a.open {
		e.state.Job = a.Job
		for _, p := range e.pieces {
			p.minutes = a.minutes
			n++
		}
	}
	c.note(&c.crowded, nil, "", "jobs are taken again")
	c.arrays, c.taken, c.fits = append(c.arrays, a), true, max(c.fits, 2*len(a.open))
	c.Report(fmt.Sprintf("%s: %s in %s submitted as job %s, %s", a.Stage, display.Units(n), display.Count(len(a.open), "element", "elements"), a.Job, a.dir))
}

// lookFor finds the jobs of arrays whose submission was not answered. Where there is none,
// the pieces are submitted again.
func (c *Jobs) lookFor(ctx context.Context) {
	c.unsure = slices.DeleteFunc(c.unsure, func(a *array) bool {
		job, err := c.of(a.Target).find(ctx, a.Batch)
		if a.Job = job; err != nil {
			return false
		}
		if job != "" {
			c.submitted(a)
			return true
		}
		os.RemoveAll(a.dir)
		c.waiting = append(c.waiting, a.pieces()...)
		return true
	})
}

// prepare writes the folder of a new batch. What it holds is there before a cluster
// hears of it: however this process ends, the next finds its jobs.
func (c *Jobs) prepare(r Resources, elements [][]*piece) (*array, error) {
	c.number++
	now, first := c.Now().UTC(), elements[0][0]
	stage := first.task.Ref.Stage
	b := &Batch{
		Format: batchFormat, Stage: stage, Submitted: now, Build: c.Build, Redo: first.task.Redo, Attempt: first.attempt, Workers: r.Workers,
		Name: fmt.Sprintf("%s-%d-%s-%d", now.Format("20060102T150405.000Z"), c.Process, stage, c.number), Target: c.target(stage),
	}
	for i, element := range elements {
		b.Elements = append(b.Elements, nil)
		for _, p := range element {
			b.Elements[i] = append(b.Elements[i], member(p))
		}
	}
	a := newArray(b, filepath.Join(c.Folder, b.Name))
	a.minutes = r.Minutes
	for i, e := range a.open {
		e.pieces = slices.Clone(elements[i])
	}
	if err := b.write(c.Folder); err != nil {
		return a, err
	}
	threads := r.CPUs
	if r.Exclusive {
		threads = 0 // all that the node has
	}
	return a, b.writeScript(c.Folder, c.Directory, c.Program, threads)
}

// minutesOf is the time limit of an array: the configured one, or more where its units are
// known to take long, up to the longest; 0 of these: the partition's default, and no limit.
func minutesOf(elements [][]*piece, configured, workers, longest int) int {
	const slack = 4 // times as long as it is known to take an element may take
	minutes := configured
	for _, element := range elements {
		sum, most := 0.0, 0.0
		for _, p := range element {
			sum += p.task.Seconds
			most = max(most, p.task.Seconds)
		}
		if seconds := max(most, sum/float64(workers)); configured > 0 {
			minutes = max(minutes, int(math.Ceil(slack*seconds/60)))
		}
	}
	if longest > 0 {
		minutes = min(minutes, longest)
	}
	return minutes
}

// mostTogether bounds the units of an element: its line must fit a command.
const mostTogether = 1000

// pack puts units together in elements that take about the given seconds each, and about alike. A
// unit whose duration is unknown, or that has failed before, has an element of its own.
func pack(pieces []*piece, seconds float64) (elements [][]*piece) {
	var together []*piece
	sum, load := 0.0, 0.0 // in seconds: of all, and of the last element
	for _, p := range pieces {
		if p.alone || p.task.Seconds <= 0 {
			elements = append(elements, []*piece{p})
			continue
		}
		together = append(together, p)
		sum += p.task.Seconds
	}
	share := 0.0 // of an element
	if seconds > 0 {
		share = sum / math.Ceil(sum/seconds)
	}
	for i, p := range together {
		if last := len(elements) - 1; i > 0 && load < share && len(elements[last]) < mostTogether {
			elements[last] = append(elements[last], p)
		} else {
			elements, load = append(elements, []*piece{p}), 0
		}
		load += p.task.Seconds
	}
	return elements
}
