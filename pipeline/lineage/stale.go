package lineage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"speceval/internal/display"
	"speceval/internal/table"
	"speceval/pipeline/dag"
)

// Stale warns where the last unit, or what it is made of, is not what this experiment
// would make now: first what was stored of another configuration. Units that are
// stale of the same causes are counted together.
func (c Chain) Stale() (warnings []string) {
	var order []string
	groups := map[string][]dag.Record{}
	for _, r := range slices.Backward(c) { // the last unit first
		if len(r.Reasons) == 0 || r.Manifest == nil && c.doesWithout(r.Ref) {
			continue // fresh by itself; or the others do without, and say so
		}
		cause := causesOf(r)
		if groups[cause] == nil {
			order = append(order, cause)
		}
		groups[cause] = append(groups[cause], r)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(rank(groups[a][0]), rank(groups[b][0])) })
	for _, cause := range order {
		warnings = append(warnings, warningOf(groups[cause]))
	}
	return warnings
}

// Fresh reports whether the last unit and all that it is made of are fresh.
func (c Chain) Fresh() bool { return len(c) > 0 && c[len(c)-1].Fresh }

// doesWithout reports whether every unit of the chain that reads a unit runs without
// it as well.
func (c Chain) doesWithout(unit dag.Ref) bool {
	needs := func(r dag.Record) bool { return slices.Contains(r.Needs, unit) && !slices.Contains(r.Wants, unit) }
	return unit != c[len(c)-1].Ref && !slices.ContainsFunc(c, needs)
}

// causesOf is what the reasons of a unit are about, whatever their values.
func causesOf(r dag.Record) string {
	var b strings.Builder
	for _, reason := range r.Reasons {
		fmt.Fprintf(&b, "%d", reason.Kind)
		if reason.Kind == dag.Config {
			b.WriteString(reason.Subject)
		}
	}
	return b.String()
}

// rank orders warnings: another configuration, another version, the rest, and last
// what has never run.
func rank(r dag.Record) int {
	rank := 3
	for _, reason := range r.Reasons {
		switch reason.Kind {
		case dag.Config, dag.Seed:
			rank = min(rank, 0)
		case dag.Version, dag.OutputEdited, dag.SourceChanged:
			rank = min(rank, 1)
		case dag.NeverRun:
		default:
			rank = min(rank, 2)
		}
	}
	return rank
}

// mostReasons bounds the reasons that a warning gives.
const mostReasons = 3

// warningOf is the warning on units that are stale of the same causes, the last of
// which runs first.
func warningOf(units []dag.Record) string {
	first := units[len(units)-1]
	subject, is, has := first.Ref.String(), "is", "has"
	if n := len(units); n > 1 {
		subject, is, has = fmt.Sprintf("%d units, such as %s,", n, subject), "are", "have"
	}
	verdict := is + " stale"
	for _, reason := range slices.Backward(first.Reasons) { // the first that says more
		switch reason.Kind {
		case dag.NeverRun:
			verdict = has + " no manifest: nothing says what was made, and of what"
		case dag.Config, dag.Seed:
			verdict = is + " stored of another configuration than this one"
		case dag.Version:
			verdict = is + " stored by another version of the stage"
		case dag.OutputEdited:
			verdict = is + " not as made"
		}
	}
	reasons := first.Reasons[:min(mostReasons, len(first.Reasons))]
	warning := fmt.Sprintf("%s %s: %s", subject, verdict, dag.Explain(reasons))
	if more := len(first.Reasons) - len(reasons); more > 0 {
		warning += fmt.Sprintf("; and %d more", more)
	}
	return warning
}

// Standing is how the units of a stage stand to what a run would make now.
type Standing struct{ Units, Stale, Missing int }

// Standings is how the units of every stage stand.
func Standings(records []dag.Record) map[string]Standing {
	all := map[string]Standing{}
	for _, r := range records {
		s := all[r.Ref.Stage]
		s.Units++
		switch r.State() {
		case dag.Stale:
			s.Stale++
		case dag.Missing:
			s.Missing++
		}
		all[r.Ref.Stage] = s
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

// Print writes what a stored output was made of for a terminal: files, units and
// sources. Units and sources of one kind share a line unless all are asked for; those
// of the profile own stand by themselves.
func (o Origin) Print(b *strings.Builder, own string, all bool) error {
	for _, g := range []*table.Grid{o.files(), o.units(own, all), o.sources(own, all)} {
		if err := g.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func (o Origin) files() *table.Grid {
	g := &table.Grid{Title: "\nStored files, as they were when the table was made", Heads: []string{"<file", "rows", "<SHA-256", "<by"}}
	for _, f := range o.Files {
		rows := table.None
		if f.Rows >= 0 {
			rows = strconv.Itoa(f.Rows)
		}
		g.Add(f.Path, rows, f.SHA256, f.By)
	}
	return g
}

func (o Origin) units(own string, all bool) *table.Grid {
	var records []dag.Record
	for _, u := range o.Units {
		records = append(records, u.record)
	}
	alone := func(unit dag.Ref) bool {
		return all || own != "" && slices.Contains(strings.Split(unit.Unit, "/"), own)
	}
	g := &table.Grid{Title: "\nMade by", Heads: []string{"<unit", "units", "<state", "<key", "<commit", "<host", "<first start", "CPU s", "<seeds"}}
	for _, like := range Alike(records, alone) {
		g.Add(like.line()...)
	}
	return g
}

// line is what the units share, or how many values they have.
func (g Group) line() []string {
	states := map[dag.State]bool{}
	for _, r := range g.Units {
		states[r.State()] = true
	}
	state := g.State().String()
	if len(states) > 1 {
		state = fmt.Sprintf("%d states", len(states))
	}
	when := table.None
	if start := g.Start(); !start.IsZero() {
		when = start.UTC().Format(time.RFC3339)
	}
	common := func(plural string, of func(*dag.Manifest) string) string {
		if values := g.Distinct(of); len(values) > 1 {
			return fmt.Sprintf("%d %s", len(values), plural)
		} else {
			return cmp.Or(values[0], table.None)
		}
	}
	return []string{g.Name, strconv.Itoa(len(g.Units)), state,
		common("keys", func(m *dag.Manifest) string { return m.Key[:min(12, len(m.Key))] }),
		common("commits", func(m *dag.Manifest) string { return m.Short() }),
		common("hosts", func(m *dag.Manifest) string { return m.Host }),
		when, fmt.Sprintf("%.2f", g.CPU()),
		common("labels", func(m *dag.Manifest) string { return strings.Join(m.Seeds, " ") })}
}

// sources lists the sources; those of one kind are counted unless all are asked for.
func (o Origin) sources(own string, all bool) *table.Grid {
	const profile = "profile "
	kind := func(name string) string {
		if strings.HasPrefix(name, profile) {
			return strings.TrimSpace(profile)
		}
		return name
	}
	alike := map[string]int{}
	for _, s := range o.Sources {
		if s.Name != profile+own {
			alike[kind(s.Name)]++
		}
	}
	g := &table.Grid{Title: "\nSources", Heads: []string{"<source", "<SHA-256"}}
	for _, s := range o.Sources {
		switch kind := kind(s.Name); {
		case all || alike[kind] == 1 || s.Name == profile+own:
			g.Add(s.Name, s.SHA256)
		case alike[kind] > 1:
			g.Notes = append(g.Notes, fmt.Sprintf("… and %d of the kind %q, each with its own hash (--all)", alike[kind], kind))
			alike[kind] = 0 // counted
		}
	}
	return g
}
