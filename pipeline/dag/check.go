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

// LogsDir is the part of the output folder for logs of what units start.
const LogsDir = "logs"

// reserved are the names at the top of an output folder that no unit may use.
var reserved = []string{manifestDir, scratchDir, supersededDir, LogsDir, lockName}

func firstPart(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}

// maxFaults bounds how many faults one error lists.
const maxFaults = 20

var stageName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// checker collects the faults of a list of stages.
type checker struct {
	owner  map[string]string // file in the output folder to the unit that writes it
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

func (c *checker) stage(g *Graph, s *Stage) {
	if !stageName.MatchString(s.Name) {
		c.fault("stage name %q is not one lower-case word", s.Name)
	}
	if _, twice := g.member[s.Name]; twice {
		c.fault("two stages are named %s", s.Name)
	}
	if s.Satisfied != "" && len(s.Units) > 0 {
		c.fault("stage %s is satisfied by %s, and yet has %d units", s.Name, s.Satisfied, len(s.Units))
	}
}

func (c *checker) unit(g *Graph, s *Stage, u *Unit) {
	ref := Ref{s.Name, u.ID}
	if _, twice := g.index[ref]; twice {
		c.fault("two units are named %s", ref)
		return
	}
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
	c.claim(manifestPath(ref), ref)
	for _, output := range u.Outputs {
		switch fault := pathFault(output); {
		case fault != "":
			c.fault("unit %s: output %q %s", ref, output, fault)
		case slices.Contains(reserved, firstPart(output)):
			c.fault("unit %s: output %q is where the runner keeps its own files", ref, output)
		case strings.HasSuffix(output, atomicfile.Suffix) || strings.Contains(output, editedMark):
			c.fault("unit %s: output %q has a name that the runner uses for leftovers", ref, output)
		default:
			c.claim(output, ref)
		}
	}
}

func (c *checker) sources(ref Ref, sources []Source) {
	known := make(map[string]string, len(sources))
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

func (c *checker) claim(file string, ref Ref) {
	if other, taken := c.owner[file]; taken {
		c.fault("%s is an output of both %s and %s", file, other, ref)
		return
	}
	c.owner[file] = ref.String()
}

// folders finds files that would have to be a folder too.
func (c *checker) folders() {
	for file, ref := range c.owner {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if other, taken := c.owner[dir]; taken {
				c.fault("%s of %s would have to be a folder for %s of %s", dir, other, file, ref)
			}
		}
	}
}

// needs checks that every needed unit exists and can run earlier.
func (c *checker) needs(g *Graph) {
	for s, stage := range g.stages {
		for _, unit := range stage.Units {
			ref := Ref{stage.Name, unit.ID}
			for _, need := range slices.Concat(unit.Needs, unit.Wants) {
				if _, known := g.index[need]; !known {
					c.fault("unit %s needs %s, which does not exist", ref, need)
				} else if g.member[need.Stage] > s {
					c.fault("unit %s needs %s of a later stage", ref, need)
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
