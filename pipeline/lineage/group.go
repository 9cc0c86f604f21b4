package lineage

import (
	"maps"
	"slices"
	"time"

	"speceval/pipeline/dag"
)

// Group is units of one kind.
type Group struct {
	Name  string // "replay/profile/…", or the name of the only one
	Units []dag.Record
}

// Alone is a unit as a group of its own.
func Alone(r dag.Record) Group { return Group{r.Ref.String(), []dag.Record{r}} }

// Alike tells units of one kind together, in the order of the first of each. Those
// that alone holds for stand by themselves; nil: none.
func Alike(units []dag.Record, alone func(dag.Ref) bool) (groups []Group) {
	index := map[string]int{}
	for _, r := range units {
		kind, varies := r.Ref.Kind()
		if !varies || alone != nil && alone(r.Ref) {
			groups = append(groups, Alone(r))
			continue
		}
		if i, known := index[kind]; known {
			groups[i].Name = kind + "/…"
			groups[i].Units = append(groups[i].Units, r)
			continue
		}
		index[kind] = len(groups)
		groups = append(groups, Alone(r))
	}
	return groups
}

// State is the worst of those of the units.
func (g Group) State() dag.State {
	state := dag.Fresh
	for _, r := range g.Units {
		state = min(state, r.State())
	}
	return state
}

// Start is when the first of the units began; the zero time if none has run.
func (g Group) Start() (first time.Time) {
	for m := range g.made {
		if first.IsZero() || m.Start.Before(first) {
			first = m.Start
		}
	}
	return first
}

// Seconds is the time that the units took, in sum: by the clock, and of processors.
func (g Group) Seconds() (wall, cpu float64) {
	for m := range g.made {
		wall, cpu = wall+m.WallSeconds, cpu+m.CPUSeconds
	}
	return wall, cpu
}

// Distinct is the different values of the units' manifests, sorted; that of a unit
// without one is empty.
func (g Group) Distinct(of func(*dag.Manifest) string) []string {
	values := map[string]bool{}
	for _, r := range g.Units {
		value := ""
		if r.Manifest != nil {
			value = of(r.Manifest)
		}
		values[value] = true
	}
	return slices.Sorted(maps.Keys(values))
}

// Seeds is the labels of all branches of the seed tree that the units use.
func (g Group) Seeds() (labels []string) {
	for m := range g.made {
		labels = append(labels, m.Seeds...)
	}
	return slices.Compact(slices.Sorted(slices.Values(labels)))
}

// made goes through the manifests that there are.
func (g Group) made(yield func(*dag.Manifest) bool) {
	for _, r := range g.Units {
		if r.Manifest != nil && !yield(r.Manifest) {
			return
		}
	}
}
