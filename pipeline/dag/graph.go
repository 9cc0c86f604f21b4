package dag

import (
	"fmt"
	"slices"
	"strings"
)

// Graph is a checked list of stages with their units in running order.
// It is immutable.
type Graph struct {
	stages []Stage
	nodes  []node         // every unit, after the units that it needs
	index  map[Ref]int    // into nodes
	member map[string]int // stage name to index into stages
}

// node is a unit with its place in the graph.
type node struct {
	stage      int // into Graph.stages
	unit       *Unit
	needs      []int // into Graph.nodes, all smaller than its own index
	wanted     int   // needs[wanted:] are only wanted
	dependents []int
}

func (g *Graph) ref(i int) Ref {
	n := &g.nodes[i]
	return Ref{Stage: g.stages[n.stage].Name, Unit: n.unit.ID}
}

func (g *Graph) stageOf(i int) *Stage { return &g.stages[g.nodes[i].stage] }

// String is the unit's name for people: "replay/design/hbn/n=30".
func (r Ref) String() string { return r.Stage + "/" + r.Unit }

// New checks the stages and orders their units. Its error names every fault:
// odd or repeated names, outputs that two units write, needs that do not exist
// or lie in a later stage, and cycles.
func New(stages []Stage) (*Graph, error) {
	g := &Graph{
		stages: stages,
		index:  make(map[Ref]int),
		member: make(map[string]int, len(stages)),
	}
	c := &checker{owner: make(map[string]string)}
	for s := range stages {
		stage := &stages[s]
		c.stage(g, stage)
		g.member[stage.Name] = s
		for u := range stage.Units {
			c.unit(g, stage, &stage.Units[u])
			g.index[Ref{stage.Name, stage.Units[u].ID}] = -1 // known, not yet ordered
		}
	}
	c.folders()
	c.needs(g)
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := g.order(); err != nil {
		return nil, err
	}
	return g, nil
}

// order fills nodes so that needs come first and everything else keeps its
// canonical place.
func (g *Graph) order() error {
	type place struct{ stage, unit int }
	places := make(map[Ref]place)
	for s, stage := range g.stages {
		for u := range stage.Units {
			places[Ref{stage.Name, stage.Units[u].ID}] = place{s, u}
		}
	}
	const ordering = -2 // on the path that is being followed
	var path []string
	var visit func(ref Ref) (int, error)
	visit = func(ref Ref) (int, error) {
		if i := g.index[ref]; i >= 0 {
			return i, nil
		} else if i == ordering {
			return 0, fmt.Errorf("units need each other in a circle: %s needs %s", strings.Join(path, " needs "), ref)
		}
		g.index[ref] = ordering
		path = append(path, ref.String())
		at := places[ref]
		unit := &g.stages[at.stage].Units[at.unit]
		needs := make([]int, 0, len(unit.Needs))
		for _, need := range slices.Concat(unit.Needs, unit.Wants) {
			i, err := visit(need)
			if err != nil {
				return 0, err
			}
			needs = append(needs, i)
		}
		path = path[:len(path)-1]
		self := len(g.nodes)
		for _, i := range needs {
			g.nodes[i].dependents = append(g.nodes[i].dependents, self)
		}
		g.nodes = append(g.nodes, node{stage: at.stage, unit: unit, needs: needs, wanted: len(unit.Needs)})
		g.index[ref] = self
		return self, nil
	}
	for s := range g.stages {
		for u := range g.stages[s].Units {
			if _, err := visit(Ref{g.stages[s].Name, g.stages[s].Units[u].ID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// StageNames lists the stages in order.
func (g *Graph) StageNames() []string {
	names := make([]string, len(g.stages))
	for i, s := range g.stages {
		names[i] = s.Name
	}
	return names
}
