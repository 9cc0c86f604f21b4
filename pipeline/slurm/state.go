package slurm

import (
	"slices"
	"strings"
)

// State is the state of an element, in Slurm's words.
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
	Preempted   State = "PREEMPTED"

	// Forgotten is our own word for what the cluster does not remember.
	Forgotten State = "FORGOTTEN"
)

var waiting = []State{Pending, "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", "CONFIGURING"}

// ends are the states in which an element does not run any more, with what each means for a unit
// that the element had begun and has not done.
var ends = map[State]verdict{
	Completed:   {why: "ended without it: there is no manifest"},
	Failed:      {why: "failed"},
	OutOfMemory: {why: "ran out of memory", memory: true},
	Timeout:     {why: "ran out of time", time: true},
	NodeFail:    {why: "lost its node", lost: true},
	"BOOT_FAIL": {why: "lost its node", lost: true},
	"REVOKED":   {why: "lost its node", lost: true},
	Preempted:   {why: "was preempted", lost: true},
	Cancelled:   {why: "was cancelled", final: true},
	"DEADLINE":  {why: "was cancelled", final: true},
	Forgotten:   {why: "is gone: the cluster does not list it"},
}

// Ended reports whether an element will not run any more. One that is requeued is
// pending again, and one that is suspended may go on.
func (s State) Ended() bool { _, ended := ends[s]; return ended }

// Waiting reports whether an element has yet to start, or to start again.
func (s State) Waiting() bool { return slices.Contains(waiting, s) }

// verdict says how to go on with a unit whose element has ended without it.
type verdict struct {
	why    string // in words that follow "job 12_3 on n1"
	final  bool   // trying again cannot help
	lost   bool   // no fault of the unit: the attempt does not count
	memory bool   // it needs more
	time   bool   // it needs more
	begun  bool   // the element had come to it
}

// judge returns what the end of an element means for a unit that it has not done. Begun
// says that the element had come to the unit.
func judge(state State, begun bool) verdict {
	v := ends[state]
	v.lost = v.lost || !begun && !v.final && state != Completed
	v.begun, v.memory, v.time = begun, v.memory && begun, v.time && begun
	return v
}

// Element is an element of a job, as its cluster knows it.
type Element struct {
	Job   string
	Index int    // in the array; 0 of a job that is none
	Title string // the name of the job: ids may come back after a crash of the controller; empty: not known
	State State
	Why   string // Slurm's reason, such as "Priority" or "OutOfMemory"; may be empty
	Node  string // where it runs or ran; empty before
}

// hopeless are beginnings of the reasons for which a pending job would wait for ever,
// with the key of a stage's resources that asks for too much.
var hopeless = []struct{ reason, key string }{
	{"PartitionTimeLimit", "minutes"}, {"QOSTimeLimit", "minutes"},
	{"AssocMaxWallDurationPerJobLimit", "minutes"}, {"QOSMaxWallDurationPerJobLimit", "minutes"},
	{"PartitionNodeLimit", "partition"}, {"PartitionConfig", "cpus"}, {"BadConstraints", "arguments"},
	{"QOSMaxMemoryPerJob", "memory_mib"}, {"QOSMaxCpuPerJobLimit", "cpus"}, {"AssocMaxCpuPerJobLimit", "cpus"},
	{"AccountNotAllowed", "account"}, {"InvalidAccount", "account"}, {"Job's account not known", "account"}, {"Job's account not permitted", "account"},
	{"InvalidQOS", "qos"}, {"QOSNotAllowed", "qos"}, {"Job's QOS not known", "qos"}, {"Job's QOS not permitted", "qos"},
}

// hopeless returns the key of the stage's resources that keeps a pending element waiting for
// ever; empty if nothing does.
func (e Element) hopeless() (key string) {
	for _, h := range hopeless {
		if e.State.Waiting() && strings.HasPrefix(e.Why, h.reason) {
			return h.key
		}
	}
	return ""
}
