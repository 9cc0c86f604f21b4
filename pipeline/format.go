package main

import (
	"fmt"
	"time"

	"speceval/pipeline/dag"
)

// duration is a time span as people say it: "3 min 20 s".
func duration(seconds float64) string {
	switch s := int(seconds + 0.5); {
	case seconds < 9.95:
		return fmt.Sprintf("%.1f s", seconds)
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	default:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
}

// estimated is an estimate as plan shows it.
func estimated(e dag.Estimate) string {
	about := "about " + duration(e.Seconds)
	if e.Seconds < 1 {
		about = "less than 1 s"
	}
	switch {
	case e.Unknown > 0 && e.Seconds > 0:
		return fmt.Sprintf("%s by earlier runs, and %s of unknown time", about, units(e.Unknown))
	case e.Unknown > 0:
		return "time unknown"
	}
	return about + " by earlier runs"
}

func units(n int) string {
	if n == 1 {
		return "1 unit"
	}
	return fmt.Sprintf("%d units", n)
}

func megabytes(bytes int64) string { return fmt.Sprintf("%d MB", (bytes+500_000)/1_000_000) }

// dated is a moment as progress lines begin with it.
func dated(t time.Time) string { return t.Format(time.RFC3339) }

// group is the units of a stage that will run for the same brief reasons.
type group struct {
	brief string
	units []dag.UnitPlan
}

// grouped puts units with the same brief reasons together, in order of first
// appearance.
func grouped(run []dag.UnitPlan) []group {
	var groups []group
	place := make(map[string]int)
	for _, u := range run {
		brief := dag.Brief(u.Reasons)
		at, seen := place[brief]
		if !seen {
			at = len(groups)
			place[brief] = at
			groups = append(groups, group{brief: brief})
		}
		groups[at].units = append(groups[at].units, u)
	}
	return groups
}

// why is the group's reasons: in full if it is one unit's, in brief otherwise.
func (g group) why() string {
	if len(g.units) > 1 {
		return g.brief
	}
	return dag.Explain(g.units[0].Reasons)
}

// outputs counts the files that the units of a plan write.
func outputs(plan *dag.Plan) string {
	n := 0
	for _, stage := range plan.Stages {
		for _, u := range stage.Stage.Units {
			n += len(u.Outputs)
		}
	}
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
