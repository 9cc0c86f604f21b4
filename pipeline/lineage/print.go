package lineage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"speceval/internal/table"
	"speceval/pipeline/dag"
)

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
	_, cpu := g.Seconds()
	return []string{g.Name, strconv.Itoa(len(g.Units)), state,
		common("keys", func(m *dag.Manifest) string { return m.Key[:min(12, len(m.Key))] }),
		common("commits", func(m *dag.Manifest) string { return m.Short() }),
		common("hosts", func(m *dag.Manifest) string { return m.Host }),
		when, fmt.Sprintf("%.2f", cpu),
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
