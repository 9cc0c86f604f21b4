package slurm

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/terminal/display"
)

// Placeholders of the templates of commands, which a shell runs. Anything else in braces
// is left to the shell and its programs.
const (
	commandPlaceholder = "{command}" // of submit: what runs the element
	jobsPlaceholder    = "{jobs}"    // of status and cancel: ids, with spaces between
	namePlaceholder    = "{name}"    // of submit: a name of the job, which then is its id
)

// commands is the scheduler that runs commands of the user's. A job has one element.
type commands struct {
	Target
	submits string // executor.submit, as the others
	run     Command
	report  func(string)
	strange map[string]bool // states that have been reported
}

// shell runs a template with the values of placeholders, which alternate. A pipeline of which
// a part fails has failed.
func (c *commands) shell(ctx context.Context, template string, values ...string) (string, error) {
	return c.run(ctx, "bash", "-o", "pipefail", "-c", strings.NewReplacer(values...).Replace(template))
}

// check has a shell read the commands, and look for the program of each.
func (c *commands) check(ctx context.Context, _ string, _ Resources) (allowed, error) {
	for _, t := range []struct{ key, template string }{{"submit", c.submits}, {"status", c.Status}, {"cancel", c.Cancel}} {
		_, err := c.run(ctx, "bash", "-n", "-c", t.template)
		if program, _, _ := strings.Cut(strings.TrimSpace(t.template), " "); err == nil && display.ShellWord(program) == program && !strings.Contains(program, "=") {
			_, err = c.run(ctx, "bash", "-c", "command -v "+program)
			if err != nil {
				err = fmt.Errorf("%s is not there", program)
			}
		}
		if err != nil {
			return allowed{}, &RefusedError{fmt.Errorf("executor.%s cannot be run: %w", t.key, err)}
		}
	}
	return allowed{elements: 1}, nil
}

func (c *commands) submit(ctx context.Context, b *Batch, dir string, r Resources, _ int) (outcome, error) {
	named := strings.Contains(c.submits, namePlaceholder)
	if named {
		b.Job = b.label()
	}
	text, err := c.shell(ctx, c.submits,
		commandPlaceholder, "bash "+display.ShellWord(filepath.Join(dir, scriptFile))+" 0", namePlaceholder, b.label(), "{log}", display.ShellWord(LogPath(dir, 0)),
		"{cpus}", strconv.Itoa(r.CPUs), "{memory_mib}", strconv.Itoa(max(0, r.MemoryMiB)), "{minutes}", strconv.Itoa(r.Minutes), "{gpus}", strconv.Itoa(r.GPUs))
	if err != nil {
		return failed, fmt.Errorf("executor.submit failed: %w", err)
	}
	if named {
		return 0, nil
	}
	if b.Job = lastLine(text); b.Job == "" || strings.ContainsAny(b.Job, " \t") {
		return refused, fmt.Errorf("executor.submit printed %q last, which is no id of a job: have it print the id alone, or use {name}", b.Job)
	}
	return 0, nil
}

// find returns the name of a job that has one. Of others nothing but their answer would
// tell.
func (c *commands) find(_ context.Context, b *Batch) (string, error) {
	if strings.Contains(c.submits, namePlaceholder) {
		return b.label(), nil
	}
	return "", nil
}

// each runs a command for jobs, for some at a time if it names them.
func (c *commands) each(ctx context.Context, template string, jobs []string) (string, error) {
	const most = 1000 // of a command line
	if !strings.Contains(template, jobsPlaceholder) {
		jobs = jobs[:min(1, len(jobs))]
	}
	var text strings.Builder
	for part := range slices.Chunk(jobs, most) {
		var ids []string
		for _, job := range part {
			ids = append(ids, display.ShellWord(job))
		}
		answer, err := c.shell(ctx, template, jobsPlaceholder, strings.Join(ids, " "))
		if err != nil {
			return "", err
		}
		text.WriteString(answer + "\n")
	}
	return text.String(), nil
}

func (c *commands) cancel(ctx context.Context, _ string, names ...string) error {
	if _, err := c.each(ctx, c.Cancel, names); err != nil {
		return fmt.Errorf("executor.cancel failed: %w", err)
	}
	return nil
}

// words are the states of jobs as engines call them, by our own.
var words = map[State]string{
	Pending:   " pending queued submitted runnable starting waiting created accepted suspended held pend ",
	Running:   " running active recovering cancelling run ",
	Completed: " completed complete succeeded success successful successcriteriamet finished done ",
	Failed:    " failed failure failuretarget error exit ",
	Cancelled: " cancelled canceled stopped killed deleted removed terminated aborted ",
	NodeFail:  " lost evicted node_fail preempted ",
}

// elements runs the status command: it prints a line for each job, with its id and its
// state, for a job that runs maybe without. Lines of other jobs are passed over.
func (c *commands) elements(ctx context.Context, arrays []*array) ([]Element, error) {
	ids := idsOf(arrays)
	text, err := c.each(ctx, c.Status, ids)
	if err != nil {
		return nil, fmt.Errorf("executor.status failed: %w", err)
	}
	var elements []Element
	for line := range strings.Lines(text) {
		if f := append(strings.Fields(line), "running"); slices.Contains(ids, f[0]) {
			elements = append(elements, Element{Job: f[0], State: c.state(f[1])})
		}
	}
	return elements, nil
}

// state reads the word of an engine. One that is not known counts as running, and is
// reported once: units that are done have their manifests.
func (c *commands) state(word string) State {
	lower := strings.ToLower(word)
	for state, known := range words {
		if strings.Contains(known, " "+lower+" ") || state == Failed && strings.HasPrefix(lower, "failed_") {
			return state
		}
	}
	if !c.strange[lower] {
		c.strange[lower] = true
		c.report(fmt.Sprintf("executor.status prints the state %q, which counts as running: want pending, running, completed, failed, cancelled or lost", word))
	}
	return Running
}
