package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/internal/slurm"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

// coordinator is a run under way. One goroutine uses it.
type coordinator struct {
	*Slurm
	results chan<- dag.Result
	waiting []*piece           // to be submitted
	later   []*piece           // likewise, when there may be room
	fresh   bool               // one of them has arrived since arriving was asked
	open    map[*piece]bool    // submitted, or found in a job of an earlier run
	live    map[dag.Ref]*owner // units that elements of earlier runs are at
	arrays  []*array
	number  int       // of batches made
	silent  time.Time // since when Slurm does not answer; zero when it does
}

// owner is an element that is at a unit.
type owner struct {
	element *element
	key     string
}

func newCoordinator(x *Slurm, results chan<- dag.Result) *coordinator {
	c := &coordinator{Slurm: x, results: results, open: make(map[*piece]bool), live: make(map[dag.Ref]*owner), arrays: x.earlier}
	for _, a := range x.earlier {
		for _, e := range a.open {
			for _, m := range a.Elements[e.index] {
				c.live[a.Ref(m)] = &owner{e, m.Key}
			}
		}
	}
	return c
}

// busy tells whether somebody waits for a unit.
func (c *coordinator) busy() bool { return len(c.waiting)+len(c.later)+len(c.open) > 0 }

// alarm is closed after d, or when ctx is done.
func (c *coordinator) alarm(ctx context.Context, d time.Duration) <-chan struct{} {
	rings := make(chan struct{})
	go func() {
		defer close(rings)
		c.Clock.Sleep(ctx, d)
	}()
	return rings
}

// take books a task: as one to submit, or as one that a job is at already.
func (c *coordinator) take(task dag.Task) {
	p := &piece{task: task, attempt: 1}
	if o := c.live[task.Ref]; o != nil && o.key == task.Key && !o.element.closed {
		p.attempt = o.element.array.Attempt
		c.open[p] = true
		o.element.pieces = append(o.element.pieces, p)
		o.element.array.had[p] = c.limitsOf(p)
		return
	}
	c.waiting, c.fresh = append(c.waiting, p), true
}

// arriving tells whether a task has arrived since it was last asked.
func (c *coordinator) arriving() bool {
	arriving := c.fresh
	c.fresh = false
	return arriving
}

// limitsOf is what an attempt at a piece has.
func (c *coordinator) limitsOf(p *piece) resourceLimits {
	r := c.Stages[p.task.Ref.Stage]
	partition, _ := c.partition(p.task.Ref.Stage)
	return resourceLimits{memory: r.MemoryMiB, minutes: r.Minutes, longest: partition.MaxMinutes}
}

// send ends a piece.
func (c *coordinator) send(p *piece, err error) {
	delete(c.open, p)
	c.results <- dag.Result{Task: p.task, Err: err}
}

// poll reads the states of all elements from Slurm and the shared folder, and acts on
// them.
func (c *coordinator) poll(ctx context.Context) {
	states, err := c.Client.Elements(ctx, wanted(c.arrays))
	if ctx.Err() != nil {
		return
	}
	c.heard(err)
	for _, a := range c.arrays {
		if err == nil {
			a.update(states)
		}
		for _, e := range a.open {
			c.conclude(ctx, e)
		}
	}
	c.closeArrays()
	c.waiting, c.later = append(c.waiting, c.later...), nil
}

// heard says when Slurm stops answering, and when it answers again.
func (c *coordinator) heard(err error) {
	switch now := c.Now(); {
	case err != nil && c.silent.IsZero():
		c.silent = now
		c.Report(fmt.Sprintf("%s; asking on", firstLine(err)))
	case err == nil && !c.silent.IsZero():
		c.Report(fmt.Sprintf("Slurm answers again, after %v", now.Sub(c.silent).Round(time.Second)))
		c.silent = time.Time{}
	}
}

