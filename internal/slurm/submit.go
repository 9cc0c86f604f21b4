package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Submission is a job array to submit.
type Submission struct {
	Name     string // of the job; by it the array is found when the answer gets lost
	Script   string // path
	Elements int    // indices 0 to Elements − 1
	Throttle int    // elements that run at a time; 0: no limit
	Log      string // path of an element's output, with %a for the index; appended to

	Partition, Account, QOS string
	CPUs                    int
	MemoryMiB               int // 0: the site's default, WholeNode: all that a node has
	Minutes                 int // 0: the partition's default
	GPUs                    int
	Exclusive               bool
	Arguments               []string
}

// words are the arguments of sbatch.
func (s Submission) words() []string {
	array := fmt.Sprintf("0-%d", s.Elements-1)
	if s.Throttle > 0 {
		array += "%" + strconv.Itoa(s.Throttle)
	}
	words := []string{
		"--parsable", "--requeue", "--open-mode=append", "--ntasks=1", "--nodes=1",
		"--job-name=" + s.Name, "--array=" + array, "--output=" + s.Log, "--error=" + s.Log,
		"--cpus-per-task=" + strconv.Itoa(max(1, s.CPUs)),
	}
	for _, option := range []struct{ name, value string }{
		{"--partition", s.Partition}, {"--account", s.Account}, {"--qos", s.QOS},
		{"--mem", memory(s.MemoryMiB)}, {"--time", number(s.Minutes)}, {"--gpus-per-node", number(s.GPUs)},
	} {
		if option.value != "" {
			words = append(words, option.name+"="+option.value)
		}
	}
	if s.Exclusive {
		words = append(words, "--exclusive")
	}
	return append(append(words, s.Arguments...), s.Script)
}

// WholeNode is for Submission.MemoryMiB.
const WholeNode = -1

func memory(mib int) string {
	if mib == WholeNode {
		return "0"
	}
	return number(mib)
}

func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// RefusedError says that Slurm does not take a job as it is.
type RefusedError struct {
	Err   error
	Limit bool // of jobs: there may be room later
}

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// Submit submits an array and returns the id of its job. A *RefusedError says
// that there is no job; after any other error there may be one: ask Named.
func (c *Client) Submit(ctx context.Context, s Submission) (job string, err error) {
	text, err := c.run(ctx, "sbatch", s.words()...)
	if err != nil {
		return "", refusal(err)
	}
	job, _, _ = strings.Cut(lastLine(text), ";") // a cluster's name may follow
	if _, err := strconv.Atoi(job); err != nil {
		return "", fmt.Errorf("sbatch answered %q, which is no job", strings.TrimSpace(text))
	}
	return job, nil
}

// Test asks whether Slurm would take an array, now or ever, and submits nothing.
func (c *Client) Test(ctx context.Context, s Submission) error {
	words := s.words()
	words = append([]string{"--test-only", "--wrap=true"}, words[:len(words)-1]...) // in the script's place
	if _, err := c.run(ctx, "sbatch", words...); err != nil {
		return refusal(err)
	}
	return nil
}

// lastLine is the last line of a text, without space around it. Sites print
// greetings before it.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// refusal tells a clear no from an answer that got lost.
func refusal(err error) error {
	text := err.Error()
	var unsure bool
	for _, sign := range []string{"timed out", "Unable to contact", "Connection refused", "Zero Bytes", "Transport", "signal:", "Communication"} {
		unsure = unsure || strings.Contains(text, sign)
	}
	if unsure || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	limit := strings.Contains(text, "limit") || strings.Contains(text, "temporarily unable")
	return &RefusedError{Err: err, Limit: limit && !strings.Contains(text, "Requested time limit")}
}

// Named are the ids of the jobs of a name that Slurm remembers.
func (c *Client) Named(ctx context.Context, name string) ([]string, error) {
	text, err := c.run(ctx, "squeue", "--noheader", "--states=all", "--name="+name, "--format=%F")
	if err != nil {
		return nil, fmt.Errorf("look for job %s: %w", name, err)
	}
	var jobs []string
	for job := range strings.FieldsSeq(text) {
		if len(jobs) == 0 || jobs[len(jobs)-1] != job {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}
