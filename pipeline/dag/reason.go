package dag

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/store/group"
	"speceval/internal/terminal/display"
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

// texts are the reasons in full, by kind, and what reasons of a kind have in common that differ
// from unit to unit.
var texts = [...]struct{ full, alike string }{
	Forced:         {full: "forced"},
	NeverRun:       {full: "never run"},
	Unreadable:     {"its manifest cannot be used: {new}", "manifest cannot be used"},
	KeyFormat:      {full: "key format {old} → {new}"},
	Version:        {full: "code version {old} → {new}"},
	Config:         {full: "{subject} {old} → {new}"},
	Seed:           {"seed label {old} → {new}", "seed label changed"},
	SourceChanged:  {full: "source {subject} {change}"},
	InputChanged:   {"input {subject} {change}", "inputs changed"},
	InputMissing:   {"input {subject} is missing", "inputs are missing"},
	InputRemade:    {"input {subject} will be remade", "inputs will be remade"},
	OutputMissing:  {"output {subject} is missing", "outputs are missing"},
	OutputEdited:   {"output {subject} is not as recorded: edited by hand, or its remake was cut short {hashes}", "outputs are not as recorded"},
	OutputDeclared: {"output {subject} is {new}", "declares other outputs"},
	Provenance:     {full: "provenance {old} → {new}"},
}

// String is the reason in full.
func (r Reason) String() string { return r.full(cmp.Or(r.Old, "(none)"), cmp.Or(r.New, "(none)")) }

// full is the reason in full, with the values as they are shown.
func (r Reason) full(from, to string) string {
	hashes := fmt.Sprintf("(sha256 %s… → %s…)", short(r.Old), short(r.New))
	change := "changed " + hashes
	switch {
	case r.Old == "":
		change = fmt.Sprintf("added (sha256 %s…)", short(r.New))
	case r.New == "":
		change = "no longer read"
	}
	return strings.NewReplacer("{subject}", r.Subject, "{old}", from, "{new}", to, "{hashes}", hashes, "{change}", change).Replace(texts[r.Kind].full)
}

// MarshalText is String.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Brief is the reason without what differs from unit to unit, so that units
// with the same brief can be counted together.
func (r Reason) Brief() string {
	if alike := texts[r.Kind].alike; alike != "" {
		return alike
	}
	short := func(value string) string { return display.Within([]string{cmp.Or(value, "(none)")}, 48) }
	return r.full(short(r.Old), short(r.New))
}

// Brief joins the brief forms of reasons, each once.
func Brief(reasons []Reason) string { return strings.Join(Briefs(reasons), ", ") }

// Briefs are the brief forms of reasons, each once.
func Briefs(reasons []Reason) (briefs []string) {
	for _, same := range group.By(reasons, Reason.Brief) {
		briefs = append(briefs, same[0].Brief())
	}
	return briefs
}

// Explain joins reasons in full, but those that differ only in their subject
// are counted: "8 inputs will be remade".
func Explain(reasons []Reason) string {
	var parts []string
	for _, same := range group.By(reasons, Reason.Brief) {
		text := same[0].String()
		if len(same) > 1 {
			text = fmt.Sprintf("%d %s", len(same), same[0].Brief())
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// changes explains, part by part, why the key of now is not that of before.
func changes(before, now *Parts) []Reason {
	return slices.Concat(
		change(KeyFormat, strconv.Itoa(before.Format), strconv.Itoa(now.Format)),
		change(Version, strconv.Itoa(before.Version), strconv.Itoa(now.Version)),
		mapChanges(Config, before.Config, now.Config),
		change(Seed, before.Seed, now.Seed),
		mapChanges(SourceChanged, before.Sources, now.Sources),
		mapChanges(InputChanged, before.Inputs, now.Inputs),
	)
}

// change is the change of a value, if it is one.
func change(kind Kind, before, now string) []Reason {
	if before == now {
		return nil
	}
	return []Reason{{kind, "", before, now}}
}

// mapChanges are the changes of a map, sorted by name.
func mapChanges(kind Kind, before, now map[string]string) (reasons []Reason) {
	all := make(map[string]string, len(now))
	maps.Copy(all, before)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		old, had := before[name]
		if new, has := now[name]; had != has || old != new {
			reasons = append(reasons, Reason{kind, name, shown(old, had), shown(new, has)})
		}
	}
	return reasons
}

// shown tells an empty value from an absent one.
func shown(value string, present bool) string {
	if present && value == "" {
		return `""`
	}
	return value
}

func short(hash string) string { return hash[:min(8, len(hash))] }
