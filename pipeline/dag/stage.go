// Package dag is the staged experiment: stages, units, keys, manifests,
// staleness, plans and the runner. It knows no stage and no statistics.
//
// A unit is the smallest piece that can run by itself. Its key is a hash of
// everything that its result depends on: the content of its inputs, the
// slice of the configuration that it reads, the code version of its stage
// and its seed label. A unit whose manifest carries its present key, and
// whose outputs are the bytes that the manifest recorded, is fresh; anything
// else is stale, for a reason that can be named. Timestamps never matter, except that
// a large output of the recorded size and modification time is not hashed again.
package dag

import (
	"fmt"
	"strings"
)

// Stage is a named step of the pipeline and the units that it consists of.
type Stage struct {
	Name    string // one word, as typed on the command line
	About   string // one line, shown by plan and status
	Version int    // code version: raised when the same inputs give other results

	// Satisfied says why the stage has nothing to run, for example that the
	// published profiles stand in for it. It is empty for a stage with units.
	Satisfied string

	// Shared says, by keys of the configuration, why a value of it is part of the keys of
	// all units that read it, though it does not seem to concern them.
	Shared map[string]string

	Units []Unit // static: known before anything runs, in canonical order
}

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

// New checks the stages and orders their units. Its error names every fault:
// odd or repeated names, outputs that two units write, needs that do not exist
// or lie in a later stage, and cycles.
func New(stages []Stage) (*Graph, error) {
	g := &Graph{stages: stages, index: make(map[Ref]int), member: make(map[string]int)}
	c := &checker{graph: g, owner: make(map[string]int)}
	for s := range stages {
		c.stage(&stages[s])
		g.member[stages[s].Name] = s
		for u := range stages[s].Units {
			c.unit(s, &stages[s].Units[u])
		}
	}
	c.folders()
	c.needs()
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := g.order(); err != nil {
		return nil, err
	}
	g.depend()
	return g, nil
}

// order puts the nodes, which stand as declared, so that needs come first and
// everything else keeps its place.
func (g *Graph) order() error {
	o := &ordering{graph: g, place: make([]int, len(g.nodes)), order: make([]int, 0, len(g.nodes))}
	for i := range o.place {
		o.place[i] = unvisited
	}
	for i := range g.nodes {
		if err := o.visit(i); err != nil {
			return err
		}
	}
	nodes := make([]node, len(g.nodes))
	for at, i := range o.order {
		nodes[at] = g.nodes[i]
		for k, need := range nodes[at].needs {
			nodes[at].needs[k] = o.place[need]
		}
		if at != i {
			g.index[g.ref(i)] = at
		}
	}
	g.nodes = nodes
	return nil
}

// ordering follows needs from one node to the next.
type ordering struct {
	graph *Graph
	path  []int // being followed
	place []int // of each node, or one of the marks below
	order []int // nodes by their place
}

const (
	unvisited = -1
	visiting  = -2 // on the path
)

func (o *ordering) visit(i int) error {
	switch {
	case o.place[i] >= 0:
		return nil
	case o.place[i] == visiting:
		var names []string
		for _, on := range o.path {
			names = append(names, o.graph.ref(on).String())
		}
		return fmt.Errorf("units need each other in a circle: %s needs %s", strings.Join(names, " needs "), o.graph.ref(i))
	}
	o.place[i] = visiting
	o.path = append(o.path, i)
	for _, need := range o.graph.nodes[i].needs {
		if err := o.visit(need); err != nil {
			return err
		}
	}
	o.path = o.path[:len(o.path)-1]
	o.place[i] = len(o.order)
	o.order = append(o.order, i)
	return nil
}

// depend fills the dependents of every node, which the needs of the others are.
func (g *Graph) depend() {
	for i := range g.nodes {
		for _, need := range g.nodes[i].needs {
			g.nodes[need].dependents = append(g.nodes[need].dependents, i)
		}
	}
}

// StageNames lists the stages in order.
func (g *Graph) StageNames() []string {
	names := make([]string, len(g.stages))
	for i, s := range g.stages {
		names[i] = s.Name
	}
	return names
}
