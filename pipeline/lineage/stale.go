package lineage

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/display"
	"speceval/pipeline/dag"
)

// verdict is what a reason means for what is stored; the lowest rank counts.
type verdict struct {
	rank       int
	what, many string
}

func verdictOf(k dag.Kind) verdict {
	switch k {
	case dag.Config, dag.Seed:
		return verdict{0, "is stored of another configuration than this one", "are stored of another configuration than this one"}
	case dag.Version:
		return verdict{1, "is stored by another version of the stage", "are stored by another version of the stage"}
	case dag.OutputEdited:
		return verdict{1, "is not as made", "are not as made"}
	case dag.SourceChanged:
		return verdict{1, "is stale", "are stale"}
	case dag.NeverRun:
		return verdict{3, "has no manifest: nothing says what was made, and of what", "have no manifest: nothing says what was made, and of what"}
	}
	return verdict{2, "is stale", "are stale"}
}

// worst is the reason of the lowest rank.
func worst(reasons []dag.Reason) verdict {
	return verdictOf(slices.MinFunc(reasons, func(a, b dag.Reason) int { return cmp.Compare(verdictOf(a.Kind).rank, verdictOf(b.Kind).rank) }).Kind)
}

// Stale warns where the output, or what it is made of, is not what this experiment
// would make now: first what was stored of another configuration. Units that are
// stale of the same causes are counted together.
func (o Origin) Stale() (warnings []string) {
	var order []string
	groups := map[string][]dag.Record{}
	for _, r := range slices.Backward(o.Units) { // the last unit first
		reasons := r.Own()
		if len(reasons) == 0 || r.Last == nil && o.doesWithout(r.Unit) {
			continue // fresh by itself; or the others do without, and say so
		}
		cause := ""
		for _, reason := range reasons {
			cause += fmt.Sprint(reason.Kind)
			if reason.Kind == dag.Config {
				cause += reason.Subject
			}
		}
		if groups[cause] == nil {
			order = append(order, cause)
		}
		groups[cause] = append(groups[cause], r)
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Compare(worst(groups[a][0].Own()).rank, worst(groups[b][0].Own()).rank)
	})
	for _, cause := range order {
		warnings = append(warnings, warningOf(groups[cause]))
	}
	return warnings
}

// doesWithout reports whether every unit that reads a unit runs without it as well.
func (o Origin) doesWithout(unit dag.Ref) bool {
	needs := func(r dag.Record) bool { return slices.Contains(r.Declared.Needs, unit) }
	return unit != o.Units[len(o.Units)-1].Unit && !slices.ContainsFunc(o.Units, needs)
}

// mostReasons bounds the reasons that a warning gives.
const mostReasons = 3

// warningOf is the warning on units that are stale of the same causes, the last of
// which runs first.
func warningOf(units []dag.Record) string {
	first := units[len(units)-1]
	all := first.Own()
	reasons, more := all[:min(mostReasons, len(all))], ""
	if n := len(all) - len(reasons); n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	subject, is := first.Unit.String(), worst(all).what
	if n := len(units); n > 1 {
		subject, is = fmt.Sprintf("%d units, such as %s,", n, subject), worst(all).many
	}
	return fmt.Sprintf("%s %s: %s%s", subject, is, dag.Explain(reasons), more)
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
