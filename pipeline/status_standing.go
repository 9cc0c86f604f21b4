package main

import (
	"fmt"
	"strings"
	"time"
)

// fewFailures is how many failed units status lists; --json has all.
const fewFailures = 5

// failure is a unit that failed and is not fresh since.
type failure struct {
	Stage string    `json:"stage"`
	Unit  string    `json:"unit"`
	Time  time.Time `json:"time"`
	Error string    `json:"error"` // its first line
	Log   string    `json:"log"`   // file with the whole of it
	Host  string    `json:"host,omitempty"`
	Job   string    `json:"job,omitempty"`
}

// stand adds what units are at.
func (st *status) stand(all []unitStanding, running string) {
	st.Run = running
	place := make(map[string]*stageStatus, len(st.Stages))
	for i := range st.Stages {
		place[st.Stages[i].Name] = &st.Stages[i]
	}
	for _, u := range all {
		stage := place[u.Unit.Stage]
		if stage == nil {
			continue // of another configuration
		}
		switch u.State {
		case unitQueued:
			stage.Queued++
		case unitRunning:
			stage.Running++
		case unitFailed:
			stage.Failed++
			line, _, _ := strings.Cut(strings.TrimSpace(u.Error), "\n")
			st.Failures = append(st.Failures, failure{u.Unit.Stage, u.Unit.Unit, u.Time, line, u.Log, u.Host, u.Job})
		}
	}
}

// standing writes what comes below the table: the run under way, and the units
// that failed last.
func (st status) standing(b *strings.Builder) {
	if st.Run != "" {
		fmt.Fprintf(b, "\na run is under way: %s\n", st.Run)
	}
	if len(st.Failures) == 0 {
		return
	}
	more := max(0, len(st.Failures)-fewFailures)
	b.WriteString("\nfailed, and not fresh since:\n")
	for _, f := range st.Failures[more:] {
		fmt.Fprintf(b, "  %s/%s: %s\n    %s", f.Stage, f.Unit, f.Error, f.Log)
		if f.Job != "" {
			fmt.Fprintf(b, ", job %s", f.Job)
		}
		if f.Host != "" {
			fmt.Fprintf(b, ", on %s", f.Host)
		}
		b.WriteByte('\n')
	}
	if more > 0 {
		fmt.Fprintf(b, "  and %s before: `speceval status --json`\n", units(more))
	}
}
