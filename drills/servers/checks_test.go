//go:build drill

package servers_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/drills/drill"
	"speceval/internal/coupled"
	"speceval/internal/policy"
	"speceval/method/controller"
)

// shape is the worker that runs were on, and their origin. Every strategy has one run.
type shape struct {
	replicas, window int
	origin           string
}

// judge holds results to what any run must be.
func (s shape) judge(l *drill.Lab, all []*results) {
	l.Sub("every strategy was run, as "+s.origin, func(l *drill.Lab) { s.whole(l, all) })
	for _, c := range []struct {
		what  string
		fault func(r *results, one run) error
	}{
		{"every run accepted its budget exactly", exact},
		{"what is accepted is the pilot and a prefix of every task's continuations, with their coupled rewards", func(r *results, one run) error {
			_, err := continuations(r, one)
			return err
		}},
		{"HBN allocates as `speceval allocations` prints", allocates},
		{"no continuation was submitted before the last pilot, and by HBN-sync before its reward", ordered},
		{fmt.Sprintf("never more than %d requests at a replica, or %d in all", s.window, s.replicas*s.window), func(r *results, one run) error {
			return s.within(r.of(one))
		}},
		{"times of runs are those of their requests", timed},
	} {
		l.Sub(c.what, func(l *drill.Lab) {
			for _, r := range all {
				for _, one := range r.runs {
					if err := c.fault(r, one); err != nil {
						l.Errorf("%s: %v", r.runName(one), err)
					}
				}
			}
		})
	}
}

// whole checks that every strategy has its run, of the right origin.
func (s shape) whole(l *drill.Lab, all []*results) {
	for _, r := range all {
		times := map[string]int{}
		for _, one := range r.runs {
			times[one.Strategy]++
			if one.Provenance != s.origin {
				l.Errorf("%s, %s is %s", r.name(), one.Strategy, one.Provenance)
			}
		}
		for _, strategy := range policy.Strategies {
			if n := times[strategy.Name]; n != 1 {
				l.Errorf("%s has %d runs of %s, want 1", r.name(), n, strategy.Name)
			}
		}
		if len(r.runs) != len(policy.Strategies) {
			l.Errorf("%s has %d runs", r.name(), len(r.runs))
		}
	}
}

// exact counts requests by state.
func exact(r *results, one run) error {
	count, ids := map[string]int32{}, map[string]bool{}
	for _, q := range r.of(one) {
		count[q.State]++
		ids[q.ID] = true
	}
	n := int32(r.profile.N())
	switch {
	case one.NTasks != n || one.Strategy != policy.UniformEquivalent.Name && int(one.Budget) != r.budget:
		return fmt.Errorf("its row has %d tasks and budget %d", one.NTasks, one.Budget)
	case one.Accepted != n*one.Budget || count[accepted] != one.Accepted:
		return fmt.Errorf("%d accepted by its row, %d by its requests, want %d × %d", one.Accepted, count[accepted], n, one.Budget)
	case count[discarded] != one.Discarded || count[aborted] != one.Aborted || count[cancelled] != one.Cancelled:
		return fmt.Errorf("states %v; its row has %d discarded, %d aborted, %d cancelled", count, one.Discarded, one.Aborted, one.Cancelled)
	case one.Strategy != policy.HBNAsync.Name && len(r.of(one)) != int(one.Accepted):
		return fmt.Errorf("%d requests for %d rollouts", len(r.of(one)), one.Accepted)
	case len(ids) != len(r.of(one)):
		return fmt.Errorf("%d ids for %d requests", len(ids), len(r.of(one)))
	}
	return nil
}

// id is the rollout of a request, of the task -1 if the profile has none of that name.
func (r *results) id(q request) controller.ID {
	id := controller.ID{Task: int32(slices.Index(r.profile.TaskIDs, q.Task)), Ordinal: q.Ordinal}
	if q.Phase == continuation {
		id.Phase = controller.Continuation
	}
	return id
}

