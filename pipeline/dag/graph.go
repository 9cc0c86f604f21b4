package dag

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"speceval/internal/atomicfile"
)

// manifestDir is the part of the output folder that holds the manifests.
const manifestDir = "manifests"

// LogsDir is the part of the output folder for logs: of runs, and of what units
// start.
const LogsDir = "logs"

// JobsDir is the part of the output folder for what was submitted to a
// scheduler.
const JobsDir = "slurm"

// reserved are the names at the top of an output folder that no unit may use.
var reserved = []string{manifestDir, scratchDir, supersededDir, LogsDir, JobsDir, lockName}

func firstPart(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}

// maxFaults bounds how many faults one error lists.
const maxFaults = 20

var stageName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// checker collects the faults of a list of stages.
type checker struct {
	graph  *Graph
	owner  map[string]int // output to the unit that writes it
	faults []string
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *checker) err() error {
	switch n := len(c.faults); {
	case n == 0:
		return nil
	case n > maxFaults:
		c.faults = append(c.faults[:maxFaults], fmt.Sprintf("and %d more", n-maxFaults))
	}
	return fmt.Errorf("the pipeline is not well formed:\n  %s", strings.Join(c.faults, "\n  "))
}

func (c *checker) stage(s *Stage) {
	if !stageName.MatchString(s.Name) {
		c.fault("stage name %q is not one lower-case word", s.Name)
	}
	if _, twice := c.graph.member[s.Name]; twice {
		c.fault("two stages are named %s", s.Name)
	}
	if s.Satisfied != "" && len(s.Units) > 0 {
		c.fault("stage %s is satisfied by %s, and yet has %d units", s.Name, s.Satisfied, len(s.Units))
	}
}

// unit checks a unit of a stage and makes it a node, still without needs.
func (c *checker) unit(stage int, u *Unit) {
	g := c.graph
	ref, self := Ref{g.stages[stage].Name, u.ID}, len(g.nodes)
	if _, twice := g.index[ref]; twice {
		c.fault("two units are named %s", ref)
		return
	}
	g.index[ref] = self
	g.nodes = append(g.nodes, node{stage: stage, unit: u, wanted: len(u.Needs)})
	if fault := pathFault(u.ID); fault != "" {
		c.fault("unit %s: its name %s", ref, fault)
	}
	if u.Run == nil {
		c.fault("unit %s has nothing to run", ref)
	}
	if len(u.Outputs) == 0 {
		c.fault("unit %s has no output", ref)
	}
	c.sources(ref, u.Sources)
	for _, output := range u.Outputs {
		switch fault := pathFault(output); {
		case fault != "":
			c.fault("unit %s: output %q %s", ref, output, fault)
		case slices.Contains(reserved, firstPart(output)):
			c.fault("unit %s: output %q is where the runner keeps its own files", ref, output)
		case strings.HasSuffix(output, atomicfile.Suffix) || strings.Contains(output, editedMark):
			c.fault("unit %s: output %q has a name that the runner uses for leftovers", ref, output)
		default:
			c.claim(output, self)
		}
	}
}

func (c *checker) sources(ref Ref, sources []Source) {
	known := make(map[string]string)
	for _, s := range sources {
		if s.SHA256 == "" {
			c.fault("unit %s: source %s has no hash", ref, s.Name)
		}
		if sum, twice := known[s.Name]; twice && sum != s.SHA256 {
			c.fault("unit %s: source %s has two contents", ref, s.Name)
		}
		known[s.Name] = s.SHA256
	}
}

func (c *checker) claim(file string, unit int) {
	if other, taken := c.owner[file]; taken {
		c.fault("%s is an output of both %s and %s", file, c.graph.ref(other), c.graph.ref(unit))
		return
	}
	c.owner[file] = unit
}

// folders finds outputs that would have to be a folder of another output, too.
func (c *checker) folders() {
	g := c.graph
	for i := range g.nodes {
		for _, output := range g.nodes[i].unit.Outputs {
			for dir := path.Dir(output); dir != "." && dir != "/"; dir = path.Dir(dir) {
				if other, taken := c.owner[dir]; taken {
					c.fault("%s of %s would have to be a folder for %s of %s", dir, g.ref(other), output, g.ref(i))
				}
			}
		}
	}
}

// needs checks that every needed unit exists and can run earlier, and points
// to it.
func (c *checker) needs() {
	g := c.graph
	for i := range g.nodes {
		n := &g.nodes[i]
		n.needs = make([]int, 0, len(n.unit.Needs)+len(n.unit.Wants))
		for _, needs := range [][]Ref{n.unit.Needs, n.unit.Wants} {
			for _, need := range needs {
				at, known := g.index[need]
				switch {
				case !known:
					c.fault("unit %s needs %s, which does not exist", g.ref(i), need)
				case g.nodes[at].stage > n.stage:
					c.fault("unit %s needs %s of a later stage", g.ref(i), need)
				default:
					n.needs = append(n.needs, at)
				}
			}
		}
	}
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
