package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/pipeline/dag"
	"speceval/stages/report/stored"
)

// Origin is what a stored number was made of, and by what.
type Origin struct {
	Files   []FileOf     `json:"files"`   // what the table was read from, and the table
	Units   []UnitOf     `json:"units"`   // all that it was made by, each after those that it reads
	Sources []dag.Source `json:"sources"` // from outside the output folder, as recorded
	Profile string       `json:"profile,omitempty"`
}

// FileOf is a stored file as the manifest of the table has it.
type FileOf struct {
	dag.File
	By string `json:"by"` // the unit that writes it
}

// UnitOf is a unit that a number was made by. What ran it is empty where no
// manifest says.
type UnitOf struct {
	Unit  string `json:"unit"`
	State string `json:"state"`         // fresh, stale or missing
	Why   string `json:"why,omitempty"` // it is not fresh

	Key         string     `json:"key"` // of the stored outputs
	Version     int        `json:"stage_version"`
	Seeds       []string   `json:"seeds"` // labels of branches of the seed tree
	Commit      string     `json:"commit"`
	Dirty       bool       `json:"dirty"` // built from uncommitted changes
	Host        string     `json:"host"`
	GoVersion   string     `json:"go_version"`
	Command     string     `json:"command"`
	Start       *time.Time `json:"start"`
	WallSeconds float64    `json:"wall_seconds"`
	CPUSeconds  float64    `json:"cpu_seconds"`
	Provenance  string     `json:"provenance"`
	Outputs     []dag.File `json:"outputs"`
	Notes       []string   `json:"notes,omitempty"`

	ref dag.Ref
}

func unitOf(r dag.Record) UnitOf {
	u := UnitOf{ref: r.Ref, Unit: r.Ref.String(), State: r.State().String(), Why: dag.Explain(r.Reasons), Provenance: r.Provenance, Seeds: []string{}, Outputs: []dag.File{}}
	if !r.Fresh && u.Why == "" {
		u.Why = "what it is made of is stale"
	}
	if m := r.Manifest; m != nil {
		u.Key, u.Version, u.Seeds, u.Outputs, u.Notes = m.Key, m.Parts.Version, m.Seeds, m.Outputs, m.Notes
		u.Commit, u.Dirty, u.Host, u.GoVersion, u.Command = m.Commit, m.Dirty, m.Host, m.GoVersion, m.Command
		u.Start, u.WallSeconds, u.CPUSeconds = &m.Start, m.WallSeconds, m.CPUSeconds
	}
	return u
}

// chain is the records of a table's unit, the last, and of all units that it is made
// of, each after those that it needs.
type chain []dag.Record

func (x *Explainer) chain(base string) (c chain) {
	wanted := map[dag.Ref]bool{stored.Own(base): true}
	for _, r := range slices.Backward(x.records) {
		if !wanted[r.Ref] {
			continue
		}
		c = append(c, r)
		for _, need := range r.Needs {
			wanted[need] = true
		}
	}
	slices.Reverse(c)
	return c
}

// origin gathers what the manifests say.
func (c chain) origin() Origin {
	o := Origin{Files: []FileOf{}, Units: []UnitOf{}, Sources: []dag.Source{}}
	by := map[string]string{} // the units that write files
	for _, r := range c {
		o.Units = append(o.Units, unitOf(r))
		for _, output := range r.Outputs {
			by[output] = r.Ref.String()
		}
		if r.Manifest == nil {
			continue
		}
		for name, sum := range r.Manifest.Parts.Sources {
			o.Sources = append(o.Sources, dag.Source{Name: name, SHA256: sum})
		}
	}
	slices.SortFunc(o.Sources, func(a, b dag.Source) int { return strings.Compare(a.Name+a.SHA256, b.Name+b.SHA256) })
	o.Sources = slices.Compact(o.Sources)
	if n := len(c); n > 0 && c[n-1].Manifest != nil {
		m := c[n-1].Manifest
		for _, f := range slices.Concat(m.Inputs, m.Outputs) {
			o.Files = append(o.Files, FileOf{f, by[f.Path]})
		}
	}
	return o
}

// stale warns where a table, or what it is made of, is not what this experiment
// would make now: first what was stored of another configuration. Units that are
// stale of the same causes are counted together.
func (c chain) stale() []string {
	if len(c) == 0 {
		return []string{"no unit of this experiment makes this table: where it comes from is not known"}
	}
	var order []string
	groups := map[string][]dag.Record{}
	for _, r := range slices.Backward(c) { // the table first
		if len(r.Reasons) == 0 || r.Manifest == nil && c.doesWithout(r.Ref) {
			continue // fresh by itself; or the table does without, and says so
		}
		cause := causesOf(r)
		if groups[cause] == nil {
			order = append(order, cause)
		}
		groups[cause] = append(groups[cause], r)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(rank(groups[a][0]), rank(groups[b][0])) })
	var warnings []string
	for _, cause := range order {
		warnings = append(warnings, warningOf(groups[cause]))
	}
	if len(warnings) == 0 && !c[len(c)-1].Fresh {
		warnings = append(warnings, "what the table is made of is not fresh: `speceval plan` says why")
	}
	return warnings
}

// doesWithout reports whether every unit of the chain that reads a unit runs without
// it as well.
func (c chain) doesWithout(unit dag.Ref) bool {
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
