package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/internal/profile"
	"speceval/pipeline/dag"
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
}

// origin gathers the units that a table is made by, and their manifests.
func (x *Explainer) origin(base string, fields map[string]string) Origin {
	o := Origin{Files: []FileOf{}, Units: []UnitOf{}, Sources: []dag.Source{}}
	if b := fields["benchmark"]; b != "" {
		o.Profile = profile.Profile{Benchmark: b, Model: fields["model"]}.Name()
	}
	chain := x.chain(ownRef(base))
	by := map[string]string{}
	known := map[string]bool{}
	for _, r := range chain {
		o.Units = append(o.Units, unitOf(r))
		for _, output := range r.Outputs {
			by[output] = r.Ref.String()
		}
		if r.Manifest == nil {
			continue
		}
		for name, sum := range r.Manifest.Parts.Sources {
			if !known[name+sum] {
				known[name+sum] = true
				o.Sources = append(o.Sources, dag.Source{Name: name, SHA256: sum})
			}
		}
	}
	slices.SortFunc(o.Sources, func(a, b dag.Source) int { return strings.Compare(a.Name+a.SHA256, b.Name+b.SHA256) })
	if n := len(chain); n > 0 && chain[n-1].Manifest != nil {
		m := chain[n-1].Manifest
		for _, f := range slices.Concat(m.Inputs, m.Outputs) {
			o.Files = append(o.Files, FileOf{f, by[f.Path]})
		}
	}
	return o
}

// chain is the records of a unit and of all that it is made of, in the order of
// the records.
func (x *Explainer) chain(of dag.Ref) []dag.Record {
	wanted := map[dag.Ref]bool{of: true}
	var chain []dag.Record
	for _, r := range slices.Backward(x.units) {
		if !wanted[r.Ref] {
			continue
		}
		chain = append(chain, r)
		for _, need := range r.Needs {
			wanted[need] = true
		}
	}
	slices.Reverse(chain)
	return chain
}

func unitOf(r dag.Record) UnitOf {
	u := UnitOf{Unit: r.Ref.String(), State: stateOf(r).String(), Why: dag.Explain(r.Reasons), Provenance: r.Provenance, Seeds: []string{}, Outputs: []dag.File{}}
	if u.State != dag.Fresh.String() && u.Why == "" {
		u.Why = "what it is made of is stale"
	}
	if m := r.Manifest; m != nil {
		u.Key, u.Version, u.Seeds, u.Outputs, u.Notes = m.Key, m.Parts.Version, m.Seeds, m.Outputs, m.Notes
		u.Commit, u.Dirty, u.Host, u.GoVersion, u.Command = m.Commit, m.Dirty, m.Host, m.GoVersion, m.Command
		u.Start, u.WallSeconds, u.CPUSeconds = &m.Start, m.WallSeconds, m.CPUSeconds
	}
	return u
}

// stateOf is how a unit's record stands.
func stateOf(r dag.Record) dag.State {
	switch {
	case r.Fresh:
		return dag.Fresh
	case r.Manifest == nil:
		return dag.Missing
	}
	return dag.Stale
}

// stale warns where a table, or what it is made of, is not what this experiment
// would make now: first what was stored of another configuration. Units that are
// stale of the same causes are counted together.
func (x *Explainer) stale(base string) []string {
	chain := x.chain(ownRef(base))
	if len(chain) == 0 {
		return []string{"no unit of this experiment makes this table: where it comes from is not known"}
	}
	var order []string
	groups := map[string][]dag.Record{}
	for _, r := range slices.Backward(chain) { // the table first
		if len(r.Reasons) == 0 || r.Manifest == nil && isWanted(chain, r) {
			continue // fresh by itself; or the table does without, and says so
		}
		cause := causesOf(r)
		if groups[cause] == nil {
			order = append(order, cause)
		}
		groups[cause] = append(groups[cause], r)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(weightOf(groups[a][0]), weightOf(groups[b][0])) })
	var warnings []string
	for _, cause := range order {
		warnings = append(warnings, warningOf(groups[cause]))
	}
	if len(warnings) == 0 && !chain[len(chain)-1].Fresh {
		warnings = append(warnings, "what the table is made of is not fresh: `speceval plan` says why")
	}
	return warnings
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

// weightOf sorts warnings: another configuration, another version, the rest, and
// last what has never run.
func weightOf(r dag.Record) int {
	weight := 3
	for _, reason := range r.Reasons {
		switch reason.Kind {
		case dag.Config, dag.Seed:
			weight = min(weight, 0)
		case dag.Version, dag.OutputEdited, dag.SourceChanged:
			weight = min(weight, 1)
		case dag.NeverRun:
		default:
			weight = min(weight, 2)
		}
	}
	return weight
}

// mostReasons bounds the reasons that a warning gives.
const mostReasons = 3

// warningOf is the warning on units that are stale of the same causes.
func warningOf(units []dag.Record) string {
	first := units[len(units)-1] // in running order
	subject := first.Ref.String()
	if n := len(units); n > 1 {
		subject = fmt.Sprintf("%d units, such as %s,", n, subject)
	}
	reasons := first.Reasons[:min(mostReasons, len(first.Reasons))]
	warning := fmt.Sprintf("%s %s: %s", subject, verdictOn(first, len(units) > 1), dag.Explain(reasons))
	if more := len(first.Reasons) - len(reasons); more > 0 {
		warning += fmt.Sprintf("; and %d more", more)
	}
	return warning
}

// isWanted reports whether nothing in the chain needs a unit for certain.
func isWanted(chain []dag.Record, of dag.Record) bool {
	for _, r := range chain {
		if slices.Contains(r.Needs, of.Ref) && !slices.Contains(r.Wants, of.Ref) {
			return false
		}
	}
	return of.Ref != chain[len(chain)-1].Ref
}

// verdictOn says what the reasons mean for the stored number.
func verdictOn(r dag.Record, many bool) string {
	is, has := "is", "has"
	if many {
		is, has = "are", "have"
	}
	for _, reason := range r.Reasons {
		switch reason.Kind {
		case dag.NeverRun:
			return has + " no manifest: nothing says what was made, and of what"
		case dag.Config, dag.Seed:
			return is + " stored of another configuration than this one"
		case dag.Version:
			return is + " stored by another version of the stage"
		case dag.OutputEdited:
			return is + " not as made"
		}
	}
	return is + " stale"
}
