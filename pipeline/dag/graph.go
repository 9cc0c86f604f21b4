package dag

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// The parts of an output folder that hold no outputs.
const (
	manifestDir   = "manifests"
	scratchDir    = "scratch"    // work of units that have not finished
	supersededDir = "superseded" // files that made room for new ones
	LogsDir       = "logs"       // of runs, and of what units start
	JobsDir       = "slurm"      // what was submitted to a scheduler
)

// Graph is a checked list of stages with their units in running order.
// It is immutable.
type Graph struct {
	stages []Stage
	names  []string    // of the stages, in order
	nodes  []node      // every unit, after the units that it needs
	index  map[Ref]int // into nodes
}

// node is a unit with its place in the graph.
type node struct {
	ref        Ref
	stage      int // into Graph.stages
	unit       *Unit
	needs      []int // into Graph.nodes, all smaller than its own index
	wanted     int   // needs[wanted:] are only wanted
	dependents []int
}

// node is the index of a unit.
func (g *Graph) node(ref Ref) (int, error) {
	if !slices.Contains(g.names, ref.Stage) {
		return 0, &UnknownStageError{Name: ref.Stage, Known: g.names}
	}
	i, known := g.index[ref]
	if !known {
		return 0, fmt.Errorf("there is no unit %s with this configuration: `speceval why %s --all` lists them", ref, ref.Stage)
	}
	return i, nil
}

// New checks the stages and orders their units: each after those that it needs, and
// everything else as declared. Odd names, names and outputs of two units, and needs that do
// not exist are errors.
func New(stages []Stage) (*Graph, error) {
	b := &builder{declared: make(map[Ref]node), owner: make(map[string]Ref),
		Graph: &Graph{stages: stages, index: make(map[Ref]int)}}
	for s := range stages {
		b.names = append(b.names, stages[s].Name)
		for u := range stages[s].Units {
			if err := b.declare(s, &stages[s].Units[u]); err != nil {
				return nil, err
			}
		}
	}
	for _, stage := range stages {
		for _, u := range stage.Units {
			if err := b.place(Ref{stage.Name, u.ID}); err != nil {
				return nil, err
			}
		}
	}
	return b.Graph, nil
}

// builder makes a graph.
type builder struct {
	*Graph
	declared map[Ref]node
	owner    map[string]Ref // output to the unit that writes it
}

// declare checks a unit of a stage by itself.
func (b *builder) declare(stage int, u *Unit) error {
	ref := Ref{b.stages[stage].Name, u.ID}
	if _, twice := b.declared[ref]; twice {
		return fmt.Errorf("two units are named %s", ref)
	}
	b.declared[ref] = node{ref: ref, stage: stage, unit: u, wanted: len(u.Needs)}
	if fault := pathFault(u.ID); fault != "" {
		return fmt.Errorf("unit %s: its name %s", ref, fault)
	}
	for _, output := range u.Outputs {
		if fault := pathFault(output); fault != "" {
			return fmt.Errorf("unit %s: output %q %s", ref, output, fault)
		}
		if other, taken := b.owner[output]; taken {
			return fmt.Errorf("%s is an output of both %s and %s", output, other, ref)
		}
		b.owner[output] = ref
	}
	return nil
}

// place gives a unit its place in the graph, after the units that it needs.
func (b *builder) place(ref Ref) error {
	if _, placed := b.index[ref]; placed {
		return nil
	}
	n := b.declared[ref]
	refs := slices.Concat(n.unit.Needs, n.unit.Wants)
	n.needs = make([]int, len(refs))
	for k, need := range refs {
		if _, known := b.declared[need]; !known {
			return fmt.Errorf("unit %s needs %s, which does not exist", ref, need)
		}
		if err := b.place(need); err != nil {
			return err
		}
		n.needs[k] = b.index[need]
	}
	at := len(b.nodes)
	for _, need := range n.needs {
		b.nodes[need].dependents = append(b.nodes[need].dependents, at)
	}
	b.nodes, b.index[ref] = append(b.nodes, n), at
	return nil
}

// pathFault says what keeps a slash-separated name from being a file's path
// inside a folder; empty if nothing does.
func pathFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case !filepath.IsLocal(name) || path.Clean(name) != name || name == ".":
		return "is not a plain relative path"
	case strings.ContainsRune(name, '\\') || strings.ContainsFunc(name, unicode.IsControl):
		return "has a backslash or a control character"
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > 200 {
			return "has a part of more than 200 bytes"
		}
	}
	return ""
}
