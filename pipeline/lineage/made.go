package lineage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"speceval/internal/phrase"
	"speceval/pipeline/dag"
)

// MadeDifferently says how two output folders were made in different ways, from their
// manifests: by other commits, other stages, or of another configuration.
func MadeDifferently(folders [2]string) ([]string, error) {
	var sides [2]map[dag.Ref]*dag.Manifest
	said := []string{}
	for side, folder := range folders {
		found, unreadable, err := dag.Manifests(folder)
		if err != nil {
			return said, err
		}
		if len(found) == 0 {
			said = append(said, fmt.Sprintf("%s has no manifests: nothing says how it was made", folder))
		}
		if unreadable > 0 {
			said = append(said, fmt.Sprintf("%d manifests of %s cannot be read", unreadable, folder))
		}
		sides[side] = found
	}
	if len(sides[0]) == 0 || len(sides[1]) == 0 {
		return said, nil
	}
	if x, y := commits(sides[0]), commits(sides[1]); x != y {
		said = append(said, fmt.Sprintf("other commits: %s and %s", x, y))
	}
	for side, folder := range folders {
		count := map[string]int{} // of units that it alone has, by stage
		for ref := range sides[side] {
			if sides[1-side][ref] == nil {
				count[ref.Stage]++
			}
		}
		for _, stage := range slices.Sorted(maps.Keys(count)) {
			said = append(said, fmt.Sprintf("only %s has %d of the units of %s", folder, count[stage], stage))
		}
	}
	return append(said, otherParts(sides)...), nil
}

// commits are those that units were run by.
func commits(units map[dag.Ref]*dag.Manifest) string {
	all := map[string]bool{}
	for _, m := range units {
		all[m.Short()] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
}

// otherParts are the differences of the parts that keys are made of, but for
// inputs, which follow from others: each with the number of units of a stage.
func otherParts(sides [2]map[dag.Ref]*dag.Manifest) (said []string) {
	type part struct{ stage, what string }
	count := map[part]int{}
	for ref, first := range sides[0] {
		second := sides[1][ref]
		if second == nil {
			continue
		}
		for _, r := range dag.Changes(first.Parts, second.Parts) {
			what := r.Brief()
			switch {
			case r.Kind == dag.InputChanged:
				continue
			case r.Kind == dag.SourceChanged && strings.HasPrefix(r.Subject, "profile "):
				what = "other profiles"
			}
			count[part{ref.Stage, what}]++
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(count), func(a, b part) int { return strings.Compare(a.stage+a.what, b.stage+b.what) }) {
		said = append(said, fmt.Sprintf("%s: %s (%s)", p.stage, p.what, phrase.Units(count[p])))
	}
	return said
}
