package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"speceval/pipeline/dag"
)

func statusCommand() command {
	return command{
		name: "status",
		args: "[--json] [--check]",
		about: `show what is fresh, stale and missing; with --check exit 3 unless all is fresh

Of the units of each stage it says too how many are queued, running and failed
now, whatever their state. A unit counts as failed until it is fresh or would be
made of something else. The last failures follow with their logs.`,
		examples: `  speceval status            a line for each stage
  speceval status --check    for scripts: exit code 3 if anything is stale or missing
  speceval status --json     one JSON document
`,
		flags: func(fs *flag.FlagSet, o *options) {
			fs.BoolVar(&o.json, "json", false, "print one JSON document")
			fs.BoolVar(&o.check, "check", false, "exit 3 if anything is stale or missing")
		},
		run: runStatus,
	}
}

func runStatus(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	o, plan, err := s.look(dag.Selection{})
	if err != nil {
		return err
	}
	st := statusOf(o.Out, plan)
	if all, running, err := standings(o.Out, plan, s.elsewhere); err != nil {
		s.warn("what is queued, running and failed is not known: %v", err)
	} else {
		st.stand(all, running)
	}
	write := st.text
	if s.json {
		write = st.json
	}
	if err := write(s.stdout); err != nil {
		return err
	}
	if s.check && !st.Fresh {
		return errStale
	}
	return nil
}

// status is the document of status --json.
type status struct {
	Out      string        `json:"out"`
	Fresh    bool          `json:"fresh"`         // nothing to run
	Run      string        `json:"run,omitempty"` // the run that is under way, in its own words
	Stages   []stageStatus `json:"stages"`
	Failures []failure     `json:"failures,omitempty"` // in their order
}

// stageStatus is how one stage stands.
type stageStatus struct {
	Name      string   `json:"name"`
	About     string   `json:"about"`
	State     string   `json:"state"`               // satisfied, fresh, stale, or missing if no unit has ever run
	Satisfied string   `json:"satisfied,omitempty"` // why there is nothing to run
	Fresh     int      `json:"fresh"`               // units
	Stale     int      `json:"stale"`
	Missing   int      `json:"missing"`
	Queued    int      `json:"queued"` // units, of whatever state
	Running   int      `json:"running"`
	Failed    int      `json:"failed"`
	Reasons   []reason `json:"reasons,omitempty"`

	groups []group // of Reasons
}

// reason is why some units of a stage are not fresh.
type reason struct {
	Units int    `json:"units"`
	Why   string `json:"why"`
}

func statusOf(out string, plan *dag.Plan) status {
	st := status{Out: out, Fresh: plan.Units() == 0}
	for _, p := range plan.Stages {
		line := stageStatus{
			Name: p.Stage.Name, About: p.Stage.About, Satisfied: p.Stage.Satisfied,
			Fresh: p.Fresh, Missing: p.Missing, Stale: len(p.Run) - p.Missing,
		}
		switch {
		case p.Stage.Satisfied != "":
			line.State = "satisfied"
		case len(p.Run) == 0:
			line.State = dag.Fresh.String()
		case p.Missing == len(p.Run) && p.Fresh == 0:
			line.State = dag.Missing.String()
		default:
			line.State = dag.Stale.String()
		}
		line.groups = grouped(p.Run)
		for _, g := range line.groups {
			line.Reasons = append(line.Reasons, reason{len(g.units), g.why()})
		}
		st.Stages = append(st.Stages, line)
	}
	return st
}

func (st status) json(w io.Writer) error { return writeJSON(w, st) }

func (st status) text(w io.Writer) error {
	var b strings.Builder
	width := len("stage")
	for _, s := range st.Stages {
		width = max(width, len(s.Name))
	}
	fmt.Fprintf(&b, "%-*s  %-9s  %7s  %7s  %7s  %6s  %7s  %6s\n", width, "stage", "state", "fresh", "stale", "missing", "queued", "running", "failed")
	for _, s := range st.Stages {
		line := fmt.Sprintf("%-*s  %-9s  %7d  %7d  %7d  %6d  %7d  %6d", width, s.Name, s.State, s.Fresh, s.Stale, s.Missing, s.Queued, s.Running, s.Failed)
		b.WriteString(line)
		switch {
		case s.Satisfied != "":
			fmt.Fprintf(&b, "  %s", s.Satisfied)
		case len(s.groups) > 0:
			more := ""
			if n := len(s.groups) - 1; n > 0 {
				more = fmt.Sprintf(" (and %d more reasons)", n)
			}
			fmt.Fprintf(&b, "  %s%s", s.groups[0].whyWithin(textColumns-len(line)-len(more)-2), more)
		}
		b.WriteByte('\n')
	}
	st.standing(&b)
	_, err := io.WriteString(w, b.String())
	return err
}
