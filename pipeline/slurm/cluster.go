package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cluster is the scheduler of Slurm.
type cluster struct {
	run   Command
	names string // as --clusters has them; empty: the local cluster
}

// clusters returns the clusters that arguments of sbatch choose, or else the environment,
// as sbatch reads them; empty for the local one.
func clusters(arguments []string, variable func(name string) string) string {
	names := ""
	for i, argument := range arguments {
		name, value, given := strings.Cut(argument, "=")
		if short, found := strings.CutPrefix(argument, "-M"); found {
			name, value, given = "-M", short, short != ""
		}
		if name != "-M" && (len(name) < len("--cluster") || !strings.HasPrefix("--clusters", name)) {
			continue
		}
		if !given && i+1 < len(arguments) {
			value = arguments[i+1]
		}
		names = value
	}
	return cmp.Or(names, variable("SBATCH_CLUSTERS"), variable("SLURM_CLUSTERS"))
}

// ask runs a program of Slurm for the jobs of the cluster.
func (c *cluster) ask(ctx context.Context, program string, words ...string) (string, error) {
	if c.names != "" {
		words = append(words, "--clusters="+c.names)
	}
	return c.run(ctx, program, words...)
}

func (c *cluster) check(ctx context.Context, stage string, r Resources) (allowed, error) {
	limits := allowed{elements: 1001} // of Slurm, where the site has no other
	text, err := c.ask(ctx, "scontrol", "show", "config")
	if errors.Is(err, exec.ErrNotFound) {
		return limits, &RefusedError{fmt.Errorf("scontrol is not there: run on a machine from which jobs are submitted, or set executor.kind = \"local\" (%w)", err)}
	}
	if err != nil {
		return limits, fmt.Errorf("ask Slurm for its limits: %w", err)
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, "=")
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && strings.TrimSpace(name) == "MaxArraySize" {
			limits.elements = n
		}
	}
	if text, err = c.ask(ctx, "scontrol", "show", "partition", "--oneliner"); err != nil {
		return limits, fmt.Errorf("ask Slurm for its partitions: %w", err)
	}
	if limits.minutes = longestIn(text, r.Partition); limits.minutes > 0 && r.Minutes > limits.minutes {
		return limits, &RefusedError{fmt.Errorf("executor.%s.minutes = %d: partition %s allows %d", stage, r.Minutes, cmp.Or(r.Partition, "by default"), limits.minutes)}
	}
	test := Batch{Name: "speceval-test", Elements: make([][]Member, 1)}
	words := append([]string{"--test-only", "--wrap=true"}, r.words(&test, "/dev/null", 0)...)
	if _, err := c.run(ctx, "sbatch", words...); err != nil && refusalOf(err) == refused {
		return limits, &RefusedError{fmt.Errorf("submit jobs: Slurm takes no jobs of %s (%s): look at executor.%s and executor in the configuration", stage, err, stage)}
	}
	return limits, nil
}

// longestIn is the time limit in minutes of a partition, or of the default one where it is "", in
// scontrol's list of all; 0: none, or not known.
func longestIn(list, partition string) int {
	for line := range strings.Lines(list) {
		f := make(map[string]string)
		for word := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(word, "=")
			f[name] = value
		}
		if f["PartitionName"] == partition || partition == "" && f["Default"] == "YES" {
			return minutesIn(f["MaxTime"])
		}
	}
	return 0
}

// minutesIn reads a time limit as scontrol writes it, "1-02:03:04" or "02:03:04", rounded
// up. No limit is 0.
func minutesIn(text string) int {
	var days, hours, minutes, seconds int
	if day, clock, long := strings.Cut(text, "-"); long {
		days, _ = strconv.Atoi(day)
		text = clock
	}
	if n, _ := fmt.Sscanf(text, "%d:%d:%d", &hours, &minutes, &seconds); n != 3 {
		return 0
	}
	return (days*24+hours)*60 + minutes + (seconds+59)/60
}

func (c *cluster) submit(ctx context.Context, b *Batch, dir string, r Resources, throttle int) (outcome, error) {
	words := append(r.words(b, filepath.Join(dir, "element-%a.log"), throttle), filepath.Join(dir, scriptFile))
	text, err := c.run(ctx, "sbatch", words...)
	if err != nil {
		return refusalOf(err), err
	}
	job, where, _ := strings.Cut(lastLine(text), ";")
	if _, err := strconv.Atoi(job); err != nil {
		return unknown, fmt.Errorf("sbatch answered %q, which is no job", strings.TrimSpace(text))
	}
	b.Job = job
	if c.names != "" && where != "" { // one of several
		b.Clusters = where
	}
	return 0, nil
}

// wholeNode is a MemoryMiB: all that a node has.
const wholeNode = -1

