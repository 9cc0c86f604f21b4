package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"speceval/internal/table"
)

// unitsText has a line for each unit or, unless all are wanted, one for each
// group of units that differ in what varies alone; a unit that names the
// row's profile stands alone.
func (e *Explanation) unitsText(w io.Writer, all bool) error {
	if len(e.Units) == 0 {
		return nil
	}
	t := table.Table{Title: "\nMade by", Columns: columns("<unit", "units", "<state", "<key", "<commit", "<host", "<first start", "CPU s", "<seeds")}
	for _, g := range e.groups(all) {
		t.Rows = append(t.Rows, g.line())
	}
	return table.WriteText(w, t)
}

// sourcesText lists the sources; those of one kind are counted unless all are
// wanted or the row is about one.
func (e *Explanation) sourcesText(w io.Writer, all bool) error {
	if len(e.Sources) == 0 {
		return nil
	}
	alike := map[string]int{}
	own := "profile " + e.Profile
	for _, s := range e.Sources {
		if s.Name != own {
			alike[kindOfSource(s.Name)]++
		}
	}
	t := table.Table{Title: "\nSources", Columns: columns("<source", "<SHA-256")}
	for _, s := range e.Sources {
		switch kind := kindOfSource(s.Name); {
		case all || alike[kind] == 1 || s.Name == own:
			t.Rows = append(t.Rows, []table.Cell{table.Text(s.Name), table.Text(s.SHA256)})
		case alike[kind] > 1:
			t.Notes = append(t.Notes, fmt.Sprintf("… and %d of the kind %q, each with its own hash (--all)", alike[kind], kind))
			alike[kind] = 0 // counted
		}
	}
	return table.WriteText(w, t)
}

// kindOfSource is the name of a source without that of a profile.
func kindOfSource(name string) string {
	if strings.HasPrefix(name, "profile ") {
		return "profile"
	}
	return name
}

// unitGroup is units that are shown in one line.
type unitGroup struct {
	name  string
	units []UnitOf
}

// groupName is the name that a unit shares with those alike: what comes before
// the first word that varies, such as "n=30" or a profile. varies is false for
// a unit that is the only one of its kind.
func groupName(unit string) (name string, varies bool) {
	words := strings.Split(unit, "/")
	for i, w := range words {
		if i > 0 && strings.Contains(w, "=") {
			return strings.Join(words[:i], "/"), true
		}
	}
	return unit, false
}

func (e *Explanation) groups(all bool) []*unitGroup {
	var order []*unitGroup
	byName := map[string]*unitGroup{}
	for _, u := range e.Units {
		key := u.Unit
		if !all && (e.Profile == "" || !slices.Contains(strings.Split(u.Unit, "/"), e.Profile)) {
			if name, varies := groupName(u.Unit); varies {
				key = name + "/…"
			}
		}
		if byName[key] == nil {
			byName[key] = &unitGroup{name: key}
			order = append(order, byName[key])
		}
		byName[key].units = append(byName[key].units, u)
	}
	return order
}

// line is the group as a row: what its units share, or how many there are.
func (g *unitGroup) line() []table.Cell {
	first := g.units[0]
	name := g.name
	if len(g.units) == 1 {
		name = first.Unit
	}
	var cpu float64
	start := first.Start
	for _, u := range g.units {
		cpu += u.CPUSeconds
		if u.Start != nil && (start == nil || u.Start.Before(*start)) {
			start = u.Start
		}
	}
	when := none
	if start != nil {
		when = start.UTC().Format(time.RFC3339)
	}
	return []table.Cell{table.Text(name), table.Integer(len(g.units)),
		table.Text(g.common("states", func(u UnitOf) string { return u.State })),
		table.Text(g.common("keys", func(u UnitOf) string { return u.Key[:min(12, len(u.Key))] })),
		table.Text(g.common("commits", func(u UnitOf) string { return shortCommit(u.Commit, u.Dirty) })), table.Text(g.common("hosts", func(u UnitOf) string { return u.Host })),
		table.Text(when), table.Text(fmt.Sprintf("%.2f", cpu)),
		table.Text(g.common("labels", func(u UnitOf) string { return strings.Join(u.Seeds, " ") }))}
}

// common is what a field of all units has in common, or how many values it has.
func (g *unitGroup) common(plural string, field func(UnitOf) string) string {
	values := map[string]bool{}
	for _, u := range g.units {
		values[field(u)] = true
	}
	if len(values) == 1 {
		return cmp.Or(field(g.units[0]), none)
	}
	return fmt.Sprintf("%d %s", len(values), plural)
}

// none stands for what is empty.
const none = "—"

// shortCommit is the beginning of a git commit, enough to tell it from others,
// with "-dirty" behind it if what was built from it had uncommitted changes.
func shortCommit(commit string, dirty bool) string {
	commit = commit[:min(12, len(commit))]
	if dirty {
		commit += "-dirty"
	}
	return commit
}
