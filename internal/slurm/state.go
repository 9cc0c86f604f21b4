package slurm

import (
	"slices"
	"strings"
)

// State is the state of an element in Slurm's words.
type State string

// The states that mean something special here.
const (
	Pending     State = "PENDING"
	Running     State = "RUNNING"
	Completed   State = "COMPLETED"
	Failed      State = "FAILED"
	Cancelled   State = "CANCELLED"
	Timeout     State = "TIMEOUT"
	OutOfMemory State = "OUT_OF_MEMORY"
	NodeFail    State = "NODE_FAIL"
	BootFail    State = "BOOT_FAIL"
	Preempted   State = "PREEMPTED"
	Deadline    State = "DEADLINE"
	Revoked     State = "REVOKED"

	// Forgotten is our own word for what Slurm does not remember.
	Forgotten State = "FORGOTTEN"
)

var ended = []State{Completed, Failed, Cancelled, Timeout, OutOfMemory, NodeFail, BootFail, Preempted, Deadline, Revoked, Forgotten}

// Ended tells whether an element will not run any more. One that is requeued is
// pending again, and one that is suspended may go on.
func (s State) Ended() bool { return slices.Contains(ended, s) }

var waiting = []State{Pending, "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", "CONFIGURING"}

// Waiting tells whether an element has yet to start, or to start again.
func (s State) Waiting() bool { return slices.Contains(waiting, s) }

// hopeless are reasons for which a pending job would wait for ever. The words
// are the key of the configuration that asks for too much.
var hopeless = map[string]string{
	"PartitionTimeLimit": "minutes", "PartitionNodeLimit": "partition",
	"PartitionConfig": "cpus", "AccountNotAllowed": "account", "InvalidAccount": "account", "InvalidQOS": "qos", "QOSNotAllowed": "qos",
	"BadConstraints": "arguments", "QOSTimeLimit": "minutes", "AssocMaxWallDurationPerJobLimit": "minutes", "QOSMaxWallDurationPerJobLimit": "minutes",
	"QOSMaxMemoryPerJob": "memory_mib", "QOSMaxCpuPerJobLimit": "cpus", "AssocMaxCpuPerJobLimit": "cpus",
}

// hopelessSentences begin what Slurm says of a pending job in place of such a
// word.
var hopelessSentences = map[string]string{
	"Job's account not known": "account", "Job's account not permitted": "account",
	"Job's QOS not known": "qos", "Job's QOS not permitted": "qos",
}

// Hopeless tells whether a pending element would wait for ever, and for want of
// what: a key of a stage's resources.
func (e Element) Hopeless() (key string, yes bool) {
	if !e.State.Waiting() {
		return "", false
	}
	if key, yes = hopeless[e.Why]; yes {
		return key, true
	}
	for sentence, key := range hopelessSentences {
		if strings.HasPrefix(e.Why, sentence) {
			return key, true
		}
	}
	return "", false
}
