//go:build drill

package servers_test

import (
	"fmt"
	"math"
	"slices"

	"speceval/drills/drill"
	"speceval/internal/policy"
)

// shape is the worker that runs were on, and their origin. Every strategy has one run.
type shape struct {
	replicas, window int
	origin           string
}

// checkRuns holds the runs of some settings to what any run must be.
func (s shape) checkRuns(l *drill.Lab, settings []setting, all []run) {
	each := func(what string, check func(run) error) {
		l.Sub(what, func(l *drill.Lab) {
			for _, r := range all {
				if err := check(r); err != nil {
					l.Errorf("%s: %v", r.name(), err)
				}
			}
		})
	}
	l.Sub("every strategy was run, as "+s.origin, func(l *drill.Lab) {
		times := map[string]int{}
		for _, r := range all {
			times[r.of.name()+r.Strategy]++
			if r.Provenance != s.origin {
				l.Errorf("%s is %s", r.name(), r.Provenance)
			}
		}
		for _, of := range settings {
			for _, strategy := range policy.Strategies {
				if n := times[of.name()+strategy.Name]; n != 1 {
					l.Errorf("%s has %d runs of %s, want 1", of.name(), n, strategy.Name)
				}
			}
		}
		if n := len(settings) * len(policy.Strategies); len(all) != n {
			l.Errorf("%d runs, want %d", len(all), n)
		}
	})
	each("every run accepted its budget exactly", run.exact)
	each("no continuation was submitted before the last pilot, and by HBN-sync before its reward", run.ordered)
	each(fmt.Sprintf("never more than %d requests at a replica, or %d in all", s.window, s.replicas*s.window), s.within)
	each("times of runs are those of their requests", run.timed)
}

// exact counts requests by state.
func (r run) exact() error {
	count, ids := map[string]int32{}, map[string]bool{}
	for _, q := range r.requests {
		count[q.State]++
		ids[q.ID] = true
	}
	n := int32(r.of.profile.N())
	switch {
	case r.NTasks != n || r.Strategy != policy.UniformEquivalent.Name && int(r.Budget) != r.of.budget:
		return fmt.Errorf("its row has %d tasks and budget %d", r.NTasks, r.Budget)
	case r.Accepted != n*r.Budget || count[accepted] != r.Accepted:
		return fmt.Errorf("%d accepted by its row, %d by its requests, want %d × %d", r.Accepted, count[accepted], n, r.Budget)
	case count[discarded] != r.Discarded || count[aborted] != r.Aborted || count[cancelled] != r.Cancelled:
		return fmt.Errorf("states %v; its row has %d discarded, %d aborted, %d cancelled", count, r.Discarded, r.Aborted, r.Cancelled)
	case r.Strategy != policy.HBNAsync.Name && len(r.requests) != int(r.Accepted):
		return fmt.Errorf("%d requests for %d rollouts", len(r.requests), r.Accepted)
	case len(ids) != len(r.requests):
		return fmt.Errorf("%d ids for %d requests", len(ids), len(r.requests))
	}
	return nil
}

// ordered checks the order of pilots and continuations.
func (r run) ordered() error {
	lastPilot, lastReward := math.Inf(-1), math.Inf(-1)
	for _, q := range r.requests {
		if q.Phase == pilot && q.RewardReady == nil {
			return fmt.Errorf("%s has no reward", q.ID)
		}
		if q.Phase == pilot {
			lastPilot, lastReward = max(lastPilot, q.Submitted), max(lastReward, *q.RewardReady)
		}
	}
	if lastReward != r.Pilot {
		return fmt.Errorf("the last pilot reward was there at %v s, its row has %v s", lastReward, r.Pilot)
	}
	for _, q := range r.requests {
		switch {
		case q.Phase == pilot:
		case q.Submitted < lastPilot:
			return fmt.Errorf("%s was submitted at %v s, the last pilot at %v s", q.ID, q.Submitted, lastPilot)
		case r.Strategy == policy.HBNSync.Name && q.Submitted < lastReward:
			return fmt.Errorf("%s was submitted at %v s, before the last pilot reward at %v s", q.ID, q.Submitted, lastReward)
		case q.Prefetched != (r.Strategy == policy.HBNAsync.Name && q.Submitted < r.Allocated):
			return fmt.Errorf("%s: submitted at %v s, allocation at %v s, prefetched %v", q.ID, q.Submitted, r.Allocated, q.Prefetched)
		case q.State != accepted && !q.Prefetched:
			return fmt.Errorf("%s is %s, and was submitted after the allocation", q.ID, q.State)
		}
	}
	return nil
}

// within counts the requests that are outstanding when one is submitted.
func (s shape) within(r run) error {
	for _, q := range r.requests {
		here, all := 0, 0
		for _, other := range r.requests {
			if other.Submitted > q.Submitted || other.Finished <= q.Submitted {
				continue
			}
			if all++; other.Replica == q.Replica {
				here++
			}
		}
		if q.Replica < 0 || int(q.Replica) >= s.replicas || here > s.window || all > s.replicas*s.window {
			return fmt.Errorf("%d requests at replica %d, %d in all, %v s after the start", here, q.Replica, all, q.Submitted)
		}
	}
	return nil
}

// timed compares the times of a run with those of its requests.
func (r run) timed() error {
	lastSelected, last := 0.0, 0.0
	for _, q := range r.requests {
		if q.State == accepted {
			lastSelected = max(lastSelected, *q.RewardReady)
		}
		last = max(last, q.Finished)
		switch {
		case q.Started != nil && (*q.Started < q.Submitted || *q.Started > q.Finished),
			q.Finished < q.Submitted, q.RewardReady != nil && *q.RewardReady < q.Finished:
			return fmt.Errorf("times of %s: %+v", q.ID, q)
		}
	}
	const handled = 0.25 // seconds from a reward to the end of the handling of its event, at most
	switch {
	case r.Time < lastSelected || r.Time > lastSelected+handled:
		return fmt.Errorf("it took %v s, its last selected reward was there at %v s", r.Time, lastSelected)
	case r.Released < r.Time || r.Released < last:
		return fmt.Errorf("all was over at %v s, its last request ended at %v s", r.Released, last)
	case r.Handling < 0 || r.Handling > r.Released:
		return fmt.Errorf("the router was at work for %v s of %v s", r.Handling, r.Released)
	}
	return nil
}

// selection is the ids and rewards that a run accepted, in order.
func (r run) selection() (ids []string) {
	for _, q := range r.requests {
		if q.State == accepted {
			ids = append(ids, fmt.Sprintf("%s %v", q.ID, *q.Passed))
		}
	}
	slices.Sort(ids)
	return ids
}

// checkSpeculation checks that HBN-async speculated in every setting, and had surplus
// rollouts in one; with aborts, that some of those were ended by an abort, as they ran or
// before.
func checkSpeculation(l *drill.Lab, all []run, aborts bool) {
	surplus, ended := int32(0), int32(0)
	for _, r := range all {
		if r.Strategy != policy.HBNAsync.Name {
			continue
		}
		if r.Prefetched == 0 {
			l.Errorf("%s: nothing was prefetched", r.of.name())
		}
		surplus += r.Discarded + r.Aborted + r.Cancelled
		ended += r.Aborted + r.Cancelled
	}
	if surplus == 0 || aborts && ended == 0 {
		l.Errorf("%d surplus rollouts, %d of them aborted", surplus, ended)
	}
}
