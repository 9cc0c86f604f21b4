package lineage

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/display"
	"speceval/pipeline/dag"
)

// judged is what a reason means for what is stored; the lowest rank counts.
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

// worst is the reason of the lowest rank.
func worst(reasons []dag.Reason) (rank int, what string) {
	return judged(slices.MinFunc(reasons, func(a, b dag.Reason) int {
		x, _ := judged(a)
		y, _ := judged(b)
		return x - y
	}))
}

// mostReasons bounds the reasons that a warning gives.
const mostReasons = 3

// Stale warns where the output, or what it is made of, is not what this experiment
// would make now: first what was stored of another configuration. Units that are
// stale of the same causes are counted together.
func (o Origin) Stale() (warnings []string) {
	var causes []string
	groups := map[string][]dag.Record{}
	for _, r := range slices.Backward(o.Units) { // the last unit first
		own := r.Own()
		if len(own) == 0 || r.Last == nil && o.doesWithout(r.Unit) {
			continue // fresh by itself; or the others do without, and say so
		}
		rank, _ := worst(own)
		cause := fmt.Sprint(rank, dag.Brief(own))
		if groups[cause] == nil {
			causes = append(causes, cause)
		}
		groups[cause] = append(groups[cause], r)
	}
	slices.SortStableFunc(causes, func(a, b string) int { return cmp.Compare(a[0], b[0]) })
	for _, cause := range causes {
		units := groups[cause]
		first := units[len(units)-1] // which runs first
		reasons, more := first.Own(), ""
		_, what := worst(reasons)
		if n := len(reasons) - mostReasons; n > 0 {
			reasons, more = reasons[:mostReasons], fmt.Sprintf("; and %d more", n)
		}
		subject := first.Unit.String() + " is"
		if n := len(units); n > 1 {
			subject = fmt.Sprintf("%d units, such as %s, are", n, first.Unit)
		}
		warnings = append(warnings, fmt.Sprintf("%s %s: %s%s", subject, what, dag.Explain(reasons), more))
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
