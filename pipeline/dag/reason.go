package dag

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind says what sort of reason a unit has to run.
type Kind int

// The kinds of reasons, in the order in which they are shown.
const (
	Forced     Kind = iota // asked for, though fresh
	NeverRun               // no manifest
	Unreadable             // a manifest that cannot be used
	KeyFormat              // keys are made in another way now
	Version                // the stage's code version changed
	Config                 // a configuration value changed
	Seed                   // the seed label changed
	SourceChanged
	InputChanged   // an input's content changed
	InputMissing   // an input is not there
	InputRemade    // an input will be remade by the same plan
	OutputMissing  // an output is gone
	OutputEdited   // an output is not what the manifest recorded
	OutputDeclared // the unit writes other files than it used to
	Provenance     // the numbers would carry another provenance
)

// Reason is one cause for a unit to run.
type Reason struct {
	Kind     Kind
	Subject  string // the configuration key, source or file concerned
	Old, New string // empty where there was none or is none any more
}

// String is the reason in full.
func (r Reason) String() string {
	switch r.Kind {
	case Forced:
		return "forced"
	case NeverRun:
		return "never run"
	case Unreadable:
		return fmt.Sprintf("its manifest cannot be used: %s", r.New)
	case KeyFormat:
		return fmt.Sprintf("key format %s → %s", r.Old, r.New)
	case Version:
		return fmt.Sprintf("code version %s → %s", r.Old, r.New)
	case Config:
		return fmt.Sprintf("%s %s → %s", r.Subject, orNone(r.Old), orNone(r.New))
	case Seed:
		return fmt.Sprintf("seed label %s → %s", orNone(r.Old), orNone(r.New))
	case SourceChanged:
		return fmt.Sprintf("source %s %s", r.Subject, hashChange(r.Old, r.New))
	case InputChanged:
		return fmt.Sprintf("input %s %s", r.Subject, hashChange(r.Old, r.New))
	case InputMissing:
		return fmt.Sprintf("input %s is missing", r.Subject)
	case InputRemade:
		return fmt.Sprintf("input %s will be remade", r.Subject)
	case OutputMissing:
		return fmt.Sprintf("output %s is missing", r.Subject)
	case OutputEdited:
		return fmt.Sprintf("output %s is not as recorded: edited by hand, or its remake was cut short (sha256 %s… → %s…)", r.Subject, short(r.Old), short(r.New))
	case OutputDeclared:
		return fmt.Sprintf("output %s is %s", r.Subject, r.New)
	case Provenance:
		return fmt.Sprintf("provenance %s → %s", orNone(r.Old), orNone(r.New))
	}
	return fmt.Sprintf("reason %d: %s", r.Kind, r.Subject)
}

// Brief is the reason without what differs from unit to unit, so that units
// with the same brief can be counted together.
func (r Reason) Brief() string {
	switch r.Kind {
	case Unreadable:
		return "manifest cannot be used"
	case Config:
		return fmt.Sprintf("%s %s → %s", r.Subject, shorten(orNone(r.Old)), shorten(orNone(r.New)))
	case Seed:
		return "seed label changed"
	case InputChanged:
		return "inputs changed"
	case InputMissing:
		return "inputs are missing"
	case InputRemade:
		return "inputs will be remade"
	case OutputMissing:
		return "outputs are missing"
	case OutputEdited:
		return "outputs are not as recorded"
	case OutputDeclared:
		return "declares other outputs"
	}
	return r.String()
}

// Brief joins the brief forms of reasons, each once.
func Brief(reasons []Reason) string { return strings.Join(Briefs(reasons), ", ") }

// Briefs are the brief forms of reasons, each once.
func Briefs(reasons []Reason) []string {
	var briefs []string
	seen := make(map[string]bool)
	for i, r := range reasons {
		if i > 0 && r.Kind == reasons[i-1].Kind && r.Kind.common() {
			continue
		}
		if b := r.Brief(); !seen[b] {
			seen[b] = true
			briefs = append(briefs, b)
		}
	}
	return briefs
}

// common tells the kinds whose reasons all have one brief form.
func (k Kind) common() bool {
	switch k {
	case InputChanged, InputMissing, InputRemade, OutputMissing, OutputEdited, OutputDeclared:
		return true
	}
	return false
}

// Explain joins reasons in full, but those that differ only in their subject
// are counted: "8 inputs will be remade".
func Explain(reasons []Reason) string {
	alike := make(map[string]int)
	for _, r := range reasons {
		alike[r.Brief()]++
	}
	var parts []string
	for _, r := range reasons {
		switch brief := r.Brief(); alike[brief] {
		case 0: // counted already
		case 1:
			parts = append(parts, r.String())
		default:
			parts = append(parts, fmt.Sprintf("%d %s", alike[brief], brief))
			alike[brief] = 0
		}
	}
	return strings.Join(parts, "; ")
}

