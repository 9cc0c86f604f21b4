package lineage

import (
	"fmt"
	"slices"

	"speceval/internal/display"
	"speceval/pipeline/dag"
)

// judged is the meaning of a reason for a stored result; the lowest rank counts.
func judged(r dag.Reason) (rank int, what string) {
	switch r.Kind {
	case dag.Config, dag.Seed:
		return 0, "stored of another configuration than this one"
	case dag.Version:
		return 1, "stored by another version of the stage"
	case dag.OutputEdited:
		return 1, "not as made"
	case dag.SourceChanged:
		return 1, "stale"
	case dag.NeverRun:
		return 3, "without a manifest, so that nothing says what was made, and of what"
	}
	return 2, "stale"
}

// cause is a reason that units share.
type cause struct {
	rank    int
	what    string
	reasons []dag.Reason // of the unit that runs first
	units   []dag.Ref    // the last one first
}

// mostReasons bounds the reasons that a warning gives.
const mostReasons = 3

// Stale warns where the output, or what it is made of, is not what this experiment
// would make now: first what was stored of another configuration. Units that are
// stale of the same causes are counted together.
func (o Origin) Stale() (warnings []string) {
	var causes []*cause
	found := map[string]*cause{}
	for _, r := range slices.Backward(o.Units) { // the last unit first
		own := r.Own()
		if len(own) == 0 || r.Last == nil && o.doesWithout(r.Unit) {
			continue // fresh by itself; or the others do without, and say so
		}
		brief := dag.Brief(own)
		c := found[brief]
		if c == nil {
			c = &cause{rank: 4}
			found[brief], causes = c, append(causes, c)
			for _, reason := range own {
				if rank, what := judged(reason); rank < c.rank {
					c.rank, c.what = rank, what
				}
			}
		}
		c.reasons, c.units = own, append(c.units, r.Unit)
	}
	slices.SortStableFunc(causes, func(a, b *cause) int { return a.rank - b.rank })
	for _, c := range causes {
		more, first := "", c.units[len(c.units)-1]
		if n := len(c.reasons) - mostReasons; n > 0 {
			c.reasons, more = c.reasons[:mostReasons], fmt.Sprintf("; and %d more", n)
		}
		subject := first.String() + " is"
		if n := len(c.units); n > 1 {
			subject = fmt.Sprintf("%d units, such as %s, are", n, first)
		}
		warnings = append(warnings, fmt.Sprintf("%s %s: %s%s", subject, c.what, dag.Explain(c.reasons), more))
	}
	return warnings
}

// doesWithout reports whether every unit that reads a unit runs without it as well.
func (o Origin) doesWithout(unit dag.Ref) bool {
	needs := func(r dag.Record) bool { return slices.Contains(r.Declared.Needs, unit) }
	return unit != o.Units[len(o.Units)-1].Unit && !slices.ContainsFunc(o.Units, needs)
}

// Standing is how the units of a stage stand to what a run would make now.
type Standing struct{ Units, Stale, Missing int }

// Standings is how the units of every stage stand.
func Standings(records []dag.Record) map[string]Standing {
	all := map[string]Standing{}
	for _, r := range records {
		s := all[r.Unit.Stage]
		s.Units++
		switch r.State {
		case dag.Stale:
			s.Stale++
		case dag.Missing:
			s.Missing++
		}
		all[r.Unit.Stage] = s
	}
	return all
}

// String is "fresh", or "4 of 6 units fresh".
func (s Standing) String() string {
	if fresh := s.Units - s.Stale - s.Missing; fresh < s.Units {
		return fmt.Sprintf("%d of %d units fresh", fresh, s.Units)
	}
	return dag.Fresh.String()
}

// Warning says where results of a stage that are shown are not what a run would make
// now; empty where all are.
func (s Standing) Warning(stage string) string {
	var words []string
	if s.Stale > 0 {
		words = append(words, fmt.Sprintf("%d stale", s.Stale))
	}
	if s.Missing > 0 {
		words = append(words, fmt.Sprintf("%d not run", s.Missing))
	}
	switch {
	case len(words) == 0:
		return ""
	case s.Missing == s.Units:
		return fmt.Sprintf("The %s stage has not run: its results are missing here.", stage)
	}
	return fmt.Sprintf("The stored results of the %s stage are shown, though not all are what the present configuration and program would make (of %d units: %s).",
		stage, s.Units, display.And(words))
}
