package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// arrayKey is what the units of an array have in common.
type arrayKey struct {
	stage           string
	redo            bool
	attempt         int
	memory, minutes int
}

// submission is an array that is being submitted.
type submission struct {
	*array
	elements [][]*piece
	minutes  int // time limit; 0: the partition's default
}

// submit submits all pieces that wait, in arrays.
func (c *coordinator) submit(ctx context.Context) {
	byKey := make(map[arrayKey][]*piece)
	var keys []arrayKey
	for _, p := range c.waiting {
		k := arrayKey{p.task.Ref.Stage, p.task.Redo, p.attempt, p.memory, p.minutes}
		if byKey[k] == nil {
			keys = append(keys, k)
		}
		byKey[k] = append(byKey[k], p)
	}
	c.waiting = nil
	for _, k := range keys {
		r := c.Stages[k.stage]
		elements := pack(byKey[k], c.Element.Seconds()*float64(max(1, r.Workers)))
		for len(elements) > 0 {
			n := min(len(elements), c.ArraySize, max(1, c.allowed[k.stage].elements), c.fits)
			if c.stopped(ctx) || c.Status != "" && c.Throttle > 0 && len(c.arrays) >= c.Throttle {
				c.later = append(c.later, slices.Concat(elements...)...)
				break
			}
			if c.submitArray(ctx, k, r, elements[:n]) {
				elements = elements[n:]
				continue
			}
			c.fits = max(1, n/2)
			if n == 1 { // there is no room at all
				c.later = append(c.later, slices.Concat(elements...)...)
				break
			}
		}
	}
}

// stopped reports whether the run is interrupted.
func (c *coordinator) stopped(ctx context.Context) bool {
	select {
	case <-c.Drain:
		return true
	default:
		return ctx.Err() != nil
	}
}

// submitArray submits one array, and reports whether its pieces are dealt with: false if
// there is no room for it now.
func (c *coordinator) submitArray(ctx context.Context, k arrayKey, r Resources, elements [][]*piece) bool {
	r.MemoryMiB, r.Minutes = k.memory, c.minutes(k, r, elements)
	s, err := c.prepare(k, r, elements)
	if err == nil {
		err = c.clusters.of(s.Target).submit(ctx, s.Batch, s.dir, r, c.Throttle)
	}
	if err == nil {
		c.submitted(s)
		return true
	}
	problem := &submitError{err, refused}
	if errors.As(err, &problem); problem.outcome == failed {
		if s.Job != "" { // it may be there all the same
			c.clusters.of(s.Target).cancel(ctx, s.Name, s.Job)
		}
		if c.taken { // it has worked before
			problem.outcome = full
		}
	}
	switch {
	case ctx.Err() != nil || problem.outcome == unknown:
		c.unsure = append(c.unsure, s)
		c.heldUp(err)
		return true
	case problem.outcome == full:
		os.RemoveAll(s.dir)
		if len(elements) == 1 {
			c.heldUp(err)
		}
		return false
	}
	for _, p := range slices.Concat(elements...) {
		next, yes := p.next(verdict{final: problem.outcome == refused}, c.Retries, 0)
		if !yes {
			c.send(p, fmt.Errorf("submit its job: %w", err))
			continue
		}
		c.later = append(c.later, next)
	}
	if problem.outcome == failed {
		c.Report(firstLine(err))
	}
	os.RemoveAll(s.dir)
	return true
}

// heldUp says once that jobs are not taken for now.
func (c *coordinator) heldUp(err error) {
	if c.crowded.IsZero() {
		c.crowded = c.Now()
		c.Report(firstLine(err) + "; waiting until jobs are taken")
	}
}

// submitted books that an array has its job.
func (c *coordinator) submitted(s *submission) {
	if n := len(s.elements); n >= c.fits {
		c.fits = 2 * n
	}
	if !c.crowded.IsZero() {
		c.Report(fmt.Sprintf("jobs are taken again, after %v", c.Now().Sub(c.crowded).Round(time.Second)))
		c.crowded = time.Time{}
	}
	if err := s.write(c.Folder); err != nil {
		c.Report(firstLine(err))
	}
	n := 0
	for i, element := range s.elements {
		s.open[i].pieces, s.open[i].state.Job = slices.Clone(element), s.Job
		for _, p := range element {
			c.open[p], p.minutes = true, s.minutes
			n++
		}
	}
	c.arrays, c.taken = append(c.arrays, s.array), true
	c.Report(fmt.Sprintf("%s: %s in %s submitted as job %s, %s", s.Stage, plural(n, "unit"), plural(len(s.elements), "element"), s.Job, s.dir))
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// lookFor finds the jobs of submissions that were not answered. Where there is none, the
// pieces are submitted again.
func (c *coordinator) lookFor(ctx context.Context) {
	unsure := c.unsure[:0]
	for _, s := range c.unsure {
		job, err := c.clusters.of(s.Target).find(ctx, s.Batch)
		switch {
		case err != nil:
			unsure = append(unsure, s)
		case job == "":
			os.RemoveAll(s.dir)
			c.later = append(c.later, slices.Concat(s.elements...)...)
		default:
			s.Job = job
			c.submitted(s)
		}
	}
	c.unsure = unsure
}

// prepare writes the folder of a new batch. What it holds is there before a cluster
// hears of it: however this process ends, the next finds its jobs.
func (c *coordinator) prepare(k arrayKey, r Resources, elements [][]*piece) (*submission, error) {
	c.number++
	now := c.Now().UTC()
	b := &Batch{
		Format: batchFormat, Stage: k.stage, Submitted: now, Build: c.Build, Redo: k.redo, Attempt: k.attempt, Workers: max(1, r.Workers),
		Name: fmt.Sprintf("%s-%d-%s-%d", now.Format("20060102T150405.000Z"), c.Process, k.stage, c.number), Target: c.target(k.stage),
	}
	for _, element := range elements {
		var members []Member
		for _, p := range element {
			members = append(members, member(p))
		}
		b.Elements = append(b.Elements, members)
	}
	s := &submission{newArray(b, filepath.Join(c.Folder, b.Name)), elements, r.Minutes}
	if err := b.write(c.Folder); err != nil {
		return s, err
	}
	threads := r.CPUs
	if r.Exclusive {
		threads = 0 // all that the node has
	}
	return s, b.writeScript(c.Folder, c.Directory, c.Program, threads)
}

// slack is how much longer than it is known to take an element may take.
const slack = 4

// minutes is the time limit of an array: that of its pieces, or more where they are known
// to take long, up to what the site allows.
func (c *coordinator) minutes(k arrayKey, r Resources, elements [][]*piece) int {
	minutes := k.minutes
	for _, element := range elements {
		minutes = max(minutes, minutesOf(element, k.minutes, r.Workers))
	}
	if longest := c.allowed[k.stage].minutes; longest > 0 {
		minutes = min(minutes, longest)
	}
	return minutes
}