// changes explains, part by part, why the key of now is not that of before.
func changes(before, now *Parts) []Reason {
	var reasons []Reason
	if before.Format != now.Format {
		reasons = append(reasons, Reason{KeyFormat, "", strconv.Itoa(before.Format), strconv.Itoa(now.Format)})
	}
	if before.Version != now.Version {
		reasons = append(reasons, Reason{Version, "", strconv.Itoa(before.Version), strconv.Itoa(now.Version)})
	}
	reasons = append(reasons, mapChanges(Config, before.Config, now.Config)...)
	if before.Seed != now.Seed {
		reasons = append(reasons, Reason{Seed, "", before.Seed, now.Seed})
	}
	reasons = append(reasons, mapChanges(SourceChanged, before.Sources, now.Sources)...)
	return append(reasons, mapChanges(InputChanged, before.Inputs, now.Inputs)...)
}

// mapChanges are the changes of a map, sorted by name.
func mapChanges(kind Kind, before, now map[string]string) []Reason {
	var reasons []Reason
	for name, new := range now {
		if old, had := before[name]; !had || old != new {
			reasons = append(reasons, Reason{kind, name, shown(old, had), shown(new, true)})
		}
	}
	for name, old := range before {
		if _, has := now[name]; !has {
			reasons = append(reasons, Reason{kind, name, shown(old, true), ""})
		}
	}
	slices.SortFunc(reasons, func(a, b Reason) int { return cmp.Compare(a.Subject, b.Subject) })
	return reasons
}

// shown tells an empty value from an absent one.
func shown(value string, present bool) string {
	if present && value == "" {
		return `""`
	}
	return value
}

func orNone(value string) string {
	if value == "" {
		return "(none)"
	}
	return value
}

func hashChange(old, new string) string {
	switch {
	case old == "":
		return fmt.Sprintf("added (sha256 %s…)", short(new))
	case new == "":
		return "no longer read"
	}
	return fmt.Sprintf("changed (sha256 %s… → %s…)", short(old), short(new))
}

func short(hash string) string { return hash[:min(8, len(hash))] }

func shorten(value string) string {
	const most = 48
	runes := []rune(value)
	if len(runes) <= most {
		return value
	}
	return string(runes[:most-1]) + "…"
}

// Failure is a unit that failed, and why.
type Failure struct {
	Unit Ref
	Err  error
}

// Error says how a run fell short of its plan. What did run is kept; running
// again goes on from there.
type Error struct {
	Failures    []Failure // in the order in which they happened
	Interrupted bool      // it was asked to stop
	NotRun      int       // planned units that have no result: never started, or cut short
}

// Error lists every failed unit and its cause.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Interrupted && e.NotRun > 0:
		fmt.Fprintf(&b, "interrupted: %s not run", count(e.NotRun))
	case e.Interrupted:
		b.WriteString("interrupted, when every unit had run")
	}
	if len(e.Failures) > 0 {
		if e.Interrupted {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s failed", count(len(e.Failures)))
		if e.NotRun > 0 && !e.Interrupted {
			fmt.Fprintf(&b, ", %d not run", e.NotRun)
		}
		for _, f := range e.Failures {
			fmt.Fprintf(&b, "\n  %s: %s", f.Unit, strings.ReplaceAll(strings.TrimSpace(f.Err.Error()), "\n", "\n    "))
		}
	}
	return b.String()
}

// Unwrap gives the causes of the failures.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f.Err
	}
	return errs
}

// Observer receives the progress of a run, from one goroutine at a time.
type Observer interface {
	Begin(plan *Plan)              // before the first unit
	Started(unit Ref, key string)  // handed to the executor
	Advanced(unit Ref, p Progress) // progress of a long unit
	Finished(done Outcome)         // one unit has ended
	End()                          // after the last unit, exactly once
}

// Outcome is how a unit ended: with a manifest or with an error.
type Outcome struct {
	Unit     Ref
	Key      string // empty where the unit failed before it was known
	Manifest *Manifest
	Err      error
}

// NoObserver watches nothing.
type NoObserver struct{}

var _ Observer = NoObserver{}

// Begin does nothing.
func (NoObserver) Begin(*Plan) {}

// Started does nothing.
func (NoObserver) Started(Ref, string) {}

// Advanced does nothing.
func (NoObserver) Advanced(Ref, Progress) {}

// Finished does nothing.
func (NoObserver) Finished(Outcome) {}

// End does nothing.
func (NoObserver) End() {}
