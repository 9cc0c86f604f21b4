package timed

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"speceval/internal/coupled"
	"speceval/internal/policy"
	"speceval/method/controller"
)

// Check is something that must hold, and why it does not.
type Check struct {
	What  string
	Fault error
}

// Print shows a line for every check, and is the error of those that fail.
func Print(w io.Writer, checks []Check) error {
	var faults []error
	for _, c := range checks {
		verdict := "yes"
		if c.Fault != nil {
			verdict = "NO: " + c.Fault.Error()
			faults = append(faults, fmt.Errorf("not so: %s", c.What))
		}
		fmt.Fprintf(w, "%s: %s\n", c.What, verdict)
	}
	return errors.Join(faults...)
}

// Shape is the worker that runs were on, and what they say of it.
type Shape struct {
	Replicas, Window int
	Repeats          int
	Provenance       string
}

// Checks holds results to what any run must be.
func Checks(all []*Results, s Shape) []Check {
	each := func(what string, check func(*Results, Run) error) Check {
		var faults []error
		for _, r := range all {
			for _, run := range r.Runs {
				if err := check(r, run); err != nil {
					faults = append(faults, fmt.Errorf("%s, %s, repeat %d: %w", r.Name(), run.Strategy, run.Repeat, err))
				}
			}
		}
		return Check{what, errors.Join(faults...)}
	}
	return []Check{
		{"every strategy was run, as " + s.Provenance, whole(all, s)},
		each("every run accepted its budget exactly", func(r *Results, run Run) error { return exact(r, run) }),
		each("what is accepted is the pilot and a prefix of every task's continuations, with their coupled rewards", selected),
		each("HBN allocates as `speceval allocations` says", allocates),
		each("no continuation was submitted before the last pilot, and by HBN-sync before its reward", ordered),
		each(fmt.Sprintf("never more than %d requests at a replica, or %d in all", s.Window, s.Replicas*s.Window), func(r *Results, run Run) error {
			return s.within(r.Requests(run))
		}),
		each("times of runs are those of their requests", timed),
	}
}

// whole looks for the runs that there must be.
func whole(all []*Results, s Shape) error {
	var faults []error
	for _, r := range all {
		times := map[string]int{}
		for _, run := range r.Runs {
			times[run.Strategy]++
			if run.Provenance != s.Provenance {
				faults = append(faults, fmt.Errorf("%s, %s is %s", r.Name(), run.Strategy, run.Provenance))
			}
		}
		for _, strategy := range policy.Strategies {
			if n := times[strategy.Name]; n != s.Repeats {
				faults = append(faults, fmt.Errorf("%s has %d runs of %s, want %d", r.Name(), n, strategy.Name, s.Repeats))
			}
		}
		if len(r.Runs) != len(policy.Strategies)*s.Repeats {
			faults = append(faults, fmt.Errorf("%s has %d runs", r.Name(), len(r.Runs)))
		}
	}
	return errors.Join(faults...)
}

// exact counts requests by state.
func exact(r *Results, run Run) error {
	count, ids := map[string]int32{}, map[string]bool{}
	for _, q := range r.Requests(run) {
		count[q.State]++
		ids[q.ID] = true
	}
	n := int32(r.Profile.N())
	switch {
	case run.NTasks != n || run.Strategy != policy.UniformEquivalent.Name && int(run.Budget) != r.Budget:
		return fmt.Errorf("it says %d tasks and budget %d", run.NTasks, run.Budget)
	case run.Accepted != n*run.Budget || count[accepted] != run.Accepted:
		return fmt.Errorf("%d accepted by its row, %d by its requests, want %d × %d", run.Accepted, count[accepted], n, run.Budget)
	case count[discarded] != run.Discarded || count[aborted] != run.Aborted || count[cancelled] != run.Cancelled:
		return fmt.Errorf("states %v; its row says %d discarded, %d aborted, %d cancelled", count, run.Discarded, run.Aborted, run.Cancelled)
	case run.Strategy != policy.HBNAsync.Name && len(r.Requests(run)) != int(run.Accepted):
		return fmt.Errorf("%d requests for %d rollouts", len(r.Requests(run)), run.Accepted)
	case len(ids) != len(r.Requests(run)):
		return fmt.Errorf("%d ids for %d requests", len(ids), len(r.Requests(run)))
	}
	return nil
}

// selected looks for gaps in what was accepted, and works out its rewards.
func selected(r *Results, run Run) error {
	_, err := continuations(r, run)
	return err
}

// continuations counts the accepted continuations of each task.
func continuations(r *Results, run Run) ([]int, error) {
	rewards := coupled.NewRewards(r.Profile, r.Digest, r.Seed)
	there := map[controller.ID]bool{}
	for _, q := range r.Requests(run) {
		id := controller.ID{Task: int32(slices.Index(r.Profile.TaskIDs, q.Task)), Ordinal: q.Ordinal}
		if q.Phase == continuation {
			id.Phase = controller.Continuation
		}
		switch {
		case id.Task < 0 || q.Phase != pilot && q.Phase != continuation:
			return nil, fmt.Errorf("%s is of no task or phase", q.ID)
		case (q.Passed != nil) != (q.State == accepted || q.State == discarded):
			return nil, fmt.Errorf("%s is %s, with a reward or without one", q.ID, q.State)
		case q.Passed != nil && *q.Passed != rewards.Reward(id):
			return nil, fmt.Errorf("%s has reward %v, the hash says otherwise", q.ID, *q.Passed)
		}
		if q.State == accepted {
			there[id] = true
		}
	}
	found := 0
	counts := make([]int, r.Profile.N())
	for task := range counts {
		id := controller.ID{Task: int32(task), Phase: controller.Pilot, Ordinal: 1}
		for ; there[id]; id.Ordinal++ {
			found++
		}
		if want := min(run.Pilots, run.Budget); id.Ordinal-1 != want {
			return nil, fmt.Errorf("%d pilots of task %s were accepted, want %d", id.Ordinal-1, r.Profile.TaskIDs[task], want)
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
func allocates(r *Results, run Run) error {
	counts, err := continuations(r, run)
	if err != nil {
		return err
	}
	digest := coupled.AllocationDigest(r.Profile.TaskIDs, counts)
	strategy := policy.FindStrategy(run.Strategy)
	hbn := strategy != nil && strategy.Policy == policy.HBN
	switch {
	case digest != run.Allocation:
		return fmt.Errorf("its row says the allocation %.12s, its requests %.12s", run.Allocation, digest)
	case hbn && digest != r.Allocation:
		return fmt.Errorf("allocation %.12s, want %.12s", digest, r.Allocation)
	case !hbn && slices.Min(counts) != slices.Max(counts):
		return fmt.Errorf("%d to %d continuations", slices.Min(counts), slices.Max(counts))
	}
	return nil
}
