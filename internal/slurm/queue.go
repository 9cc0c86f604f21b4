package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Element is an element of a job array, as Slurm knows it.
type Element struct {
	Job   string // of the array
	Index int
	Title string // the name of the job, see Submission.Name: ids may come back after a crash of the controller
	State State
	Why   string // Slurm's reason, such as "Priority" or "OutOfMemory"; may be empty
	Node  string // where it runs or ran; empty before
	Exit  int    // of the script; 0 also where it is not known
}

// Name is how commands call the element: "1234_7".
func (e Element) Name() string { return Name(e.Job, e.Index) }

// Name is how commands call an element of a job.
func Name(job string, index int) string { return job + "_" + strconv.Itoa(index) }

// Elements asks how elements stand, of which job and index count. One that Slurm
// does not remember is left out: it has ended, some minutes ago, where there is
// no accounting. Others of the same jobs may be among the answers.
func (c *Client) Elements(ctx context.Context, wanted []Element) ([]Element, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	jobs := jobsOf(wanted)
	elements, err := c.queue(ctx, jobs)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(elements))
	for _, e := range elements {
		known[e.Name()] = true
	}
	missing := slices.ContainsFunc(wanted, func(e Element) bool { return !known[e.Name()] })
	if !missing || c.noAccounting {
		return elements, nil
	}
	recorded, err := c.recorded(ctx, jobs)
	if err != nil && ctx.Err() == nil {
		c.noAccounting = true // or none that answers: the queue has to do
	}
	for _, e := range recorded {
		if !known[e.Name()] {
			elements = append(elements, e)
		}
	}
	return elements, nil
}

// jobsOf are the jobs of elements, each once.
func jobsOf(elements []Element) []string {
	var jobs []string
	seen := make(map[string]bool)
	for _, e := range elements {
		if !seen[e.Job] {
			seen[e.Job] = true
			jobs = append(jobs, e.Job)
		}
	}
	return jobs
}

// queue asks squeue, which remembers what has ended for some minutes.
func (c *Client) queue(ctx context.Context, jobs []string) ([]Element, error) {
	text, err := c.run(ctx, "squeue", "--noheader", "--array", "--states=all", "--jobs="+strings.Join(jobs, ","), "--format=%F|%K|%T|%r|%N|%j")
	if err != nil {
		if strings.Contains(err.Error(), "Invalid job id") { // all of them are forgotten
			return nil, nil
		}
		return nil, fmt.Errorf("ask Slurm for the queue: %w", err)
	}
	var elements []Element
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 6 {
			continue
		}
		index, err := strconv.Atoi(f[1])
		if err != nil {
			continue
		}
		why := f[3]
		if why == "None" {
			why = ""
		}
		elements = append(elements, Element{Job: f[0], Index: index, Title: f[5], State: State(f[2]), Why: why, Node: f[4]})
	}
	return elements, nil
}

// recorded asks sacct, where the site keeps accounts. The days are wide: by
// itself sacct begins at midnight.
func (c *Client) recorded(ctx context.Context, jobs []string) ([]Element, error) {
	text, err := c.run(ctx, "sacct", "--allocations", "--noheader", "--parsable2", "--starttime=now-30days",
		"--jobs="+strings.Join(jobs, ","), "--format=JobID,State,ExitCode,NodeList,JobName")
	if err != nil {
		return nil, err
	}
	var elements []Element
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 5 {
			continue
		}
		job, number, _ := strings.Cut(f[0], "_")
		index, err := strconv.Atoi(number)
		if err != nil {
			continue // an array as a whole
		}
		state, _, _ := strings.Cut(f[1], " ") // "CANCELLED by 1000"
		code, _ := exitCode(f[2])
		node := f[3]
		if node == "None assigned" {
			node = ""
		}
		elements = append(elements, Element{Job: job, Index: index, Title: f[4], State: State(state), Node: node, Exit: code})
	}
	return elements, nil
}

// ExitCode is what the script of an element ended with, as far as Slurm
// remembers it: known is false otherwise.
func (c *Client) ExitCode(ctx context.Context, e Element) (code int, known bool) {
	text, err := c.run(ctx, "scontrol", "show", "job", e.Name(), "--oneliner")
	if err != nil {
		return e.Exit, e.Exit != 0
	}
	return exitCode(fields(text)["ExitCode"])
}

// exitCode reads "code:signal"; as in a shell, a signal counts as 128 and its
// number.
func exitCode(text string) (code int, known bool) {
	exit, signal, _ := strings.Cut(text, ":")
	code, err := strconv.Atoi(exit)
	if by, bad := strconv.Atoi(signal); err == nil && bad == nil && code == 0 && by > 0 {
		code = 128 + by
	}
	return code, err == nil
}

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