// conclude settles the units of an element that are done or have failed.
func (c *coordinator) conclude(ctx context.Context, e *element) {
	if err := e.read(); err != nil {
		c.Report(firstLine(err))
	}
	ended := e.state.State.Ended()
	switch {
	case !ended:
		e.ended = time.Time{} // it is requeued, or Slurm had lost sight of it
	case e.ended.IsZero():
		e.ended = c.Now()
	}
	settled := ended && (c.Now().Sub(e.ended) >= c.Settle)
	if key, hopeless := e.state.Hopeless(); hopeless {
		c.giveUp(ctx, e, key)
		return
	}
	var exit exitCode
	open := e.pieces[:0]
	for _, p := range e.pieces {
		if !c.settle(ctx, e, p, settled, &exit) {
			open = append(open, p)
		}
	}
	e.pieces = open
}

// exitCode is what an element's script ended with, asked for once.
type exitCode struct {
	known bool
	code  int
}

// settle settles one unit of an element, if it can be.
func (c *coordinator) settle(ctx context.Context, e *element, p *piece, settled bool, exit *exitCode) bool {
	event := e.events[member(p)]
	if event.What == runlog.Done || event.What == runlog.Failed || e.state.State.Ended() {
		done, err := p.task.Done()
		if done {
			c.send(p, nil)
			return true
		}
		if err != nil && settled {
			c.again(e, p, verdict{why: "left a manifest that cannot be used", begun: true}, err)
			return true
		}
	}
	switch {
	case event.What == runlog.Failed:
		c.again(e, p, verdict{why: "failed", final: event.Final, begun: true}, errors.New(event.Error))
		return true
	case settled:
		if !exit.known {
			exit.code, _ = c.Client.ExitCode(ctx, e.state)
			exit.known = true
			c.makeSure(ctx, e)
			e.state.State = stateFromLog(e.state.State, LogPath(e.array.dir, e.index))
		}
		begun := event.What == runlog.Started || event.What == runlog.Done || len(e.events) == 0
		c.again(e, p, judge(e.state.State, exit.code, begun), nil)
		return true
	}
	return false
}

// makeSure cancels an element that Slurm might still bring back, or that it has
// lost sight of: its units are about to be submitted again.
func (c *coordinator) makeSure(ctx context.Context, e *element) {
	switch e.state.State {
	case slurm.NodeFail, slurm.BootFail, slurm.Preempted, slurm.Revoked, slurm.Forgotten:
		c.Client.Cancel(ctx, e.array.Name, []string{e.state.Name()}) // that it is gone already is no fault
	}
}

// again has a unit tried again, or reports it as failed.
func (c *coordinator) again(e *element, p *piece, v verdict, cause error) {
	delete(c.open, p)
	log := LogPath(e.array.dir, e.index)
	if _, err := os.Stat(log); err != nil {
		log += ", which is not there: the output folder must be on a file system that all nodes share"
	}
	err := fmt.Errorf("%s %s; its log is %s", e.where(), v.why, log)
	if cause != nil {
		err = fmt.Errorf("%w (%s; its log is %s)", cause, e.where(), log)
	}
	next, yes := p.next(v, c.Retries, e.array.had[p])
	if !yes {
		if next.last == errTooShort {
			err = fmt.Errorf("%w: %w", err, errTooShort)
		}
		if p.attempt > 1 {
			err = fmt.Errorf("failed %d times, the last time: %w", p.attempt, err)
		}
		c.send(p, err)
		return
	}
	next.last = err
	c.Report(fmt.Sprintf("%s: %s; it is tried again", p.task.Ref, firstLine(err)))
	c.waiting = append(c.waiting, next)
}

// giveUp ends an element that would wait for ever.
func (c *coordinator) giveUp(ctx context.Context, e *element, key string) {
	c.Client.Cancel(ctx, e.array.Name, []string{e.state.Name()}) // that it is gone already is no fault
	for _, p := range e.pieces {
		c.send(p, fmt.Errorf("%s would wait for ever, says Slurm (%s): look at executor.%s.%s", e.where(), e.state.Why, e.array.Stage, key))
	}
	e.pieces = nil
}

