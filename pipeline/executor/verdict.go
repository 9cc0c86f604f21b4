package executor

import (
	"errors"
	"fmt"

	"speceval/internal/slurm"
)

// verdict is what is to be done about a unit whose element has ended without
// it.
type verdict struct {
	why    string // in words that follow "job 12_3 on n1"
	final  bool   // trying again cannot help
	lost   bool   // no fault of the unit: the attempt does not count
	memory bool   // it needs more
	time   bool   // it needs more
	begun  bool   // the element had come to it
}

// judge tells what the end of an element means for a unit that it has not done.
// Begun tells whether the element had come to the unit.
func judge(state slurm.State, exit int, begun bool) verdict {
	v := meaning(state, exit, begun)
	v.begun = begun
	return v
}

func meaning(state slurm.State, exit int, begun bool) verdict {
	switch state {
	case slurm.Completed:
		return verdict{why: "ended without it"}
	case slurm.OutOfMemory:
		return verdict{why: "ran out of memory", memory: begun, lost: !begun}
	case slurm.Timeout:
		return verdict{why: "ran out of time", time: begun, lost: !begun}
	case slurm.NodeFail, slurm.BootFail, slurm.Revoked:
		return verdict{why: "lost its node", lost: true}
	case slurm.Preempted:
		return verdict{why: "was preempted", lost: true}
	case slurm.Cancelled, slurm.Deadline:
		return verdict{why: "was cancelled", final: true}
	case slurm.Forgotten:
		return verdict{why: "is gone, and Slurm does not say why", lost: !begun}
	}
	if exit == unshared {
		return verdict{why: "did not find the output folder: it must be on a file system that all nodes share", final: true}
	}
	return verdict{why: fmt.Sprintf("failed with exit code %d", exit), lost: !begun}
}

// mostLost bounds how often a unit is tried again without a fault of its own.
const mostLost = 10

// errTooShort says that no longer time limit can be asked for.
var errTooShort = errors.New("no longer time limit can be asked for: set minutes or another partition for its stage")

// next is the unit's next attempt after a failure; false if there is none.
func (p *piece) next(v verdict, retries int, limits resourceLimits) (*piece, bool) {
	q := *p
	q.alone = p.alone || v.begun // it may be what ends elements
	if v.lost {
		q.lost++
		return &q, !v.final && q.lost <= mostLost
	}
	q.attempt++
	if v.final || q.attempt > retries+1 {
		return &q, false
	}
	if v.memory {
		q.memory = slurm.WholeNode
		if limits.memory > 0 && p.memory != slurm.WholeNode {
			q.memory = 2 * max(limits.memory, p.memory)
		}
	}
	if v.time {
		now := max(limits.minutes, p.minutes)
		if q.minutes = longer(now, limits.longest); q.minutes <= now {
			q.last = errTooShort
			return &q, false
		}
	}
	return &q, true
}

// longer is twice a time limit, up to the partition's; of a partition's default,
// which is 0, it is the longest that there is. Nothing is longer than the longest.
func longer(minutes, longest int) int {
	switch {
	case minutes == 0:
		return longest
	case longest == 0:
		return 2 * minutes
	}
	return min(2*minutes, longest)
}

// resourceLimits are what an attempt had, and what the partition allows.
type resourceLimits struct {
	memory  int // MiB; 0: the site's default
	minutes int // 0: the partition's default
	longest int // minutes; 0: no limit
}
