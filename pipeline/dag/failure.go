package dag

import (
	"fmt"
	"strings"
)

// Failure is a unit that failed, and why.
type Failure struct {
	Unit Ref
	Err  error
}

// Error says how a run fell short of its plan. What did run is kept; running
// again goes on from there.
type Error struct {
	Failures    []Failure // in the order in which they happened
	Interrupted bool      // it was asked to stop
	NotRun      int       // planned units that have no result: never started, or cut short
}

// Error lists every failed unit and its cause.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Interrupted && e.NotRun > 0:
		fmt.Fprintf(&b, "interrupted: %s not run", count(e.NotRun))
	case e.Interrupted:
		b.WriteString("interrupted, when every unit had run")
	}
	if len(e.Failures) > 0 {
		if e.Interrupted {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s failed", count(len(e.Failures)))
		if e.NotRun > 0 && !e.Interrupted {
			fmt.Fprintf(&b, ", %d not run", e.NotRun)
		}
		for _, f := range e.Failures {
			fmt.Fprintf(&b, "\n  %s: %s", f.Unit, strings.ReplaceAll(strings.TrimSpace(f.Err.Error()), "\n", "\n    "))
		}
	}
	return b.String()
}

// Unwrap gives the causes of the failures.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f.Err
	}
	return errs
}