// continuations counts the accepted continuations of each task. It is an error if there
// are gaps in what was accepted, or a reward is not the coupled one.
func continuations(r *results, one run) ([]int, error) {
	rewards := coupled.NewRewards(r.profile, r.digest, r.seed)
	there := map[controller.ID]bool{}
	for _, q := range r.of(one) {
		id := r.id(q)
		switch {
		case id.Task < 0 || q.Phase != pilot && q.Phase != continuation:
			return nil, fmt.Errorf("%s is of no task or phase", q.ID)
		case (q.Passed != nil) != (q.State == accepted || q.State == discarded):
			return nil, fmt.Errorf("%s is %s, with a reward or without one", q.ID, q.State)
		case q.Passed != nil && *q.Passed != rewards.Reward(id):
			return nil, fmt.Errorf("%s has reward %v, by the hash the other one", q.ID, *q.Passed)
		}
		if q.State == accepted {
			there[id] = true
		}
	}
	found := 0
	counts := make([]int, r.profile.N())
	for task := range counts {
		id := controller.ID{Task: int32(task), Phase: controller.Pilot, Ordinal: 1}
		for ; there[id]; id.Ordinal++ {
			found++
		}
		if want := min(one.Pilots, one.Budget); id.Ordinal-1 != want {
			return nil, fmt.Errorf("%d pilots of task %s were accepted, want %d", id.Ordinal-1, r.profile.TaskIDs[task], want)
		}
		id.Phase, id.Ordinal = controller.Continuation, 1
		for ; there[id]; id.Ordinal++ {
			counts[task]++
			found++
		}
	}
	if found != len(there) {
		return nil, fmt.Errorf("%d of %d accepted rollouts come after a gap", len(there)-found, len(there))
	}
	return counts, nil
}

// allocates compares HBN's allocation with the one that the coupled rewards
// lead to, and Uniform's with an equal one.
func allocates(r *results, one run) error {
	counts, err := continuations(r, one)
	if err != nil {
		return err
	}
	digest := coupled.AllocationDigest(r.profile.TaskIDs, counts)
	strategy := policy.FindStrategy(one.Strategy)
	hbn := strategy != nil && strategy.Policy == policy.HBN
	switch {
	case digest != one.Allocation:
		return fmt.Errorf("its row has the allocation %.12s, its requests %.12s", one.Allocation, digest)
	case hbn && digest != r.allocation:
		return fmt.Errorf("allocation %.12s, want %.12s", digest, r.allocation)
	case !hbn && slices.Min(counts) != slices.Max(counts):
		return fmt.Errorf("%d to %d continuations", slices.Min(counts), slices.Max(counts))
	}
	return nil
}

