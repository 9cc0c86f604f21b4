package status

import (
	"fmt"
	"io"
	"strings"

	"speceval/internal/phrase"
	"speceval/pipeline/dag"
)

// How many units of a group, and how many reasons of a unit, why shows unless
// asked for all.
const (
	someUnits   = 5
	someReasons = 8
)

// WriteWhy writes why the units of a stage are not fresh: some units and reasons
// of each group, or all.
func WriteWhy(w io.Writer, stage *dag.StagePlan, all bool) error {
	var b strings.Builder
	switch name := stage.Stage.Name; {
	case stage.Stage.Satisfied != "":
		fmt.Fprintf(&b, "%s has nothing to run: %s\n", name, stage.Stage.Satisfied)
	case len(stage.Run) == 0:
		fmt.Fprintf(&b, "%s is fresh: %s\n", name, phrase.Units(stage.Fresh))
	default:
		fmt.Fprintf(&b, "%s: %d of %s not fresh\n", name, len(stage.Run), phrase.Units(len(stage.Run)+stage.Fresh))
		for _, g := range grouped(stage.Run) {
			writeGroup(&b, g, name, all)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeGroup(b *strings.Builder, g group, stage string, all bool) {
	fmt.Fprintf(b, "\n%s: %s\n", phrase.Units(len(g.units)), g.brief)
	for i, u := range g.units {
		if i == someUnits && !all {
			fmt.Fprintf(b, "  and %d more: `speceval why %s --all`\n", len(g.units)-i, stage)
			return
		}
		fmt.Fprintf(b, "  %s  key %s → %s\n", u.Ref.Unit, keyText(u.Before, "(none)"), keyText(u.Key, "(depends on inputs to be made)"))
		for k, r := range u.Reasons {
			if k == someReasons && !all {
				fmt.Fprintf(b, "    and %d more reasons\n", len(u.Reasons)-k)
				break
			}
			fmt.Fprintf(b, "    %s\n", r)
		}
	}
}

// keyText is enough of a key for `speceval unit`.
func keyText(key, without string) string {
	if key == "" {
		return without
	}
	return key[:16]
}
