package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"speceval/pipeline/runlog"
)

// poll reads the states of all elements from the clusters and the shared folder, and acts
// on them. It forgets elements that have ended, and arrays that have none left.
func (c *Jobs) poll(ctx context.Context) {
	c.lookFor(ctx)
	err := c.ask(ctx, c.arrays)
	if ctx.Err() != nil {
		return
	}
	c.note(&c.silent, err, "asking on", "the cluster answers again")
	for _, a := range c.arrays {
		for _, e := range a.open {
			c.conclude(ctx, e)
		}
	}
	c.arrays = slices.DeleteFunc(c.arrays, func(a *array) bool {
		a.open = slices.DeleteFunc(a.open, func(e *element) bool {
			return len(e.pieces) == 0 && e.state.State.Ended()
		})
		if a.Ended = len(a.open) == 0; a.Ended {
			c.complain(a.write(c.Folder))
		}
		return a.Ended
	})
}

// note says once that something does not work, and once when it works again.
func (c *Jobs) note(since *time.Time, err error, meanwhile, again string) {
	switch now := c.Now(); {
	case err != nil && since.IsZero():
		*since = now
		c.Report(firstLine(err) + "; " + meanwhile)
	case err == nil && !since.IsZero():
		c.Report(fmt.Sprintf("%s, after %v", again, now.Sub(*since).Round(time.Second)))
		*since = time.Time{}
	}
}

// conclude settles the units of an element that are done or have failed.
func (c *Jobs) conclude(ctx context.Context, e *element) {
	c.complain(e.read())
	ended := e.state.State.Ended()
	switch {
	case !ended:
		e.ended = time.Time{} // it is requeued, or the cluster had lost sight of it
	case e.ended.IsZero():
		e.ended = c.Now()
	}
	cancel := func() { c.of(e.array.Target).cancel(ctx, e.array.Name, e.name()) } // that it is gone already is no fault
	if key := e.state.hopeless(); key != "" {
		cancel()
		for _, p := range e.pieces {
			c.send(p, fmt.Errorf("%s would wait for ever, says Slurm (%s): look at executor.%s.%s", e.where(), e.state.Why, e.array.Stage, key))
		}
		e.pieces = nil
		return
	}
	settled := ended && c.Now().Sub(e.ended) >= seconds(c.SettleSeconds)
	if settled && len(e.pieces) > 0 && (ends[e.state.State].lost || e.state.State == Forgotten) {
		cancel() // it might come back, and its units are about to be submitted again
	}
	e.pieces = slices.DeleteFunc(e.pieces, func(p *piece) bool { return c.settle(e, p, settled) })
}

// settle settles one unit of an element, if it can be.
func (c *Jobs) settle(e *element, p *piece, settled bool) bool {
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
	case settled:
		begun := event.What == runlog.Started || event.What == runlog.Done || len(e.events) == 0
		c.again(e, p, judge(e.state.State, begun), nil)
	default:
		return false
	}
	return true
}

// again has a unit tried again, or reports it as failed.
func (c *Jobs) again(e *element, p *piece, v verdict, cause error) {
	log := LogPath(e.array.dir, e.index)
	if _, err := os.Stat(log); err != nil {
		log += ", which is not there: the output folder must be on a file system that all nodes share"
	}
	err := fmt.Errorf("%s %s; its log is %s", e.where(), v.why, log)
	if cause != nil {
		err = fmt.Errorf("%w (%s; its log is %s)", cause, e.where(), log)
	}
	next, yes := p.next(v, c.Retries, c.allowed[e.array.Stage].minutes)
	switch {
	case yes:
		c.Report(fmt.Sprintf("%s: %s; it is tried again", p.task.Ref, firstLine(err)))
		c.waiting = append(c.waiting, next)
		return
	case v.time && p.attempt <= c.Retries:
		err = fmt.Errorf("%w: no longer time limit can be asked for: set minutes or another partition for its stage", err)
	}
	if p.attempt > 1 {
		err = fmt.Errorf("failed %d times, the last time: %w", p.attempt, err)
	}
	c.send(p, err)
}

// firstLine is the first line of an error.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// complain reports an error that the run goes on without.
func (c *Jobs) complain(err error) {
	if err != nil {
		c.Report(firstLine(err))
	}
}

// next is the unit's next attempt after a failure; false if there is none. Longest is the
// longest time limit in minutes; 0: there is none.
func (p *piece) next(v verdict, retries, longest int) (*piece, bool) {
	const mostLost = 10 // attempts without a fault of the unit
	q := *p
	q.alone = p.alone || v.begun // it may be what ends elements
	if v.lost {
		q.lost++
		return &q, !v.final && q.lost <= mostLost
	}
	q.attempt++
	if v.memory {
		q.memory = 2 * p.memory
		if p.memory <= 0 {
			q.memory = wholeNode
		}
	}
	if v.time {
		q.minutes = 2 * p.minutes
		if longest > 0 && (p.minutes == 0 || q.minutes > longest) { // 0 is the partition's default
			q.minutes = longest
		}
	}
	return &q, !v.final && q.attempt <= retries+1 && (!v.time || q.minutes > p.minutes)
}
