package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"speceval/internal/table"
	"speceval/pipeline/dag"
)

// Text writes the explanation for a terminal: of the parts the five that weigh
// most, of the units a line for those alike, unless all are asked for.
func (e *Explanation) Text(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, row %q, column %s: %s\n", e.Table, e.Row, e.Column, cmp.Or(e.Stored, "— (no value)"))
	for _, warning := range e.Warnings {
		b.WriteString("\n" + table.Wrap("! ", "  ", warning))
	}
	b.WriteString("\n" + table.Wrap("  ", "  ", e.Formula.Plain))
	if e.Paper != nil {
		b.WriteString("\n" + table.Wrap("  ", "  ", e.Paper.text()))
	}
	for _, section := range []func(b *strings.Builder, all bool) *table.Grid{e.causes, e.parts, e.repeats, e.files, e.units, e.sources} {
		if err := section(&b, all).Write(&b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Beside) text() string {
	line := "paper: "
	if p.Live {
		line = "predicted: "
	}
	switch expected := p.Expected(); {
	case p.PaperName != "":
		line += p.PaperName
	case expected != nil:
		line += strconv.FormatFloat(*expected, 'g', -1, 64)
	case p.Live:
		line = "verdict"
	}
	if p.Difference != nil {
		line += fmt.Sprintf("; difference %+.6g", *p.Difference)
		if p.SE != nil {
			line += fmt.Sprintf(" ± %.2g", *p.SE)
		}
	}
	return fmt.Sprintf("%s: %s (%s)", line, p.Verdict, p.Reason)
}

func (e *Explanation) causes(*strings.Builder, bool) *table.Grid {
	g := &table.Grid{Title: "\nStandard error, by cause", Heads: []string{"<cause", "s.e.", "<"}}
	for _, x := range e.Errors {
		se := table.None
		if x.SE != nil {
			se = fmt.Sprintf("%.3g", *x.SE)
		}
		g.Add(x.Cause, se, x.About)
	}
	return g
}

// parts introduces the parts, and lists those that weigh most, or all.
func (e *Explanation) parts(b *strings.Builder, all bool) *table.Grid {
	const few = 5
	g, p := &table.Grid{Heads: []string{"<"}}, e.Parts
	if p == nil || p.Count == 0 {
		return g
	}
	b.WriteString("\n" + table.Wrap("", "  ", fmt.Sprintf("Made of %d %s: %s", p.Count, p.Of, p.How)))
	if p.From != "" {
		b.WriteString(table.Wrap("  ", "  ", "from "+p.From))
	}
	rows := p.Rows
	if !all && p.Count > few {
		rows = rows[:few]
		b.WriteString(table.Wrap("  ", "  ", fmt.Sprintf("least %s %.6g (%s), greatest %.6g (%s); the first %d are:", p.Columns[0],
			p.Least.Numbers[0], p.Least.Name, p.Most.Numbers[0], p.Most.Name, few)))
		g.Notes = []string{fmt.Sprintf("… and %d more (--all)", p.Count-few)}
	}
	b.WriteString("\n")
	g.Heads = append(g.Heads, p.Columns...)
	if rows[0].Share != nil {
		g.Heads = append(g.Heads, "share")
	}
	for _, part := range rows {
		line := []string{part.Name}
		for _, v := range part.Numbers {
			line = append(line, fmt.Sprintf("%.6g", v))
		}
		if part.Share != nil {
			line = append(line, fmt.Sprintf("%.4g", *part.Share))
		}
		g.Add(line...)
	}
	return g
}

func (e *Explanation) repeats(b *strings.Builder, _ bool) *table.Grid {
	var values []string
	for _, v := range e.Repeats {
		values = append(values, fmt.Sprintf("%.5g", v))
	}
	if len(values) > 0 {
		b.WriteString("\n" + table.Wrap("", "  ", fmt.Sprintf("Each of %d executions of the suite alone gives: %s", len(values), strings.Join(values, ", "))))
	}
	return &table.Grid{}
}

func (e *Explanation) files(*strings.Builder, bool) *table.Grid {
	g := &table.Grid{Title: "\nStored files, as they were when the table was made", Heads: []string{"<file", "rows", "<SHA-256", "<by"}}
	for _, f := range e.Files {
		rows := table.None
		if f.Rows >= 0 {
			rows = strconv.Itoa(f.Rows)
		}
		g.Add(f.Path, rows, f.SHA256, f.By)
	}
	return g
}

// sources lists the sources; those of one kind are counted unless all are asked for
// or the row is about one.
func (e *Explanation) sources(_ *strings.Builder, all bool) *table.Grid {
	kind := func(name string) string {
		if strings.HasPrefix(name, "profile ") {
			return "profile"
		}
		return name
	}
	alike := map[string]int{}
	own := "profile " + e.Profile
	for _, s := range e.Sources {
		if s.Name != own {
			alike[kind(s.Name)]++
		}
	}
	g := &table.Grid{Title: "\nSources", Heads: []string{"<source", "<SHA-256"}}
	for _, s := range e.Sources {
		switch kind := kind(s.Name); {
		case all || alike[kind] == 1 || s.Name == own:
			g.Add(s.Name, s.SHA256)
		case alike[kind] > 1:
			g.Notes = append(g.Notes, fmt.Sprintf("… and %d of the kind %q, each with its own hash (--all)", alike[kind], kind))
			alike[kind] = 0 // counted
		}
	}
	return g
}

// units has a line for each unit or, unless all are asked for, one for each kind; a
// unit that names the row's profile stands alone.
func (e *Explanation) units(_ *strings.Builder, all bool) *table.Grid {
	var order []string
	alike := map[string][]UnitOf{}
	for _, u := range e.Units {
		name := u.Unit
		if kind, varies := u.ref.Kind(); varies && !all && (e.Profile == "" || !slices.Contains(strings.Split(u.Unit, "/"), e.Profile)) {
			name = kind + "/…"
		}
		if alike[name] == nil {
			order = append(order, name)
		}
		alike[name] = append(alike[name], u)
	}
	g := &table.Grid{Title: "\nMade by", Heads: []string{"<unit", "units", "<state", "<key", "<commit", "<host", "<first start", "CPU s", "<seeds"}}
	for _, name := range order {
		g.Add(lineOf(name, alike[name])...)
	}
	return g
}

// lineOf is what units share, or how many values they have.
func lineOf(name string, units []UnitOf) []string {
	if len(units) == 1 {
		name = units[0].Unit
	}
	var cpu float64
	var start *time.Time
	for _, u := range units {
		cpu += u.CPUSeconds
		if u.Start != nil && (start == nil || u.Start.Before(*start)) {
			start = u.Start
		}
	}
	when := table.None
	if start != nil {
		when = start.UTC().Format(time.RFC3339)
	}
	common := func(plural string, field func(UnitOf) string) string {
		values := map[string]bool{}
		for _, u := range units {
			values[field(u)] = true
		}
		if len(values) == 1 {
			return cmp.Or(field(units[0]), table.None)
		}
		return fmt.Sprintf("%d %s", len(values), plural)
	}
	return []string{name, strconv.Itoa(len(units)),
		common("states", func(u UnitOf) string { return u.State }),
		common("keys", func(u UnitOf) string { return u.Key[:min(12, len(u.Key))] }),
		common("commits", func(u UnitOf) string { return dag.Origin{Commit: u.Commit, Dirty: u.Dirty}.Short() }),
		common("hosts", func(u UnitOf) string { return u.Host }),
		when, fmt.Sprintf("%.2f", cpu),
		common("labels", func(u UnitOf) string { return strings.Join(u.Seeds, " ") })}
}
