package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
	return grounded(e, about)
}

// coreHours is an estimate for one core as plan shows it where jobs run.
func coreHours(e dag.Estimate) string {
	return grounded(e, fmt.Sprintf("about %.3g core-hours", e.Seconds/3600))
}

// grounded says what an estimate is about by.
func grounded(e dag.Estimate, about string) string {
	if e.Unknown > 0 && e.Seconds == 0 {
		return "time unknown"
	}
	switch {
	case e.Stated == 0:
		about += " by earlier runs"
	case e.Earlier == 0:
		about += " by what such units took elsewhere"
	default:
		about += fmt.Sprintf(" by earlier runs, and by what such units took elsewhere for %d", e.Stated)
	}
	if e.Unknown > 0 {
		about += fmt.Sprintf(", and %s of unknown time", units(e.Unknown))
	}
	return about
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
	at := 0 // the group of the unit before
	for i, u := range run {
		if i == 0 || !slices.Equal(u.Reasons, run[i-1].Reasons) {
			brief := dag.Brief(u.Reasons)
			known, seen := place[brief]
			if !seen {
				known = len(groups)
				place[brief] = known
				groups = append(groups, group{brief: brief})
			}
			at = known
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

// whyWithin is why in so many columns at most: what does not fit is counted.
func (g group) whyWithin(columns int) string {
	if why := g.why(); utf8.RuneCountInString(why) <= columns {
		return why
	}
	return within(dag.Briefs(g.units[0].Reasons), columns)
}

// within joins as many items as fit into so many columns, and counts the others.
// The first is there in any case, cut if it must be.
func within(items []string, columns int) string {
	for n := len(items); n > 0; n-- {
		text := strings.Join(items[:n], ", ")
		if more := len(items) - n; more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
		if utf8.RuneCountInString(text) <= columns {
			return text
		}
	}
	rest := ""
	if more := len(items) - 1; more > 0 {
		rest = fmt.Sprintf(", and %d more", more)
	}
	first := []rune(items[0])
	return string(first[:max(0, min(len(first), columns-len(rest)-1))]) + "…" + rest
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
