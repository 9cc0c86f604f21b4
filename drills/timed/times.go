package timed

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
)

// ordered checks the order of pilots and continuations.
func ordered(r *Results, run Run) error {
	requests := r.Requests(run)
	lastPilot, lastReward := math.Inf(-1), math.Inf(-1)
	for _, q := range requests {
		if q.Phase == pilot && q.RewardReady == nil {
			return fmt.Errorf("%s has no reward", q.ID)
		}
		if q.Phase == pilot {
			lastPilot, lastReward = max(lastPilot, q.Submitted), max(lastReward, *q.RewardReady)
		}
	}
	if lastReward != run.Pilot {
		return fmt.Errorf("the last pilot reward was there at %v s, its row says %v s", lastReward, run.Pilot)
	}
	for _, q := range requests {
		switch {
		case q.Phase == pilot:
		case q.Submitted < lastPilot:
			return fmt.Errorf("%s was submitted at %v s, the last pilot at %v s", q.ID, q.Submitted, lastPilot)
		case run.Strategy == policy.HBNSync.Name && q.Submitted < lastReward:
			return fmt.Errorf("%s was submitted at %v s, before the last pilot reward at %v s", q.ID, q.Submitted, lastReward)
		case q.Prefetched != (run.Strategy == policy.HBNAsync.Name && q.Submitted < run.Allocated):
			return fmt.Errorf("%s: submitted at %v s, allocation at %v s, prefetched %v", q.ID, q.Submitted, run.Allocated, q.Prefetched)
		case (q.State != accepted) && !q.Prefetched:
			return fmt.Errorf("%s is %s, and was submitted after the allocation", q.ID, q.State)
		}
	}
	return nil
}

// step is a request that begins (+1) or ends (−1) at a time.
type step struct {
	at      float64
	by      int
	replica int32
}

// steps are the begins and ends of requests in order of time, ends first.
func steps(requests []Request) []step {
	var all []step
	for _, q := range requests {
		all = append(all, step{q.Submitted, +1, q.Replica}, step{q.Finished, -1, q.Replica})
	}
	slices.SortFunc(all, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
	return all
}

// within counts the requests that are outstanding at any time.
func (s Shape) within(requests []Request) error {
	all, at := 0, map[int32]int{}
	for _, step := range steps(requests) {
		all += step.by
		at[step.replica] += step.by
		if step.replica < 0 || int(step.replica) >= s.Replicas || at[step.replica] > s.Window || all > s.Replicas*s.Window {
			return fmt.Errorf("%d requests at replica %d, %d in all, %v s after the start", at[step.replica], step.replica, all, step.at)
		}
	}
	return nil
}

// timed compares the times of a run with those of its requests.
func timed(r *Results, run Run) error {
	lastSelected, last := 0.0, 0.0
	for _, q := range r.Requests(run) {
		if q.State == accepted {
			lastSelected = max(lastSelected, *q.RewardReady)
		}
		last = max(last, q.Finished)
		if q.Started != nil && (*q.Started < q.Submitted || *q.Started > q.Finished) || q.Finished < q.Submitted || q.RewardReady != nil && *q.RewardReady < q.Finished {
			return fmt.Errorf("times of %s: %+v", q.ID, q)
		}
	}
	const handled = 0.25 // seconds from a reward to the end of the handling of its event, at most
	switch {
	case run.Time < lastSelected || run.Time > lastSelected+handled:
		return fmt.Errorf("it took %v s, its last selected reward was there at %v s", run.Time, lastSelected)
	case run.Released < run.Time || run.Released < last:
		return fmt.Errorf("all was over at %v s, its last request ended at %v s", run.Released, last)
	case run.Handling < 0 || run.Handling > run.Released:
		return fmt.Errorf("the router was at work for %v s of %v s", run.Handling, run.Released)
	}
	return nil
}

// SameSelection checks that two kinds of runs accepted the same rollouts, with
// the same ids and rewards, under every strategy. Both have results of every
// setting.
func SameSelection(a, b []*Results) error {
	for i := range a {
		for _, s := range policy.Strategies {
			strategy := s.Name
			first := selection(b[i], key{strategy, 0})
			for k := range a[i].requests {
				if k.strategy == strategy && !slices.Equal(selection(a[i], k), first) {
					return fmt.Errorf("%s, %s, repeat %d accepted others", a[i].Name(), strategy, k.repeat)
				}
			}
		}
	}
	return nil
}

// selection is what a run accepted, in order of ids.
func selection(r *Results, k key) []string {
	var ids []string
	for _, q := range r.requests[k] {
		if q.State == accepted {
			ids = append(ids, fmt.Sprintf("%s %v", q.ID, *q.Passed))
		}
	}
	slices.Sort(ids)
	return ids
}

// Speculated checks that HBN-async speculated in every setting, and had surplus
// rollouts in one; with aborts, that some of those were ended by an abort, as
// they ran or before.
func Speculated(all []*Results, aborts bool) error {
	surplus, ended := int32(0), int32(0)
	for _, r := range all {
		prefetched := int32(0)
		for _, run := range r.Runs {
			if run.Strategy == policy.HBNAsync.Name {
				prefetched += run.Prefetched
				surplus += run.Discarded + run.Aborted + run.Cancelled
				ended += run.Aborted + run.Cancelled
			}
		}
		if prefetched == 0 {
			return fmt.Errorf("%s: nothing was prefetched", r.Name())
		}
	}
	if surplus == 0 || aborts && ended == 0 {
		return fmt.Errorf("%d surplus rollouts, %d of them aborted", surplus, ended)
	}
	return nil
}
