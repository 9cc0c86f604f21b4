package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// trial is what came of one kind of fault.
type trial struct {
	fault     string
	runs      int // commands of the program
	took      time.Duration
	injuries  []string
	differing int // bytes of results that are not as in an undisturbed run
	skipped   string
}

// injured notes injuries that were done.
func (t *trial) injured(format string, args ...any) {
	t.injuries = append(t.injuries, fmt.Sprintf(format, args...))
}

// skipped is why a fault cannot be made here.
type skipped string

func (s skipped) Error() string { return string(s) }

// fault is a kind of fault, and how it is made.
type fault struct {
	name string
	make func(ctx context.Context, t *trial) error
}

// all makes every fault.
func (l *lab) all(ctx context.Context) error {
	faults := []fault{
		{"killed", l.kills},
		{"disk full", l.full},
		{"outputs damaged", l.outputs},
		{"manifests damaged", l.manifests},
		{"half-written files", l.leftovers},
		{"locks", l.locks},
		{"file times", l.times},
		{"edited during the run", l.edits},
		{"read-only folder", l.readOnly},
	}
	if l.clock {
		faults = append(faults, fault{"clock set", l.clockSet})
	}
	return l.each(ctx, faults)
}

// each makes faults, prints the table of what came of them, and is an error unless
// all went well. A fault that fails does not keep the others from being made.
func (l *lab) each(ctx context.Context, faults []fault) error {
	var trials []*trial
	var errs []error
	for _, f := range faults {
		if ctx.Err() != nil {
			break
		}
		t := &trial{fault: f.name}
		before, began := l.started, time.Now()
		err := f.make(ctx, t)
		t.runs, t.took = l.started-before, time.Since(began)
		trials = append(trials, t)
		fmt.Fprintf(l.stdout, "%s: %d runs in %.0f s\n", t.fault, t.runs, t.took.Seconds())
		var skip skipped
		switch {
		case errors.As(err, &skip) && !l.strict:
			t.skipped, err = string(skip), nil
		case err == nil && t.differing > 0:
			err = fmt.Errorf("%d bytes differ", t.differing)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.name, err))
		}
	}
	printTable(l.stdout, trials)
	return errors.Join(errs...)
}

// printTable prints the trials as a table in Markdown.
func printTable(w io.Writer, trials []*trial) {
	fmt.Fprint(w, "\n| fault | runs | s | kills or injuries | bytes differing |\n|---|---:|---:|---|---:|\n")
	for _, t := range trials {
		done := strings.Join(t.injuries, ", ")
		if t.skipped != "" {
			done = "skipped: " + t.skipped
		}
		fmt.Fprintf(w, "| %s | %d | %.0f | %s | %d |\n", t.fault, t.runs, t.took.Seconds(), done, t.differing)
	}
	fmt.Fprintln(w)
}

// often is how often something is done that is done over and over.
func (l *lab) often(small, full int) int {
	if l.small {
		return small
	}
	return full
}
