// Package slurm speaks to a Slurm cluster by its commands: it submits job
// arrays, asks how their elements stand, and cancels them. It knows nothing of
// what the jobs do. What Slurm says is taken as said: a state may be late,
// missing, or gone from its memory, and callers have to live with that.
package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Command runs a program of Slurm and returns what it wrote to its standard
// output. Its error quotes what it wrote to the other one.
type Command func(ctx context.Context, program string, arguments ...string) (stdout string, err error)

// answerLimit is how long a program of Slurm may take.
const answerLimit = time.Minute

// Run is a Command that runs the installed programs in an environment.
func Run(environment []string) Command {
	return func(ctx context.Context, program string, arguments ...string) (string, error) {
		ctx, stop := context.WithTimeout(ctx, answerLimit)
		defer stop()
		c := exec.CommandContext(ctx, program, arguments...)
		var stdout, stderr bytes.Buffer
		c.Env, c.Stdout, c.Stderr = environment, &stdout, &stderr
		err := c.Run()
		if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
			return "", fmt.Errorf("%s: %w: %s", program, err, text)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", program, err)
		}
		return stdout.String(), nil
	}
}

// Client speaks to the cluster that the commands reach.
type Client struct {
	run Command

	noAccounting bool // sacct has said so
}

// New is a client that runs Slurm's programs by run.
func New(run Command) *Client { return &Client{run: run} }

// programs are those that a client runs.
var programs = []string{"sbatch", "squeue", "scontrol", "scancel"}

// Installed tells which of Slurm's programs lookPath does not find.
func Installed(lookPath func(string) (string, error)) error {
	for _, program := range programs {
		if _, err := lookPath(program); err != nil {
			return fmt.Errorf("%s is not there: run on a machine from which jobs are submitted, or set executor.kind = \"local\" (%w)", program, err)
		}
	}
	return nil
}

// Limits are what the site allows.
type Limits struct {
	Version   string
	ArraySize int // elements of an array at most
}

// defaultArraySize is Slurm's own, where the site does not tell.
const defaultArraySize = 1001

// Limits asks for them. An error says that no cluster answers.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	text, err := c.run(ctx, "scontrol", "show", "config")
	if err != nil {
		return Limits{}, fmt.Errorf("ask Slurm for its limits: %w", err)
	}
	l := Limits{ArraySize: defaultArraySize}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch name {
		case "SLURM_VERSION":
			l.Version = value
		case "MaxArraySize":
			if n, err := strconv.Atoi(value); err == nil {
				l.ArraySize = n
			}
		}
	}
	return l, nil
}

// Partition is a partition of the cluster.
type Partition struct {
	Name       string
	Default    bool
	MaxMinutes int      // 0: no limit
	Accounts   []string // that may use it; nil: all
}

// Partitions lists them.
func (c *Client) Partitions(ctx context.Context) ([]Partition, error) {
	text, err := c.run(ctx, "scontrol", "show", "partition", "--oneliner")
	if err != nil {
		return nil, fmt.Errorf("ask Slurm for its partitions: %w", err)
	}
	var all []Partition
	for line := range strings.Lines(text) {
		f := fields(line)
		if f["PartitionName"] == "" {
			continue
		}
		minutes, _ := Minutes(f["MaxTime"])
		p := Partition{Name: f["PartitionName"], Default: f["Default"] == "YES", MaxMinutes: minutes}
		if allowed := f["AllowAccounts"]; allowed != "ALL" && allowed != "" {
			p.Accounts = strings.Split(allowed, ",")
		}
		all = append(all, p)
	}
	return all, nil
}

// fields are the NAME=value pairs of a line of scontrol.
func fields(line string) map[string]string {
	f := make(map[string]string)
	for word := range strings.FieldsSeq(line) {
		if name, value, ok := strings.Cut(word, "="); ok {
			if _, twice := f[name]; !twice {
				f[name] = value
			}
		}
	}
	return f
}

// Minutes reads a time limit as Slurm writes it: "1-02:03:04", "02:03:04" or
// "03:04", rounded up. No limit is 0 and false.
func Minutes(text string) (minutes int, limited bool) {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) == 1 { // minutes, or with days hours
		parts = append(parts, "0")
		if hasDays {
			parts = append(parts, "0")
		}
	}
	if len(parts) == 2 && hasDays {
		parts = append(parts, "0") // days-hours:minutes
	}
	seconds := 0
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return 0, false
		}
		seconds = seconds*60 + n
	}
	n, err := strconv.Atoi(days)
	if err != nil {
		return 0, false
	}
	return n*24*60 + (seconds+59)/60, true
}

// Cancel cancels elements, named as in Element.Name, or whole jobs: those among
// them that have the title.
func (c *Client) Cancel(ctx context.Context, title string, names []string) error {
	const most = 200 // words of one command
	var errs []error
	for part := range slices.Chunk(names, most) {
		if _, err := c.run(ctx, "scancel", append([]string{"--name=" + title}, part...)...); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cancel jobs: %w", err)
	}
	return nil
}

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