// ordered checks the order of pilots and continuations.
func ordered(r *results, one run) error {
	requests := r.of(one)
	lastPilot, lastReward := math.Inf(-1), math.Inf(-1)
	for _, q := range requests {
		if q.Phase == pilot && q.RewardReady == nil {
			return fmt.Errorf("%s has no reward", q.ID)
		}
		if q.Phase == pilot {
			lastPilot, lastReward = max(lastPilot, q.Submitted), max(lastReward, *q.RewardReady)
		}
	}
	if lastReward != one.Pilot {
		return fmt.Errorf("the last pilot reward was there at %v s, its row has %v s", lastReward, one.Pilot)
	}
	for _, q := range requests {
		switch {
		case q.Phase == pilot:
		case q.Submitted < lastPilot:
			return fmt.Errorf("%s was submitted at %v s, the last pilot at %v s", q.ID, q.Submitted, lastPilot)
		case one.Strategy == policy.HBNSync.Name && q.Submitted < lastReward:
			return fmt.Errorf("%s was submitted at %v s, before the last pilot reward at %v s", q.ID, q.Submitted, lastReward)
		case q.Prefetched != (one.Strategy == policy.HBNAsync.Name && q.Submitted < one.Allocated):
			return fmt.Errorf("%s: submitted at %v s, allocation at %v s, prefetched %v", q.ID, q.Submitted, one.Allocated, q.Prefetched)
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

// within counts the requests that are outstanding at any time.
func (s shape) within(requests []request) error {
	var steps []step
	for _, q := range requests {
		steps = append(steps, step{q.Submitted, +1, q.Replica}, step{q.Finished, -1, q.Replica})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) }) // ends first
	all, at := 0, map[int32]int{}
	for _, step := range steps {
		all += step.by
		at[step.replica] += step.by
		if step.replica < 0 || int(step.replica) >= s.replicas || at[step.replica] > s.window || all > s.replicas*s.window {
			return fmt.Errorf("%d requests at replica %d, %d in all, %v s after the start", at[step.replica], step.replica, all, step.at)
		}
	}
	return nil
}

// timed compares the times of a run with those of its requests.
func timed(r *results, one run) error {
	lastSelected, last := 0.0, 0.0
	for _, q := range r.of(one) {
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
	case one.Time < lastSelected || one.Time > lastSelected+handled:
		return fmt.Errorf("it took %v s, its last selected reward was there at %v s", one.Time, lastSelected)
	case one.Released < one.Time || one.Released < last:
		return fmt.Errorf("all was over at %v s, its last request ended at %v s", one.Released, last)
	case one.Handling < 0 || one.Handling > one.Released:
		return fmt.Errorf("the router was at work for %v s of %v s", one.Handling, one.Released)
	}
	return nil
}

// sameSelection checks that two kinds of runs accepted the same rollouts, with the same
// ids and rewards, under every strategy. Both have results of every setting.
func sameSelection(l *drill.Lab, a, b []*results) {
	l.Sub("the virtual clock selects the same rollouts, with the same rewards", func(l *drill.Lab) {
		for i := range a {
			for _, s := range policy.Strategies {
				first := b[i].selection(runKey{s.Name, 0})
				for k := range a[i].requests {
					if k.strategy == s.Name && !slices.Equal(a[i].selection(k), first) {
						l.Errorf("%s, %s, repeat %d accepted others", a[i].name(), s.Name, k.repeat)
					}
				}
			}
		}
	})
}

// selection is what a run accepted, in order of ids.
func (r *results) selection(k runKey) []string {
	var ids []string
	for _, q := range r.requests[k] {
		if q.State == accepted {
			ids = append(ids, fmt.Sprintf("%s %v", q.ID, *q.Passed))
		}
	}
	slices.Sort(ids)
	return ids
}

// speculated checks that HBN-async speculated in every setting, and had surplus
// rollouts in one; with aborts, that some of those were ended by an abort, as
// they ran or before.
func speculated(l *drill.Lab, all []*results, aborts bool) {
	l.Sub("HBN-async speculated, and its surplus ended", func(l *drill.Lab) {
		surplus, ended := int32(0), int32(0)
		for _, r := range all {
			prefetched := int32(0)
			for _, one := range r.runs {
				if one.Strategy == policy.HBNAsync.Name {
					prefetched += one.Prefetched
					surplus += one.Discarded + one.Aborted + one.Cancelled
					ended += one.Aborted + one.Cancelled
				}
			}
			if prefetched == 0 {
				l.Errorf("%s: nothing was prefetched", r.name())
			}
		}
		if surplus == 0 || aborts && ended == 0 {
			l.Errorf("%d surplus rollouts, %d of them aborted", surplus, ended)
		}
	})
}

// unseenTokens is how many tokens of an aborted request no file names, at most.
const unseenTokens = 256

// tokens compares the tokens that servers made with those of the runs in the files, except
// the runs that were kept from before. Of each setting, servers may have made so many more
// to warm up. With every sample since before the runs, servers made no fewer either.
func tokens(l *drill.Lab, all []*results, kept map[string]string, made float64, warmUp int, whole bool) {
	l.Sub("servers made no more tokens than the files have", func(l *drill.Lab) {
		filed, unseen := 0, 0
		for _, r := range all {
			for _, one := range r.runs {
				if kept[r.runName(one)] != "" {
					continue
				}
				for _, q := range r.of(one) {
					filed += int(q.CompletionTokens)
					if q.AbortedTokens != nil {
						filed += int(*q.AbortedTokens)
						unseen++
					}
				}
			}
		}
		l.Logf("the servers made %.0f tokens, the files have %d; %d requests were not seen to their end", made, filed, unseen)
		slack := unseen*unseenTokens + len(all)*warmUp
		if more := made - float64(filed); whole && more < 0 || more > float64(slack) {
			l.Errorf("%.0f more, at most %d can be explained", more, slack)
		}
	})
}
