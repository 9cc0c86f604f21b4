package lab

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"speceval/internal/seed"
)

// Check is a statement that must hold, and what speaks against it.
type Check struct {
	What  string
	Fault error // nil if it holds
}

// Report prints a line for every check, and returns those that do not hold as one
// error.
func Report(w io.Writer, checks []Check) error {
	var faults []error
	for _, c := range checks {
		verdict := "yes"
		if c.Fault != nil {
			verdict = "NO: " + c.Fault.Error()
			faults = append(faults, fmt.Errorf("not so: %s", c.What))
		}
		fmt.Fprintf(w, "%s: %s\n", c.What, verdict)
	}
	return errors.Join(faults...)
}

// Table prints rows as a table in Markdown. A column whose name ends in a colon is
// aligned to the right.
func Table(w io.Writer, columns []string, rows [][]any) {
	names, rule := "|", "|"
	for _, column := range columns {
		name, right := strings.CutSuffix(column, ":")
		names += " " + name + " |"
		if rule += "---"; right {
			rule += ":"
		}
		rule += "|"
	}
	fmt.Fprintf(w, "\n%s\n%s\n", names, rule)
	for _, row := range rows {
		fmt.Fprint(w, "|")
		for _, cell := range row {
			fmt.Fprintf(w, " %v |", cell)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// Moments draws when a fault strikes a run, and what it strikes, from a seed.
type Moments struct{ stream seed.Stream }

// Moments are the moments of a fault.
func (l *Lab) Moments(fault string) *Moments { return NewMoments(l.Seed, fault) }

// NewMoments are the moments of a fault under a seed.
func NewMoments(n uint64, fault string) *Moments {
	return &Moments{seed.Root(n).Child("drills").Child(fault).Stream()}
}

// Within is a random moment of a time span.
func (m *Moments) Within(span time.Duration) time.Duration {
	return time.Duration(m.stream.Float64() * float64(span))
}

// Below is a random number from 0 to n-1.
func (m *Moments) Below(n int) int { return min(n-1, int(m.stream.Float64()*float64(n))) }

// Fraction is a random number from 0 to 1.
func (m *Moments) Fraction() float64 { return m.stream.Float64() }