// closeArrays forgets elements that have ended and arrays that have none left.
func (c *coordinator) closeArrays() {
	arrays := c.arrays[:0]
	for _, a := range c.arrays {
		open := a.open[:0]
		for _, e := range a.open {
			if e.closed = len(e.pieces) == 0 && e.state.State.Ended(); !e.closed {
				open = append(open, e)
			}
		}
		if a.open = open; len(open) > 0 {
			arrays = append(arrays, a)
			continue
		}
		a.Ended = true
		if err := a.write(c.Folder); err != nil {
			c.Report(firstLine(err))
		}
	}
	c.arrays = arrays
}

// keptBatches is how many folders of ended batches stay, for their logs.
const keptBatches = 100

// sweep removes the folders of the oldest batches that have ended.
func (c *coordinator) sweep() {
	entries, err := os.ReadDir(c.Folder) // sorted by name, which begins with the time
	if err != nil {
		return
	}
	for _, entry := range entries[:max(0, len(entries)-keptBatches)] {
		dir := filepath.Join(c.Folder, entry.Name())
		if b, err := ReadBatch(dir); err == nil && b.Ended {
			os.RemoveAll(dir)
		}
	}
}

// firstLine is the first line of an error.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// jobs are the ids of all arrays, for people.
func (c *coordinator) jobs() []string {
	var jobs []string
	for _, a := range c.arrays {
		jobs = append(jobs, a.Job)
	}
	return jobs
}

// Standing is the status of a unit that has been submitted to Slurm.
type Standing struct {
	Unit  dag.Ref
	Key   string
	Time  time.Time // since when, or since it was submitted
	State string    // runlog.Queued, Started, Failed; of others a manifest tells more
	Job   string    // "1234_7"
	Node  string    // where it runs, as far as Slurm says
	Error string    // of a unit that failed
	Log   string    // path
}

// Standings are those of all units in jobs that have not ended, and of those
// that failed in them. Client may be nil: then Slurm is not asked, and the
// elements' logs alone decide what waits or runs.
func Standings(ctx context.Context, client *slurm.Client, folder string) ([]Standing, error) {
	arrays, err := liveArrays(ctx, client, folder)
	if err != nil {
		return nil, err
	}
	var all []Standing
	for _, a := range arrays {
		for _, e := range a.open {
			if err := e.read(); err != nil {
				return nil, err
			}
			for _, m := range a.Elements[e.index] {
				if s, ok := e.unitStatus(m); ok {
					all = append(all, s)
				}
			}
		}
	}
	return all, nil
}

// liveArrays returns the arrays that have not ended, with the states that Slurm
// reports. It changes nothing.
func liveArrays(ctx context.Context, client *slurm.Client, folder string) ([]*array, error) {
	earlier, err := batches(folder)
	if err != nil {
		return nil, err
	}
	arrays := openArrays(earlier, folder)
	if client == nil {
		return arrays, nil
	}
	states, err := client.Elements(ctx, wanted(arrays))
	if err != nil {
		return arrays, nil // Slurm is away: the logs have to do
	}
	for _, a := range arrays {
		if a.Job != "" {
			a.update(states)
		}
	}
	return arrays, nil
}

// unitStatus returns the status of a unit of the element; false if it is done, or was not
// begun by an element that has ended.
func (e *element) unitStatus(m Member) (Standing, bool) {
	event, logged := e.events[m]
	s := Standing{
		Unit: e.array.Ref(m), Key: m.Key, State: runlog.Queued, Job: slurm.Name(e.array.Job, e.index), Node: e.state.Node,
		Log: LogPath(e.array.dir, e.index), Time: e.array.Submitted,
	}
	if logged {
		s.Time = event.Time
	}
	ended := e.state.State.Ended()
	switch {
	case logged && event.What == runlog.Done:
		return s, false
	case logged && event.What == runlog.Failed:
		s.State, s.Error = runlog.Failed, event.Error
	case ended && !logged:
		return s, false
	case ended:
		s.State, s.Error = runlog.Failed, judge(e.state.State, e.state.Exit, true).why
	case logged && event.What == runlog.Started && !e.state.State.Waiting():
		s.State = runlog.Started
	}
	return s, true
}
