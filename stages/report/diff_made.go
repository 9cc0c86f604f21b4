package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"speceval/pipeline/dag"
)

// madeDifferently says how two folders were made in different ways, from their
// manifests: by other commits, other stages, or of another configuration.
func madeDifferently(a, b string) ([]string, error) {
	var sides [2]map[dag.Ref]*dag.Manifest
	said := []string{}
	for side, folder := range [2]string{a, b} {
		manifests, unreadable, err := dag.Manifests(folder)
		if err != nil {
			return said, err
		}
		if len(manifests) == 0 {
			said = append(said, fmt.Sprintf("%s has no manifests: nothing says how it was made", folder))
		}
		if unreadable > 0 {
			said = append(said, fmt.Sprintf("%d manifests of %s cannot be read", unreadable, folder))
		}
		sides[side] = manifests
	}
	if len(sides[0]) == 0 || len(sides[1]) == 0 {
		return said, nil
	}
	if x, y := commits(sides[0]), commits(sides[1]); x != y {
		said = append(said, fmt.Sprintf("other commits: %s and %s", x, y))
	}
	said = append(said, unitsOfOne(a, sides[0], sides[1])...)
	said = append(said, unitsOfOne(b, sides[1], sides[0])...)
	return append(said, otherParts(sides)...), nil
}

// commits are those that units were run by.
func commits(manifests map[dag.Ref]*dag.Manifest) string {
	all := map[string]bool{}
	for _, m := range manifests {
		all[shortCommit(m.Commit, m.Dirty)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
}

// unitsOfOne counts the units that one folder alone has, by stage.
func unitsOfOne(folder string, mine, theirs map[dag.Ref]*dag.Manifest) (said []string) {
	count := map[string]int{}
	for ref := range mine {
		if theirs[ref] == nil {
			count[ref.Stage]++
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(count)) {
		said = append(said, fmt.Sprintf("only %s has %d of the units of %s", folder, count[stage], stage))
	}
	return said
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
			if r.Kind != dag.InputChanged {
				count[part{ref.Stage, whatChanged(r)}]++
			}
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(count), func(a, b part) int { return strings.Compare(a.stage+a.what, b.stage+b.what) }) {
		said = append(said, fmt.Sprintf("%s: %s (%d %s)", p.stage, p.what, count[p], plural("unit", count[p])))
	}
	return said
}

// whatChanged is a reason without what differs from unit to unit.
func whatChanged(r dag.Reason) string {
	if r.Kind == dag.SourceChanged && strings.HasPrefix(r.Subject, "profile ") {
		return "other profiles"
	}
	return r.Brief()
}