// words are the arguments of sbatch for a batch, up to the script.
func (r Resources) words(b *Batch, log string, throttle int) []string {
	array := fmt.Sprintf("0-%d", len(b.Elements)-1)
	if throttle > 0 {
		array += "%" + strconv.Itoa(throttle)
	}
	words := []string{
		"--parsable", "--requeue", "--open-mode=append", "--ntasks=1", "--nodes=1",
		"--job-name=" + b.Name, "--array=" + array, "--output=" + log, "--error=" + log,
		"--cpus-per-task=" + strconv.Itoa(r.CPUs),
	}
	for _, o := range []struct {
		name, value string
		n           int
	}{
		{"--partition", r.Partition, 0}, {"--account", r.Account, 0}, {"--qos", r.QOS, 0},
		{"--mem", "", r.MemoryMiB}, {"--time", "", r.Minutes}, {"--gpus-per-node", "", r.GPUs},
	} {
		if o.n > 0 {
			o.value = strconv.Itoa(o.n)
		} else if o.n == wholeNode {
			o.value = "0"
		}
		if o.value != "" {
			words = append(words, o.name+"="+o.value)
		}
	}
	if r.Exclusive {
		words = append(words, "--exclusive")
	}
	return append(words, r.Arguments...)
}

// refusalOf tells a clear no from a limit that leaves room later, and from an answer
// that got lost.
func refusalOf(err error) outcome {
	text := err.Error()
	has := func(signs ...string) bool {
		return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(text, sign) })
	}
	switch {
	case has("timed out", "has not ended", "Unable to contact", "Connection refused", "Zero Bytes", "Transport", "signal:", "Communication", "standby mode"),
		errors.Is(err, context.Canceled):
		return unknown
	case slices.ContainsFunc(hopeless, func(h struct{ reason, key string }) bool { return strings.Contains(text, h.reason) }):
		return refused
	case has("SubmitJob", "submit limit", "emporarily un", "rate limit", "MaxJobCount"):
		return full
	}
	return refused
}

func (c *cluster) find(ctx context.Context, b *Batch) (job string, err error) {
	text, err := c.ask(ctx, "squeue", "--noheader", "--states=all", "--name="+b.Name, "--format=%F")
	if err != nil {
		return "", fmt.Errorf("look for job %s: %w", b.Name, err)
	}
	for line := range strings.Lines(text) {
		if id := strings.TrimSpace(line); job == "" && strings.Trim(id, "0123456789") == "" {
			job = id // others are lines such as "CLUSTER: gpu"
		}
	}
	return job, nil
}

func (c *cluster) cancel(ctx context.Context, title string, names ...string) error {
	if _, err := c.ask(ctx, "scancel", append([]string{"--name=" + title}, names...)...); err != nil {
		return fmt.Errorf("cancel jobs: %w", err)
	}
	return nil
}

// elements asks squeue, which remembers what has ended for some minutes, and sacct for
// what it has forgotten, where the site keeps accounts.
func (c *cluster) elements(ctx context.Context, arrays []*array) ([]Element, error) {
	jobs := idsOf(arrays)
	if len(jobs) == 0 {
		return nil, nil
	}
	list := "--jobs=" + strings.Join(jobs, ",")
	text, err := c.ask(ctx, "squeue", "--noheader", "--array", "--states=all", list, "--format=%F|%K|%T|%r|%N|%j")
	if err != nil && !strings.Contains(err.Error(), "Invalid job id") { // all of them are forgotten
		return nil, fmt.Errorf("ask Slurm for the queue: %w", err)
	}
	elements := elementsIn(text)
	known := make(map[string]bool, len(elements))
	for _, e := range elements {
		known[fmt.Sprintf("%s_%d", e.Job, e.Index)] = true
	}
	missing := slices.ContainsFunc(arrays, func(a *array) bool {
		return slices.ContainsFunc(a.open, func(e *element) bool { return a.Job != "" && !known[e.name()] })
	})
	if missing { // the days are wide: by itself sacct begins at midnight; where it does not answer the queue has to do
		text, _ = c.ask(ctx, "sacct", "--allocations", "--noheader", "--parsable2", "--starttime=now-30days", list, "--format=JobID,State,NodeList,JobName")
		elements = append(elements, elementsIn(text)...)
	}
	return elements, nil
}

// elementsIn reads lines of squeue, "id|index|state|reason|node|name", and of sacct,
// "id_index|state|node|name". An array as a whole is passed over.
func elementsIn(text string) (elements []Element) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) == 4 {
			job, index, _ := strings.Cut(f[0], "_")
			f = []string{job, index, f[1], "", f[2], f[3]}
		}
		if len(f) != 6 {
			continue
		}
		index, err := strconv.Atoi(f[1])
		if err != nil {
			continue
		}
		for i, nothing := range []string{3: "None", 4: "None assigned"} {
			if f[i] == nothing {
				f[i] = ""
			}
		}
		state, _, _ := strings.Cut(f[2], " ") // "CANCELLED by 1000"
		elements = append(elements, Element{Job: f[0], Index: index, State: State(state), Why: f[3], Node: f[4], Title: f[5]})
	}
	return elements
}
